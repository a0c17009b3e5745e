"""Moves inside a warp that several tests share: goldens, compiled, run on a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random

from tilewise import Layout, parse
from tilewise.check.shuffle import WarpPlan, shuffle
from tilewise.core.axes import Axis
from tilewise.core.layout import Iter

LANE, REG, WARP = Axis("laneid"), Axis("reg"), Axis("wid_in_wg")
DTYPES = ("b1", "e2m1", "u8", "e4m3", "f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class Case:
    """FROM, TO and the options of the plan."""

    name: str
    source: str
    target: str
    dtype: str
    without: tuple[str, ...] = ()
    cheapest: bool = False

    def __str__(self) -> str:
        return self.name

    @cached_property
    def layouts(self) -> tuple[Layout, Layout]:
        """FROM and TO."""
        return parse(self.source), parse(self.target)

    @cached_property
    def plan(self) -> WarpPlan:
        """The plan."""
        return shuffle(*self.layouts, self.dtype, without=self.without, cheapest=self.cheapest)


_ATOM = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]"
_ATOM_T = "S[(4, 2, 8) : (1@laneid, 1@reg, 4@laneid)]"
_D_16X16 = "S[((2, 8), (2, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"
_D_16X32 = "S[((2, 8), (4, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"
_ROWS, _COLUMNS = "S[(32, 32) : (1@laneid, 1@reg)]", "S[(32, 32) : (1@reg, 1@laneid)]"
_EVERY = "R[32 : 1@laneid]"

CASES = (
    Case("D of two m16n8k16 to A, f16", _D_16X16, "mma.A(m16n8k16, f16)", "f16"),
    Case("D of four m16n8k32 to A, e4m3", _D_16X32, "mma.A(m16n8k32, e4m3)", "e4m3"),
    Case("D of four m16n8k32 to A, e5m2", _D_16X32, "mma.A(m16n8k32, e5m2)", "e5m2"),
    Case(
        "D of four m16n8k32 to A, K in another order",
        "S[(2, 8, 2, 4, 2, 2) : (2@reg, 4@laneid, 8@reg, 1@laneid, 4@reg, 1@reg)]",
        "mma.A(m16n8k32, e4m3)",
        "e4m3",
    ),
    Case("D of one m16n8k8 to A, tf32", "mma.D(m16n8k8, f32)", "mma.A(m16n8k8, tf32)", "tf32"),
    Case("A of two m16n8k8 to m16n8k16", _D_16X16, "mma.A(m16n8k16, f16)", "bf16"),
    Case(
        "D transposed to B, f16",
        "S[(4, 2, 2, 8) : (1@laneid, 1@reg, 2@reg, 4@laneid)]",
        "mma.B(m16n8k16, f16)",
        "f16",
    ),
    Case("8x8 transposed, b16", _ATOM, _ATOM_T, "b16"),
    Case("8x8 transposed, b16, without movmatrix", _ATOM, _ATOM_T, "b16", ("movmatrix",)),
    Case("8x8 transposed, f32", _ATOM, _ATOM_T, "f32"),
    Case("8x8 transposed, f64", _ATOM, _ATOM_T, "f64"),
    Case("8x8 transposed, u8", _ATOM, _ATOM_T, "u8"),
    Case("four 8x8 transposed, b16", "S[(4, 8, 4, 2) : (2@reg, 4@laneid, 1@laneid, 1@reg)]",
         "S[(4, 4, 2, 8) : (2@reg, 1@laneid, 1@reg, 4@laneid)]", "b16"),
    Case("16x16 transposed, f16", _D_16X16,
         "S[(2, 4, 2, 2, 8) : (4@reg, 1@laneid, 1@reg, 2@reg, 4@laneid)]", "f16"),
    Case("a lane bit for a register bit, f32", "S[(2, 16, 2) : (1@reg, 1@laneid, 16@laneid)]",
         "S[(2, 16, 2) : (16@laneid, 1@laneid, 1@reg)]", "f32"),
    Case("a lane bit for a register bit, b16", "S[(2, 16, 2) : (1@reg, 1@laneid, 16@laneid)]",
         "S[(2, 16, 2) : (16@laneid, 1@laneid, 1@reg)]", "b16"),
    Case("two lane bits for two register bits", "S[(4, 8, 4) : (1@reg, 1@laneid, 8@laneid)]",
         "S[(4, 8, 4) : (8@laneid, 1@laneid, 1@reg)]", "f32"),
    Case("rows to columns, 32x8 f32", "S[(32, 8) : (1@laneid, 1@reg)]",
         "S[(4, 8, 8) : (8@laneid, 1@reg, 1@laneid)]", "f32"),
    Case("rows to columns, 32x8 f32, cheapest", "S[(32, 8) : (1@laneid, 1@reg)]",
         "S[(4, 8, 8) : (8@laneid, 1@reg, 1@laneid)]", "f32", (), True),
    Case("32x32 transposed, f32", _ROWS, _COLUMNS, "f32"),
    Case("32x32 transposed, f32, cheapest", _ROWS, _COLUMNS, "f32", (), True),
    Case("32x32 transposed, u8", _ROWS, _COLUMNS, "u8"),
    Case("32x32 transposed, b1", _ROWS, _COLUMNS, "b1"),
    Case("64x32 transposed, b1", "S[(2, 32, 32) : (32@reg, 1@laneid, 1@reg)]",
         "S[(2, 32, 32) : (32@reg, 1@reg, 1@laneid)]", "b1"),
    Case("8x4x8 transposed, e2m1", "S[(8, 4, 8) : (4@laneid, 1@laneid, 1@reg)]",
         "S[(8, 4, 2, 4) : (4@laneid, 1@reg, 4@reg, 1@laneid)]", "e2m1"),
    Case("16 elements to each of four lanes, e2m1", "S[(8, 4, 4) : (4@laneid, 1@laneid, 1@reg)]",
         "S[(8, 4, 4) : (4@laneid, 4@reg, 1@reg)] + R[4 : 1@laneid]", "e2m1"),
    Case("a vote", "S[32 : 1@laneid]", f"S[32 : 1@reg] + {_EVERY}", "b1"),
    Case("a vote of eight lanes", "S[(4, 8) : (8@laneid, 1@laneid)]",
         "S[(4, 8) : (8@laneid, 1@reg)] + R[8 : 1@laneid]", "b1"),
    Case("a vote without ballot", "S[32 : 1@laneid]", f"S[32 : 1@reg] + {_EVERY}", "b1", ("ballot",)),
    Case("lanes reversed", "S[(32, 4) : (1@laneid, 1@reg)]",
         "S[(32, 4) : (-1@laneid, 1@reg)] + 31@laneid", "f32"),
    Case("lanes up by three", "S[(29, 2) : (1@laneid, 1@reg)]",
         "S[(29, 2) : (1@laneid, 1@reg)] + 3@laneid", "f32"),
    Case("one lane to all", "S[8 : 1@reg] + 5@laneid", f"S[8 : 1@reg] + {_EVERY}", "f32"),
    Case("one register of each lane to all", "S[8 : 1@laneid]", f"S[8 : 1@reg] + {_EVERY}", "f32"),
    Case("one register of each of 32 lanes to all", "S[32 : 1@laneid]", f"S[32 : 1@reg] + {_EVERY}", "f32"),
    Case("one register of each of 32 lanes to all, cheapest", "S[32 : 1@laneid]",
         f"S[32 : 1@reg] + {_EVERY}", "f32", (), True),
    Case("registers of a lane dealt out", "S[32 : 1@reg] + 3@laneid", "S[32 : 1@laneid]", "f32"),
    Case("three registers to lanes in threes", "S[((3, 32),) : ((1@reg, 1@laneid),)]",
         "S[(32, 3) : (1@laneid, 1@reg)]", "f32"),
    Case("three registers to lanes in threes, b16", "S[((3, 32),) : ((1@reg, 1@laneid),)]",
         "S[(32, 3) : (1@laneid, 1@reg)]", "b16"),
    Case("copies to other copies", "S[(4, 4) : (1@laneid, 1@reg)] + R[8 : 4@laneid]",
         "S[(4, 4) : (1@reg, 1@laneid)] + R[8 : 4@laneid]", "f32"),
    Case("copies that are there", "S[(4, 4) : (1@laneid, 1@reg)] + R[8 : 4@laneid]",
         "S[(4, 4) : (1@laneid, 1@reg)] + 8@laneid", "f32"),
    Case("places that several share", "S[(8, 4, 2) : (1@laneid, 0, 1@reg)]",
         "S[(8, 4, 2) : (1@laneid, 8@laneid, 1@reg)]", "f16"),
    Case("D of a wgmma to A, bf16", "wgmma.D(f32, n=16)", "wgmma.A(bf16)", "bf16"),
    Case("D of a wgmma to A, e4m3", "wgmma.D(f32, n=32)", "wgmma.A(e4m3)", "e4m3"),
    Case("threads of a block", "S[(64, 2) : (1@tx, 1@reg)]",
         "S[(2, 32, 2) : (1@warpid, -1@laneid, 1@reg)] + 31@laneid", "f32"),
    Case("holes and offsets", "S[(32, 3) : (1@laneid, 2@reg)] + 1@reg",
         "S[((3, 32),) : ((3@reg, 1@laneid),)] + 2@reg", "u8"),
)  # fmt: skip
"""Cases by name."""


# -- drawn at random -------------------------------------------------------------------------------


def random_cases(count: int, seed: int) -> Iterator[Case]:
    """Moves of bits, of copies, of odd extents."""
    rng = Random(seed)
    for i in range(count):
        source, target = rng.choice((_of_bits, _of_bits, _with_copies, _odd))(rng)
        dtype = rng.choice(DTYPES)
        without = tuple(name for name in ("movmatrix", "ballot") if rng.random() < 0.3)
        yield Case(f"random {seed}.{i}", str(source), str(target), dtype, without, rng.random() < 0.2)


def _strides(bits: int) -> list[object]:
    return [(1 << bit) @ LANE for bit in range(5)] + [(1 << bit) @ REG for bit in range(bits)]


def _of_bits(rng: Random) -> tuple[Layout, Layout]:
    """Bits of the index on bits of the lane and of the register, in two orders."""
    bits = rng.choice((0, 1, 1, 2, 2, 3, 4, 5))
    strides = _strides(bits)
    one, other = (rng.sample(strides, len(strides)) for _ in range(2))
    if rng.random() < 0.5:  # only a few bits differ
        other = list(one)
        for _ in range(rng.choice((1, 2))):
            a, b = rng.randrange(len(one)), rng.randrange(len(one))
            other[a], other[b] = other[b], other[a]
    shape = (2,) * len(strides)
    return tuple(_flipped(Layout(shape, tuple(own)), rng) for own in (one, other))  # type: ignore[return-value]


def _flipped(layout: Layout, rng: Random) -> Layout:
    """Some digits counted down instead of up."""
    for i in range(len(layout.strides)):
        if rng.random() < 0.1:
            step = layout.strides[i]
            strides = (*layout.strides[:i], -step, *layout.strides[i + 1 :])
            layout = layout.with_parts(layout.shape, strides, layout.replica, layout.offset + step)
    return layout


def _with_copies(rng: Random) -> tuple[Layout, Layout]:
    """Fewer elements than places: copies, or nothing there."""
    bits = rng.choice((1, 2, 3, 4))
    strides = _strides(bits)
    size = rng.randrange(2, len(strides))
    made = []
    for _ in range(2):
        own = rng.sample(strides, len(strides))
        copies = tuple(Iter(2, step) for step in own[size:] if rng.random() < 0.7)
        made.append(Layout((2,) * size, tuple(own[:size]), copies))
    return made[0], made[1]


def _odd(rng: Random) -> tuple[Layout, Layout]:
    """Digits that are no powers of two, in two orders."""
    lanes, registers = rng.choice((3, 5, 8, 16, 24, 31, 32)), rng.choice((1, 2, 3, 5, 6))
    one = Layout(((registers, lanes),), (1 @ REG, 1 @ LANE))
    factor = rng.choice((1, 1, 3, 5)) if lanes * 5 < 160 else 1
    way = factor @ LANE if (lanes - 1) * factor < 32 else 1 @ LANE
    if rng.random() < 0.5:
        reach = (lanes - 1) * dict(way.terms)[LANE]
        return one, Layout((registers, lanes), (1 @ REG, -way), offset=reach @ LANE)
    return one, Layout((lanes, registers), (way, 1 @ REG))
