"""XLA's tilings and Mosaic's layouts held against Mosaic itself, in the wheel of JAX (which needs absl-py).

`pytest tests/oracle/test_mosaic.py --update-goldens` records what Mosaic answers, for machines without it.
"""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from itertools import product
from math import prod
from random import Random
from types import SimpleNamespace

import pytest
from tests.notation.dialects import test_mosaic, test_xla
from tests.notation.dialects.mosaic_drawn import Copies, drawn_layout, drawn_tiling

from tilewise import LayoutError, parse
from tilewise.notation import dialects
from tilewise.notation.dialects import DIALECTS, Given
from tilewise.notation.dialects.mosaic import NAMED, Replicated

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def fragments():
    pytest.importorskip("absl", reason="absl-py is not installed")
    return pytest.importorskip("jax.experimental.mosaic.gpu.fragmented_array", reason="jax is not installed")


class Number(int):
    """A value in the place of one of MLIR, which has a type."""

    type = None


@pytest.fixture
def in_plain_numbers(fragments, monkeypatch):
    """Mosaic's own functions of threads, which build MLIR, with plain integers in the place of MLIR."""
    now = SimpleNamespace(thread=0)
    arith = SimpleNamespace(
        remui=lambda a, b: Number(a % b),
        divui=lambda a, b: a // b,
        addi=lambda a, b: a + b,
        muli=lambda a, b: a * b,
        constant=lambda _, value: value,
        index_castui=lambda _, value: value,
    )
    types = SimpleNamespace(
        IntegerType=SimpleNamespace(get_signless=lambda _: None), IndexType=SimpleNamespace(get=lambda: None)
    )
    for module in (fragments, fragments.utils):
        monkeypatch.setattr(module, "arith", arith)
        monkeypatch.setattr(module, "ir", types)
        monkeypatch.setattr(module, "c", lambda value, _: value)
    monkeypatch.setattr(fragments.utils, "thread_idx", lambda: now.thread)
    gpu = SimpleNamespace(thread_id=lambda _: now.thread, Dimension=SimpleNamespace(x=0))
    monkeypatch.setattr(fragments, "gpu", gpu)
    monkeypatch.setattr(
        fragments.utils, "dyn_dot", lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))
    )
    return now


def recorded(pytestconfig, path, answers):
    """Write the record where it is to be written anew."""
    if pytestconfig.getoption("--update-goldens"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))


def test_tilings(fragments, pytestconfig):
    """500 tilings: the strides that Mosaic gives an array, and the place of some of its elements."""
    rng = Random(1)
    answers = []
    for _ in range(500):
        tiles = drawn_tiling(rng)
        shape = tuple(extent * rng.choice((1, 2, 3, 5)) for extent in tiles[0])
        theirs = fragments.Tiling(tiles)
        tiled_shape = theirs.tile_shape(shape)
        strides = [prod(tiled_shape[at + 1 :]) for at in range(len(tiled_shape))]
        layout = parse(test_xla.spelled(shape, [*reversed(range(len(shape)))], tiles))
        seen = []
        for _ in range(8):
            index = tuple(rng.randrange(extent) for extent in shape)
            place = sum(i * s for i, s in zip(theirs.tile_indices(index), strides, strict=True))
            assert layout.place(*index)["m"] == place
            seen.append([index, place])
        row_major = [prod(shape[at + 1 :]) for at in range(len(shape))]
        steps = theirs.tile_strides(tuple(row_major))
        for extent, step, stride in zip(tiled_shape, steps, strides, strict=True):
            if (
                extent > 1
            ):  # one step of a tiled dimension: `step` elements on in the array, `stride` in memory
                index = tuple(step // row % size for row, size in zip(row_major, shape, strict=True))
                assert layout.place(*index)["m"] == stride
        if len(answers) < 150:
            answers.append([shape, tiles, seen])
    recorded(pytestconfig, test_xla.RECORD, answers)


def small_layout(rng, most):
    """A layout of an array of so many elements at most."""
    while True:
        said, shape = drawn_layout(rng)
        if prod(shape) <= most:
            return said, shape


def theirs_of(fragments, said):
    """Mosaic's object."""
    dims = [
        tuple(
            fragments.Replicated(dim.times) if isinstance(dim, Copies | Replicated) else dim for dim in some
        )
        for some in (said.warps, said.lanes)
    ]
    return fragments.TiledLayout(fragments.Tiling(said.tiles), *dims, said.vector, _check_canonical=False)


def elements_of(theirs, shape, thread, now):
    """(register, index) of every element that a thread has, as Mosaic tells."""
    now.thread = thread
    row_major = [prod(shape[at + 1 :]) for at in range(len(shape))]
    step = theirs.tiling.tile_strides(tuple(row_major))[theirs.vector_dim]
    for register, first in enumerate(theirs.thread_idxs(shape)):
        flat = sum(i * s for i, s in zip(first, row_major, strict=True))
        for within in range(theirs.vector_length):
            element = flat + within * step
            index = tuple(element // row % size for row, size in zip(row_major, shape, strict=True))
            yield register * theirs.vector_length + within, index


def test_tiled_layouts(fragments, in_plain_numbers, pytestconfig):
    """300 layouts as Mosaic prints them, and as it makes them canonical: all elements of some threads."""
    rng = Random(2)
    answers, elements, canonical = [], 0, 0
    for _ in range(300):
        said, shape = small_layout(rng, 1 << 11)
        theirs = theirs_of(fragments, said)
        layout = parse(repr(theirs), shape=shape)
        with suppress(ValueError):  # Mosaic makes some layouts with vectors of 1 canonical to what it refuses
            assert parse(repr(theirs.canonicalize()), shape=shape).same(layout).answer is True
            canonical += 1
        held_by = []
        for thread in (0, 37, 101, 127):
            for register, index in elements_of(theirs, shape, thread, in_plain_numbers):
                assert (thread // 32, thread % 32, register) in test_mosaic.held(layout, index)
                elements += 1
                if len(held_by) < 12 and rng.random() < 0.1:
                    held_by.append([thread // 32, thread % 32, register, *index])
        if len(answers) < 100:
            answers.append([str(said), shape, held_by])
    assert elements > 10_000
    assert canonical > 200
    recorded(pytestconfig, test_mosaic.RECORD, answers)


def test_all_threads_of_small_layouts_hold_what_is_read_and_nothing_else(fragments, in_plain_numbers):
    rng = Random(3)
    for _ in range(30):
        said, shape = small_layout(rng, 256)
        theirs = theirs_of(fragments, said)
        layout = parse(str(said), shape=shape)
        told = {
            (thread // 32, thread % 32, register, index)
            for thread in range(128)
            for register, index in elements_of(theirs, shape, thread, in_plain_numbers)
        }
        ours = {
            (*place, index)
            for index in product(*map(range, shape))
            for place in test_mosaic.held(layout, index)
        }
        assert ours == told


def test_what_is_written_is_canonical_for_mosaic(fragments):
    """Mosaic takes it, without being asked to overlook anything, and it is the same map."""
    rng = Random(4)
    written = 0
    for _ in range(300):
        said, shape = drawn_layout(rng)
        layout = parse(str(said), shape=shape)
        try:
            text = dialects.write(DIALECTS["mosaic"], layout, Given())
        except LayoutError:
            continue
        names = {name: getattr(fragments, name) for name in ("TiledLayout", "Tiling", "Replicated")}
        theirs = eval(text, names)
        assert parse(repr(theirs), shape=shape).same(layout).answer is True
        written += 1
    assert written > 280


def test_names(fragments):
    for name, said in NAMED.items():
        assert getattr(fragments, name) == theirs_of(fragments, said)


def test_strided_layouts(fragments, in_plain_numbers):
    for shape, vector in (((64, 128), 8), ((8, 3, 256), 2), ((1024,), 4), ((128, 8), 1)):
        theirs = fragments.WGStridedFragLayout(shape, vector)
        layout = parse(repr(theirs))
        for thread in (0, 1, 37, 127):
            in_plain_numbers.thread = thread
            firsts = theirs.thread_idxs(shape)
            for register, first in enumerate(firsts):
                for within in range(vector):
                    index = (*first[:-1], first[-1] + within)
                    assert test_mosaic.held(layout, index) == {
                        (thread // 32, thread % 32, register * vector + within)
                    }


def test_attributes_of_mlir(fragments):
    """Read what MLIR prints as what Python prints."""
    from jax._src.lib import mosaic_gpu_dialect
    from jax.experimental.mosaic.gpu import layouts
    from jaxlib.mlir import ir

    rng = Random(5)
    with ir.Context() as context:
        mosaic_gpu_dialect.register_dialect(context)
        for _ in range(50):
            said, shape = drawn_layout(rng)
            theirs = theirs_of(fragments, said)
            text = str(layouts.to_layout_attr(theirs))
            assert text == said.attribute
            assert parse(text, shape=shape) == parse(repr(theirs), shape=shape)
        for theirs in (fragments.WGStridedFragLayout((64, 128), 8), fragments.WGSplatFragLayout((2, 3))):
            assert parse(str(layouts.to_layout_attr(theirs))) == parse(repr(theirs))
