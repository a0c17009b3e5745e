"""Held against TileLang: its layouts and fragments say where elements live, their prints are read here.

TileLang 0.1.15 needs `z3-solver<4.15.5` and `apache-tvm-ffi<0.1.13`, which the other neighbours do not take,
so it has an environment of its own. There this records its answers, for tests without it:

    pytest -m oracle tests/oracle/test_tilelang.py --update-goldens
"""

from __future__ import annotations

import gzip
import json
from itertools import product
from pathlib import Path
from random import Random

import pytest
from tests.notation.dialects.test_tilelang import RECORD, check

from tilewise import Refused

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

MAKERS = (
    "make_swizzled_layout",
    "make_full_bank_swizzled_layout",
    "make_half_bank_swizzled_layout",
    "make_quarter_bank_swizzled_layout",
    "make_volta_swizzled_layout",
    "make_wgmma_swizzled_layout",
    "make_tcgen05mma_swizzled_layout",
    "make_linear_layout",
)
SAMPLED = 24
"""TileLang answers for so many elements of each layout."""


@pytest.fixture(scope="module")
def tilelang():
    return pytest.importorskip("tilelang", reason="tilelang is not installed")


def objects(tilelang, rng: Random):
    """Layouts that TileLang makes by name, and layouts and fragments of drawn expressions."""
    import tilelang.layout as made
    from tvm import tirx

    shapes = ((64, 64), (128, 32), (32, 128), (64, 256), (16, 64))
    for maker, shape, dtype in product(MAKERS, shapes, ("float16", "int8", "float32")):
        try:
            yield getattr(made, maker)(tirx.decl_buffer(shape, dtype, scope="shared"))
        except Exception:
            continue
    yield made.make_gemm_fragment_8x8()
    yield made.make_gemm_fragment_8x8_transposed()
    for repeats, on_thread in product(([4, 2], [2, 2], [1, 3]), (True, False)):
        yield made.make_gemm_fragment_8x8().repeat(repeats, repeat_on_thread=on_thread)
    for _ in range(60):
        rows, columns = rng.choice(((48, 20), (64, 32), (6, 35), (16, 16)))
        a = rng.choice([d for d in range(1, rows + 1) if rows % d == 0])
        b = rng.choice([d for d in range(1, columns + 1) if columns % d == 0])

        def tiles(i, j, a=a, b=b):
            return [i // a, j // b, i % a * b + j % b]

        yield made.Layout((rows, columns), tiles)
        yield made.Layout((rows, columns), tiles).inverse()
        yield made.Layout((64, 64), lambda i, j: i * 64 + (j ^ (i % 8) * 8))
        copies = rng.choice((2, 3, 4))
        yield made.Fragment(
            (rows, columns),
            forward_thread_fn=lambda i, j, rep, a=a, b=b, columns=columns: (
                i // a * (columns // b) + j // b + rep * 512
            ),
            replicate=copies,
            forward_index_fn=lambda i, j, a=a, b=b: i % a * b + j % b,
        )


def answers(found, rng: Random):
    """[index, places] of some elements: the offset in the buffer, or [thread, offset] of every copy."""
    from tvm import tirx

    flat = found.get_linearized_forward_index()
    variables = list(found.get_forward_vars())
    extents = [int(extent) for extent in found.get_input_shape()]
    is_fragment = hasattr(found, "thread")
    copies = int(found.replicate_size) if is_fragment else 1

    def value(expression, index, rep):
        numbers = [rep, *index] if len(variables) > len(index) else index
        mapped = tirx.IndexMap(variables, [expression], None).map_indices(numbers)
        return int(mapped[0])

    for _ in range(SAMPLED):
        index = [rng.randrange(extent) for extent in extents]
        if is_fragment:
            yield index, sorted([value(found.thread, index, c), value(flat, index, c)] for c in range(copies))
        else:
            yield index, value(flat, index, 0)


def test_tilelangs_own_answers(tilelang, request):
    rng = Random(1)
    recorded, refused = {}, []
    for found in objects(tilelang, rng):
        text = str(found)
        if text in recorded or text in refused:
            continue
        answered = list(answers(found, rng))
        try:
            check(text, answered)
            recorded[text] = answered
        except Refused:
            refused.append(text)
    assert len(recorded) > 150
    assert len(refused) < 0.1 * len(recorded)
    if request.config.getoption("--update-goldens"):
        data = {"tilelang": tilelang.__version__, "layouts": recorded, "refused": refused}
        Path(RECORD).write_bytes(gzip.compress(json.dumps(data).encode(), mtime=0))
