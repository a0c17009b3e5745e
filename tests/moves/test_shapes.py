"""Kernels for all shapes of a class, run for values of their names, against the naive move."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.moves.shim import aligned, run

from tilewise import Layout, LayoutError, NotDecided, Refused, S, Swizzle, name
from tilewise.core.polynomials import valued
from tilewise.core.swizzles import apply_chain
from tilewise.moves import bind, plan
from tilewise.moves.arrays.device import Loaded
from tilewise.moves.arrays.run import BoundShapes, _OfShape
from tilewise.moves.named import transpose
from tilewise.moves.shapes import TYPICAL, ShapesPlan, shapes_plan
from tilewise.moves.source import host_source, kernel_source
from tilewise.questions.emit_move import emit_move

M8, N8 = name("M", multiple=8, least=8), name("N", multiple=8, least=8)
M64 = name("M", multiple=64, least=64)
M16, N16 = name("M", multiple=16, least=16), name("N", multiple=16, least=16)
B, ROWS, PAD = name("B", least=1), name("M", least=1), name("pad", least=2)

CLASSES = {
    "turned": (S[M8, N8], S[(M8, N8) : (1, M8)], "bf16"),
    "turned bytes": (S[M16, N16], S[(M16, N16) : (1, M16)], "u8"),
    "turned words": (S[M8, N8], S[(M8, N8) : (1, M8)], "f32"),
    "turned elements of 8 bytes": (S[M8, N8], S[(M8, N8) : (1, M8)], "f64"),
    "rows further apart": (S[(M8, N8) : (N8, 1)], S[(M8, N8) : (N8 + 8, 1)], "f32"),
    "batches": (S[(B, M8, N8) : (M8 * N8, N8, 1)], S[(B, M8, N8) : (M8 * N8, 1, M8)], "bf16"),
    "heads": (S[(M8, 8, 64) : (512, 64, 1)], S[(M8, 8, 64) : (64, 64 * M8, 1)], "bf16"),
    "padded": (S[(M8, 64) : (64, 1)], S[(M8, 64) : (1, M8 + 8)], "f16"),
    "from an offset": (S[(M8, N8) : (N8, 1)] + 8 * M8, S[(M8, N8) : (1, M8)] + 16, "f16"),
    "rows that begin anywhere": (S[(M8, N8 + 3) : (N8 + 3, 1)], S[(M8, N8 + 3) : (1, M8)], "f16"),
    "both begin anywhere": (S[(M8 + 5, N8 + 3) : (N8 + 3, 1)], S[(M8 + 5, N8 + 3) : (1, M8 + 5)], "bf16"),
    "swizzled": (S[(M64, 64) : (64, 1)], Swizzle(3, 3, 3) @ S[(64, M64) : (M64, 1)].permute(1, 0), "bf16"),
    "any number of rows": (S[ROWS, 64], S[(ROWS, 64) : (1, ROWS)], "bf16"),
    "all together": (S[M8, N8], S[M8 * N8] + 24, "bf16"),
}


def places(layout: Layout) -> np.ndarray:
    """Return the place of each element, by its definition."""
    at = np.array([layout.offset["m"]])
    for it in layout.shard:
        at = (at[:, None] + np.arange(it.extent) * it.stride["m"]).reshape(-1)
    return np.array([apply_chain(layout.swizzles, int(own)) for own in at]) if layout.swizzles else at


def values_of(found: ShapesPlan, count: int, most: int = 1 << 22) -> list[dict[str, int]]:
    """Return values that the facts admit: small ones, and a little more than a tile; of so many elements."""
    rng = np.random.default_rng(5)
    drawn: list[dict[str, int]] = []
    for _ in range(2000):
        if len(drawn) == count:
            break
        sizes = {own: int(rng.integers(1, 28)) * int(rng.choice([1, 2, 8, 16, 32])) for own in found.names}
        if valued(found.layouts[0].size, sizes) > most:
            continue
        try:
            found.admitted(sizes)
        except LayoutError:
            continue
        drawn.append(sizes)
    return drawn


@pytest.mark.parametrize("size", TYPICAL, ids=["small", "middle", "large"])
@pytest.mark.parametrize("called", CLASSES)
def test_one_kernel_makes_all_moves_of_a_class(called: str, size: int, times) -> None:
    source, target, dtype = CLASSES[called]
    try:
        found = shapes_plan(source, target, dtype, size=size)
    except NotDecided:  # a tile for small ones would take all of a row: large tiles serve them
        assert (called, size) == ("rows further apart", TYPICAL[0])
        return
    for values in values_of(found, times(6)):
        check(found, values)


@pytest.mark.parametrize("called", CLASSES)
def test_shapes_of_whole_tiles_have_a_kernel_without_edges(called: str, times) -> None:
    source, target, dtype = CLASSES[called]
    try:
        found = shapes_plan(source, target, dtype, size=TYPICAL[0])
    except NotDecided:
        return
    whole = found.of_whole_tiles
    if whole is None:
        assert called.endswith("begin anywhere")  # an odd extent is no multiple of a tile's
        return
    for values in values_of(whole, times(2)):
        assert found.fits(values)
        check(whole, values)
    if called.startswith("turned"):
        assert len(whole.kernel) < 0.7 * len(found.kernel)


def drawn(rng: Random) -> tuple[Layout, Layout, str]:
    """Return a random permutation of modes, some of them names, with pitches and offsets."""
    names = [
        name(own, multiple=rng.choice([1, 4, 8, 16, 32]), least=32) for own in "MNK"[: rng.randint(1, 2)]
    ]
    extents = [*names, *(rng.choice([2, 3, 8, 12, 64]) for _ in range(rng.randint(1, 2)))]
    rng.shuffle(extents)
    extents = [extent + rng.choice([0, 0, 0, 1, 3]) if rng.random() < 0.3 else extent for extent in extents]
    orders = [[*range(len(extents))], rng.sample(range(len(extents)), len(extents))]
    sides = []
    for order in orders:
        strides: list[Any] = [0] * len(extents)
        step: Any = 1
        for mode in reversed(order):
            strides[mode] = step
            step = step * (extents[mode] + rng.choice([0, 0, 0, 0, 8]))
        sides.append(S[tuple(extents) : tuple(strides)] + rng.choice([0, 0, 16, names[0] * 8, 3]))
    return sides[0], sides[1], rng.choice(["u8", "bf16", "f32", "f64"])


def test_a_class_without_a_plan_for_whole_tiles_keeps_the_one_with_edges() -> None:
    m, n = name("M", least=32), name("N", multiple=4, least=32)
    source = S[(n, m, 64, 9) : (576 * m, 576, 9, 1)] + 16
    found = shapes_plan(source, S[(n, m, 64, 9) : (576 * m, 576, 1, 64)], "u8", size=TYPICAL[0])
    values = {"M": 35, "N": 32}
    assert found.fits(values)
    assert found.of_whole_tiles is None  # M * N is a multiple of 28, which is no fact of one name
    assert bind(found)._plan_of(found.of(values), values).edges


@pytest.mark.parametrize("seed", range(48))
def test_random_classes(seed: int, times) -> None:
    rng = Random(seed)
    source, target, dtype = drawn(rng)
    try:
        found = shapes_plan(source, target, dtype, size=rng.choice(TYPICAL))
    except NotDecided:
        return
    for values in values_of(found, times(3), most=1 << 18):
        check(found, values)


def check(found: ShapesPlan, values: dict[str, int]) -> None:
    source, target = (own.with_numbers(lambda number: valued(number, values)) for own in found.layouts)
    assert found.takes(values)
    unit = found.dtype.bits // 8
    given, made = aligned((source.max("m") + 1) * unit), aligned((target.max("m") + 1) * unit)
    given[:] = np.random.default_rng(given.size).integers(0, 256, given.size)
    made[:] = 0 if found.fills else 0x5A
    if not found.text:
        read, write, count = (
            valued(number, values) for number in (found.way.read, found.way.write, found.way.bytes)
        )
        made[write : write + count] = given[read : read + count]
    else:
        sizes = [values[own] for own in found.names]
        run(found.kernel, found.blocks_of(values), found.launch[1], given, made, sizes)
    wanted = np.full(made.size, 0 if found.fills else 0x5A, np.uint8).reshape(-1, unit)
    wanted[places(target)] = given.reshape(-1, unit)[places(source)]
    assert made.tobytes() == wanted.tobytes(), values
    assert valued(found.sizes[1], values) == made.size


def test_a_wrong_kernel_is_noticed() -> None:
    source, target, dtype = CLASSES["turned"]
    found = shapes_plan(source, target, dtype)
    text = found.text.replace("const int read0 = (int)N;", "const int read0 = (int)N - 8;")
    wrong = replace(found, text=text)
    assert wrong.text != found.text
    with pytest.raises(AssertionError):
        check(wrong, {"M": 64, "N": 72})


def test_a_bound_plan_takes_values_with_each_call() -> None:
    turn = bind(plan(S[M8, N8], S[(M8, N8) : (1, M8)], "u16"))
    for rows, columns in ((8, 16), (64, 8), (8, 16)):
        given = np.random.default_rng(rows).integers(0, 1 << 16, (rows, columns), dtype=np.uint16)
        found = turn(given.reshape(-1), {"M": rows, "N": columns})
        assert found.tolist() == given.T.reshape(-1).tolist()
    assert turn.of({"M": 8, "N": 16}) is turn.of({"M": 8, "N": 16})


def test_values_have_to_be_those_of_the_class() -> None:
    turn = bind(plan(S[M8, N8], S[(M8, N8) : (1, M8)], "u16"))
    x = np.zeros(512, np.uint16)
    with pytest.raises(LayoutError, match="the plan is for M % 8 == 0, and M = 12"):
        turn(x, {"M": 12, "N": 8})
    with pytest.raises(LayoutError, match="the names are M, N, and M have values"):
        turn(x, {"M": 8})


def test_on_a_device_all_shapes_launch_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = []

    def made(
        self: Loaded, plan: object, index: int, kernel: str = "", blocks: int = 0, sizes=(), spare=0
    ) -> None:
        launched.append((kernel, blocks, tuple(sizes)))

    monkeypatch.setattr(Loaded, "__init__", made)
    turn = bind(plan(S[M8, N8], S[(M8, N8) : (1, M8)], "u16"))
    large = (16384, 8200, 256), (8192, 8200, 256), (16384, 8192, 256)
    for rows, columns, begin in (*large, (64, 64, 256), (64, 64, 8)):
        turn.of({"M": rows, "N": columns})._prepared(0, begin)
    texts = [kernel for kernel, _, _ in launched]
    assert [sizes for _, _, sizes in launched] == [*(own[:2] for own in large), (64, 64), ()]
    assert texts[0] == texts[1]
    assert len(texts[2]) < len(texts[0])  # whole tiles fill it: it has no edges
    assert len({*texts}) == 4  # a small one has another tile
    assert texts[4] == ""  # storage that begins anywhere has a kernel of its own
    assert launched[2][1] == 128 * 64


def test_three_blocks_run_at_a_time_where_runs_of_bytes_begin_between_sectors() -> None:
    m, n = name("M", multiple=16, least=16), name("N", multiple=16, least=16)
    bound = BoundShapes(shapes_plan(S[m, n], S[(m, n) : (1, m)], "u8"))
    for sizes, spare in (((8208, 8224), 48), ((8224, 8208), 0), ((8192, 8192), 0), ((1040, 1056), 0)):
        own = bound.of(dict(zip("MN", sizes, strict=True)))
        assert isinstance(own, _OfShape)
        assert own._shapes.spare_of(own.plan) == spare << 10


@pytest.mark.parametrize(
    ("source", "target", "dtype", "why"),
    [
        (S[(M8, 64) : (64 + PAD, 1)], S[(M8, 64) : (1, M8)], "bf16", "16 bytes"),
        (S[M8, 64], S[(M8, 64) : (1, M8)], "u4", "takes no tile"),
    ],
)
def test_what_facts_do_not_tell_is_not_decided(source: Layout, target: Layout, dtype: str, why: str) -> None:
    with pytest.raises(NotDecided, match=why):
        shapes_plan(source, target, dtype)


@pytest.mark.parametrize(
    ("called", "ones"), [("batches", {"B": 1, "M": 72, "N": 40}), ("any number of rows", {"M": 1})]
)
def test_an_extent_may_be_1_and_is_never_0(called: str, ones: dict[str, int]) -> None:
    found = shapes_plan(*CLASSES[called], size=TYPICAL[0])
    check(found, ones)
    with pytest.raises(LayoutError, match=">= 1"):
        found.admitted({own: 0 if value == 1 else value for own, value in ones.items()})
    free = shapes_plan(S[name("M"), 64], S[(name("M"), 64) : (1, name("M"))], "bf16")
    assert free.where == "M >= 1"


def test_boxes_and_tests_of_accesses_take_values() -> None:
    for option in ({"shape": (8, 8)}, {"checked": True}):
        with pytest.raises(NotDecided, match="a kernel for all values t"):
            shapes_plan(S[M8, 64], S[(M8, 64) : (1, M8)], "bf16", **option)


def test_a_class_is_no_copy_because_typical_values_are() -> None:
    apart, pitch = name("apart", multiple=8, least=64), name("pitch", multiple=8, least=56, most=64)
    assert shapes_plan(S[(M8, 64) : (apart, 1)], S[M8, 64], "bf16").kind == "tile"
    with pytest.raises(NotDecided, match="stay together for some values"):
        shapes_plan(S[(M8, 64) : (pitch, 1)], S[M8, 64], "bf16")


def test_what_32_bits_do_not_count_is_refused() -> None:
    wide = (1 << 29) + 8
    with pytest.raises(NotDecided, match="too many for 32 bits"):
        shapes_plan(S[(M8, wide) : (wide, 1)], S[(M8, wide) : (1, M8)], "f32")
    assert not shapes_plan(S[M8, N8], S[(M8, N8) : (1, M8)], "f32").takes({"M": 8, "N": 1 << 28})


def test_values_are_whole_numbers_that_the_caller_may_change() -> None:
    turn = bind(plan(S[M8, N8], S[(M8, N8) : (1, M8)], "u16"))
    with pytest.raises(LayoutError, match="M"):
        turn.of({"M": 8.5, "N": 8})  # type: ignore[dict-item]
    let = {"M": 64, "N": 64}
    found = turn.of(let)
    let["M"] = 4096
    assert found._values == {"M": 64, "N": 64}


def test_a_name_is_0_or_more_without_saying() -> None:
    pad = name("P", multiple=8)
    found = shapes_plan(S[(M8, N8) : (N8, 1)], S[(M8, N8) : (1, M8 + pad)], "bf16")
    with pytest.raises(LayoutError, match="the plan is for P >= 0, and P = -56"):
        found.admitted({"M": 64, "N": 64, "P": -56})
    assert "&& P >= 0 &&" in host_source(found)
    with pytest.raises(NotDecided, match="equal bytes"):
        host_source(plan(*found.layouts, "bf16", fill=1))


@pytest.mark.parametrize("word", ["tile", "source", "extent0", "from", "int", "V16", "threadIdx"])
def test_a_name_is_no_word_of_the_kernel(word: str) -> None:
    rows = name(word, multiple=8, least=8)
    with pytest.raises(LayoutError, match="cannot name an argument"):
        shapes_plan(S[rows, N8], S[(rows, N8) : (1, rows)], "bf16")
    rows = name("ld", multiple=8, least=8)
    assert shapes_plan(S[rows, N8], S[(rows, N8) : (1, rows)], "bf16").names == ("ld", "N")


def test_products_of_sizes_do_not_wrap() -> None:
    fused = S[(M8, N8, 64) : (N8 * 64, 64, 1)], S[(M8, N8, 64) : (N8, 1, M8 * N8)]
    assert "(double)M * (double)N * 1 < 4e+18" in host_source(shapes_plan(*fused, "bf16"))


def test_a_named_move_takes_names() -> None:
    assert plan(transpose(M8, N8), dtype="bf16") == plan(S[M8, N8], S[(M8, N8) : (1, M8)], "bf16")


def test_the_source_has_a_host_that_tests_the_sizes() -> None:
    found = shapes_plan(S[M8, N8], S[(M8, N8) : (1, M8 + 8)], "bf16")
    text = host_source(found, "turned")
    assert "turned(const u8* __restrict__ source, u8* __restrict__ target, long long M, long long N)" in text
    assert "if (!(M % 8 == 0 && N % 8 == 0 && M >= 8 && N >= 8" in text
    assert "cudaMemsetAsync(target, 0x00, M * N * 2 + N * 16 - 16, stream)" in text
    together = shapes_plan(S[M8, N8], S[M8 * N8] + 24, "bf16")
    assert "cudaMemcpyAsync((char *)target + 48, source, M * N * 2" in host_source(together)
    with pytest.raises(Refused, match="no kernel is needed"):
        kernel_source(together)


def test_the_command_writes_a_kernel_for_all_values() -> None:
    facts = "M % 8 == 0, N % 8 == 0"
    report = emit_move("S[M, N]", "S[(M, N) : (1, M)]", "bf16", where=facts, host=True)
    assert report.names == ["M", "N"]
    assert report.where == ["M % 8 == 0", "N % 8 == 0", "M >= 8", "N >= 8"]
    assert "launch_move_bf16(const void *source, void *target, long long M, long long N," in report.code
    with pytest.raises(LayoutError, match="tests no accesses"):
        emit_move("S[M, N]", "S[(M, N) : (1, M)]", "bf16", where=facts, checked=True)
