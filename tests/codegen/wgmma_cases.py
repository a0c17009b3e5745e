"""The tiles around wgmma that the tests look at: shapes x types x modes x majors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tilewise import Refused, parse
from tilewise.codegen.wgmma import Plan, planned
from tilewise.hardware.modes import MODES
from tilewise.hardware.wgmma.instructions import INPUTS


@dataclass(frozen=True)
class Case:
    """A tile: the arguments of `planned`."""

    tile: tuple[int, int, int]
    dtypes: tuple[str, ...]
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        return planned(self.tile, *self.dtypes, **self.asked)

    def __str__(self) -> str:
        words = ["x".join(map(str, self.tile)), "*".join(self.dtypes)]
        for name, value in self.asked.items():
            spelled = "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words.append(f"{name}={spelled}")
        return " ".join(words)


def _cases() -> Iterator[Case]:
    # 16 bits: every mode and both majors of both operands
    for i, mode in enumerate(("none", "32B", "64B", "128B")):
        for j, majors in enumerate((("k", "k"), ("mn", "mn"), ("k", "mn"), ("mn", "k"))):
            dtype = "bf16" if j % 2 else "f16"
            orders = ("mn", "k") if i % 2 else ("k", "mn")
            yield Case(
                (64 * (1 + j % 2), 64 * (1 + i % 2), 64),
                (dtype,),
                {"majors": majors, "modes": (mode, mode), "orders": orders},
            )
    # the two operands in different modes, tiles of several atoms along K, both orders
    yield Case((128, 96, 128), ("bf16",), {"modes": ("128B", "64B"), "orders": ("k", "k")})
    yield Case((128, 96, 128), ("f16",), {"modes": ("32B", "none")})
    yield Case(
        (192, 128, 128), ("f16",), {"majors": ("mn", "k"), "modes": ("64B", "128B"), "orders": ("k", "k")}
    )
    yield Case((64, 192, 64), ("bf16",), {"majors": ("k", "mn"), "modes": (None, "32B")})
    yield Case((128, 64, 32), ("f16",), {"majors": ("mn", "mn")})
    yield Case((192, 64, 32), ("bf16",), {"majors": ("mn", "k"), "orders": ("k", "k")})
    # every N has its own registers: the least, the largest, odd ones, the narrow accumulator
    yield Case((64, 8, 16), ("f16",), {"accumulator": "f16"})
    yield Case((64, 256, 64), ("f16",), {"accumulator": "f16"})
    yield Case((128, 256, 64), ("bf16",))
    yield Case((64, 40, 32), ("bf16",))
    yield Case((64, 24, 48), ("f16",), {"accumulator": "f16"})
    yield Case((64, 200, 80), ("bf16",))
    # 32 and 8 bits
    yield Case((64, 64, 32), ("tf32",))
    yield Case((128, 72, 24), ("tf32",), {"modes": ("32B", "32B")})
    yield Case((64, 64, 64), ("tf32",), {"modes": ("64B", "none"), "orders": ("k", "k")})
    for i, pair in enumerate((("e4m3",), ("e5m2",), ("e4m3", "e5m2"), ("e5m2", "e4m3"))):
        yield Case((64 + 64 * (i % 2), 64 + 8 * i, 128), pair)
        yield Case((64, 128, 64), pair, {"accumulator": "f16", "modes": ("32B", "64B")})
    for i, pair in enumerate((("s8",), ("u8",), ("s8", "u8"), ("u8", "s8"))):
        modes = (("128B", "32B"), ("64B", "none"), ("none", "64B"), ("32B", "128B"))[i]
        yield Case((128, 48 + 16 * i, 128), pair, {"modes": modes})
    # single bits
    yield Case((64, 32, 1024), ("b1",))
    yield Case((128, 24, 512), ("b1",), {"modes": ("64B", "32B")})
    # A from registers
    yield Case((64, 128, 64), ("bf16",), {"a_from": "reg"})
    yield Case((128, 64, 64), ("f16",), {"a_from": "reg", "majors": ("mn", "mn")})
    yield Case((64, 64, 32), ("tf32",), {"a_from": "reg"})
    yield Case((128, 88, 64), ("e4m3", "e5m2"), {"a_from": "reg"})
    yield Case((64, 64, 64), ("s8", "u8"), {"a_from": "reg", "majors": ("mn", "k")})
    yield Case((64, 16, 512), ("b1",), {"a_from": "reg"})
    # layouts of one's own: padded, with holes, in CuTe's words, counted in bytes
    padded = parse("S[((16, 8), (8, 8)) : ((64, 8), (1032, 1))]")
    holes = parse("Swizzle<3,3,3> o S[((16, 8), (2, 64)) : ((1536, 64), (512, 1))]")
    yield Case((128, 64, 64), ("bf16",), {"layouts": (padded, None)})
    yield Case((128, 64, 128), ("bf16",), {"layouts": (holes, None)})
    yield Case((128, 128, 128), ("f16",), {"layouts": (holes, holes)})
    turned = parse("Sw<2,3,3> o _0 o ((32,4),(8,8)):((_1,_256),(_32,_1024))", dialect="cute")
    in_bytes = parse("Swizzle<1,4,3> o S[(64, (4, 16)) : (32, (2048, 2))]", unit="byte")
    yield Case((128, 64, 64), ("f16",), {"layouts": (turned, in_bytes)})
    moved = parse("O[192@m] o Swizzle<3,3,3> o S[(64, 64) : (64, 1)]")  # read with base offset 3
    further = parse("Swizzle<2,3,3> o (S[(96, 32) : (32, 1)] + 1280)")
    yield Case((64, 64, 64), ("bf16",), {"layouts": (moved, moved)})
    yield Case((64, 96, 32), ("f16",), {"layouts": (None, further)})


CASES = tuple(_cases())


def random_cases(count: int, seed: int) -> Iterator[Case]:
    """Tiles of all kinds; what does not exist or does not fit is drawn again."""
    draw = random.Random(seed)
    while count:
        one = draw.choice(list(INPUTS.values()))
        partner = draw.choice(one.partners)
        depth = draw.choice((1, 1, 2, 3, 4, 4, 8))
        a_from = draw.choice(("smem", "smem", "reg"))
        majors = tuple(draw.choice(one.majors) for _ in "AB")
        if a_from == "reg" and one.dtype.bits >= 8:
            majors = draw.choice(("k", "mn")), majors[1]
        modes = tuple(draw.choice((None, *MODES)) for _ in "AB")
        asked = {
            "accumulator": draw.choice(one.accumulators),
            "majors": majors,
            "modes": (None if a_from == "reg" else modes[0], modes[1]),
            "orders": tuple(draw.choice(("mn", "k")) for _ in "AB"),
            "a_from": a_from,
        }
        tile = 64 * draw.choice((1, 1, 2, 3, 4, 6, 8)), draw.choice(one.n), one.k * depth
        case = Case(tile, (one.name, partner), asked)
        try:
            case.plan  # noqa: B018 - asked for its refusals
        except Refused:
            continue
        count -= 1
        yield case
