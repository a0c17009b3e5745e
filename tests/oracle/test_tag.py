"""Letter tags held against TVM's layouts: `SBijectiveLayout.forward_index` of tvm.s_tir.data_layout.

`pytest tests/oracle/test_tag.py -m oracle --update-goldens` records what TVM answers. TVM refuses two blocks
of one letter; those are held to the loop in tests/notation/dialects/test_tag.py.
"""

from __future__ import annotations

import gzip
import json
from random import Random

import pytest
from tests.notation.dialects import test_tag

from tilewise import parse

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def data_layout():
    return pytest.importorskip("tvm.s_tir.data_layout", reason="apache-tvm is not installed")


def test_tags(data_layout, pytestconfig):
    """200 tags: the place of some elements of each, by the shape and the indices that TVM gives."""
    rng = Random(1)
    answers = []
    while len(answers) < 200:
        names = rng.choice(("ncdhw", "nchw", "ncw", "goidhw", "oihw", "tnc", "abcdef", "abcd"))
        blocks = rng.sample(names, rng.randint(0, len(names)))
        factors = {name: rng.choice((2, 3, 4, 8, 16)) for name in blocks}
        pieces = [name.upper() for name in rng.sample(names, len(names))]
        for name, factor in factors.items():  # TVM takes a block anywhere, also before what it leaves
            at = rng.randint(0, len(pieces)) if rng.random() < 0.3 else len(pieces)
            pieces.insert(at, f"{factor}{name}")
        tag = "".join(pieces)
        shape = tuple(factors.get(name, 1) * rng.choice((1, 2, 3, 5)) for name in names)
        theirs = data_layout.sbijective_layout(names.upper(), tag)
        extents = [int(extent) for extent in theirs.forward_shape(shape)]
        layout = parse(tag, shape=shape)
        seen = []
        for _ in range(8):
            index = tuple(rng.randrange(extent) for extent in shape)
            place = 0
            for step, extent in zip(theirs.forward_index(index), extents, strict=True):
                place = place * extent + int(step)
            assert layout.place(*index)["m"] == place, (tag, shape, index)
            seen.append([index, place])
        answers.append([tag, shape, seen])
    if pytestconfig.getoption("--update-goldens"):
        test_tag.RECORD.write_bytes(
            gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0)
        )


def test_tvm_refuses_two_blocks_of_a_letter(data_layout):
    with pytest.raises(Exception, match="more than one subordinate"):
        data_layout.slayout("OIHW4i16o4i")
