"""Triton's types read as the compilers of ten versions mean them, from a record of their answers.

tests/oracle/triton_record.py writes the record; Triton itself is not needed here.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.notation.dialects.triton_places import adds_up, difference, held

from tilewise import S, laneid, reg

RECORD: dict[str, Any] = json.loads(
    gzip.decompress(Path(__file__).with_name("records").joinpath("triton.json.gz").read_bytes())
)


@pytest.mark.parametrize("version", RECORD)
def test_types_are_read_as_that_version_means_them(version):
    tally = held(RECORD[version]["answers"], version)
    assert tally.holds(), tally
    assert tally.equal >= 100


def test_the_record_has_every_kind_of_encoding():
    texts = " ".join(answer["text"] for told in RECORD.values() for answer in told["answers"])
    kinds = (
        "blocked linear slice dot_op nvidia_mma amd_mfma amd_wmma swizzled_shared nvmma_shared padded_shared "
    )
    kinds += "shared_linear tensor_memory_encoding tensor_memory_scales_encoding shared"
    assert [kind for kind in kinds.split() if f".{kind}<" not in texts] == []
    assert sum(len(told["answers"]) for told in RECORD.values()) > 1_000


ANSWER = {"text": "tensor<2x4xf16, #ttg.linear<{...}>>", "shape": [2, 4]}
BASES = {"lane": [[0, 1], [0, 2]], "register": [[1, 0]]}


def test_a_difference_is_found_and_told():
    right = S[(2, 4) : (1 @ reg, 1 @ laneid)]
    assert difference({**ANSWER, "bases": BASES}, right) == ""
    told = difference({**ANSWER, "bases": {**BASES, "lane": [[0, 2], [0, 1]]}}, right)
    assert told == "index [0, 1]: Triton has it at 2@laneid + 0@reg, the layout at 1@laneid + 0@reg"
    told = difference({**ANSWER, "bases": {**BASES, "warp": [[0, 0]]}}, right)
    assert told.startswith(
        "index [0, 0]: Triton has it at 0@laneid + 0@reg + 0@warpid and 0@laneid + 0@reg + 1@warpid,"
    )
    assert "elements" in difference({**ANSWER, "bases": BASES}, S[(2, 2) : (1 @ reg, 1 @ laneid)])


def test_holes_of_memory_are_no_copies():
    answer = {"text": "!ttg.memdesc<2x2xi8, ...>", "shape": [2, 2]}
    bases = {"offset": [[0, 0], [0, 1], [1, 0]], "block": []}
    assert difference({**answer, "bases": bases}, S[(2, 2) : (4, 2)]) == ""
    padded = {**answer, "bases": {"offset": [[0, 1], [1, 0]], "block": []}, "pads": [[2, 6]]}
    assert difference(padded, S[(2, 2) : (8, 1)]) == ""


def test_a_witness_has_to_show_that_owners_do_not_add_up():
    answer = {**ANSWER, "bases": {"lane": [[0, 1], [1, 1], [0, 2]]}}
    assert adds_up(answer, (0, 3))
    assert not adds_up({**ANSWER, "bases": {"lane": [[0, 1], [0, 3], [1, 0], [0, 2]]}}, (0, 3))
