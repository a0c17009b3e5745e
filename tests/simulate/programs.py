"""A thousand programs for a device and for the model: what each is given, and what it leaves.

A program is one instruction or one copy on random bytes, or a chain of them, a tile's whole way. All of it
follows from its number: parameters by `random.Random`, bytes by SHAKE-256, which are the same everywhere.
`inputs` is what a device is given; `models.expected` what the model leaves there, in the device's form.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from tools.questions.boxes import at_random as boxes_at_random
from tools.questions.boxes import every_corner
from tools.questions.products import dense

from tilewise.core.dtypes import DType
from tilewise.gpu.verify.tma import MARGIN, BoxLoad
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form
from tilewise.hardware.mma.instructions import Instruction
from tilewise.hardware.modes import MODES
from tilewise.hardware.tma.rules import violations
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS, Input
from tilewise.simulate.numbers import decode
from tilewise.simulate.wgmma import Wgmma, places

Array = np.ndarray[Any, Any]

SEED = 6
BASE = 1024
"""The address at which dynamic shared memory begins."""

IMAGE = 48 * 1024
"""Bytes of shared memory that wgmma reads."""

MATRIX_BYTES = 32 * 1024
POISON = 0xA5
THREADS = 128


def stream(label: str, count: int) -> Array:
    """So many bytes that follow from a label."""
    return np.frombuffer(hashlib.shake_256(f"{SEED} {label}".encode()).digest(count), np.uint8)


# -- numbers -----------------------------------------------------------------------------------------

WHOLE, FLOAT, WIDE = "whole", "float", "wide"
"""Whole numbers whose sums are exact; numbers from 2^-6 to 2^6; all finite ones."""

EXPONENTS = {"f32": (8, 23, 127), "tf32": (8, 23, 127), "f64": (11, 52, 1023)}


def codes(label: str, count: int, dtypes: tuple[str, ...], data: str) -> Array:
    """The codes of so many elements, which all of the types read as such numbers."""
    bits = DType.of(dtypes[0]).bits
    if dtypes[0] in EXPONENTS:
        return _long_codes(label, count, dtypes[0], data)
    if dtypes[0] not in ("f16", "bf16", "e4m3", "e5m2"):
        return _cut(stream(label, -(-count * bits // 8)), bits)[:count]
    allowed = _allowed(dtypes, data)
    return allowed[stream(label, 2 * count).view("<u2") % len(allowed)]


@cache
def _allowed(dtypes: tuple[str, ...], data: str) -> Array:
    every = np.arange(1 << DType.of(dtypes[0]).bits)
    fits = np.ones(len(every), bool)
    for dtype in dtypes:
        numbers = decode(every, dtype)
        size = np.abs(np.where(np.isfinite(numbers), numbers, np.inf))
        fits &= {
            WHOLE: (size <= 8) & (np.where(np.isfinite(numbers), numbers, 0.5) % 1 == 0),
            FLOAT: (size == 0) | (size >= 2.0**-6) & (size <= 2.0**6),
            WIDE: np.isfinite(size),
        }[data]
    return every[fits].astype(np.uint64)


def _long_codes(label: str, count: int, dtype: str, data: str) -> Array:
    """Codes of 32 and of 64 bits: whole numbers, or any fraction with an exponent of a range."""
    exponent, mantissa, bias = EXPONENTS[dtype]
    kind, whole = ("<f8", "<u8") if dtype == "f64" else ("<f4", "<u4")
    raw = stream(label, 8 * count).view("<u8")
    if data == WHOLE:
        found = ((raw % 17).astype(np.int64) - 8).astype(kind).view(whole).astype(np.uint64)
        unread = np.uint64((1 << 13) - 1 if dtype == "tf32" else 0)
        return found | raw >> np.uint64(16) & unread
    low, high = (bias - 6, bias + 6) if data == FLOAT else (0, (1 << exponent) - 2)
    chosen = raw % np.uint64(high - low + 1) + np.uint64(low)
    rest = stream(f"{label} fraction", 8 * count).view("<u8")
    sign = rest >> np.uint64(63) << np.uint64(exponent + mantissa)
    return sign | chosen << np.uint64(mantissa) | rest & np.uint64((1 << mantissa) - 1)


def _cut(data: Array, bits: int) -> Array:
    if bits >= 8:
        return data[: len(data) // (bits // 8) * (bits // 8)].view(f"<u{bits // 8}").astype(np.uint64)
    each = 8 // bits
    parts = [data >> bits * place & (1 << bits) - 1 for place in range(each)]
    return np.stack(parts, axis=-1).reshape(-1).astype(np.uint64)


def joined(codes: Array, bits: int) -> Array:
    """Codes as 32-bit words, the first in the lowest bits."""
    if bits >= 8:
        return np.ascontiguousarray(codes.astype(f"<u{bits // 8}")).view("<u4")
    each = 8 // bits
    parts = codes.reshape(-1, each).astype(np.uint8)
    whole = np.zeros(len(parts), np.uint8)
    for place in range(each):
        whole |= parts[:, place] << np.uint8(bits * place)
    return whole.view("<u4")


# -- products ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """A wgmma, or an mma.sync: on registers, on descriptors."""

    number: int
    this: Wgmma | Instruction
    data: str

    @property
    def label(self) -> str:
        return f"program {self.number}"

    @property
    def exact(self) -> bool:
        """Return whether there is nothing to round."""
        return self.this.d == "s32" or self.data == WHOLE

    @property
    def reads(self) -> tuple[str, ...]:
        """The types that its elements are read as."""
        return tuple(dict.fromkeys((self.this.a, self.this.b)))

    def words(self, name: str, lanes: int, registers: int, dtypes: tuple[str, ...]) -> Array:
        """[lane, register]: an operand on random numbers."""
        bits = DType.of(dtypes[0]).bits
        found = codes(f"{self.label} {name}", lanes * registers * 32 // bits, dtypes, self.data)
        return joined(found, bits).reshape(lanes, registers)


@dataclass(frozen=True)
class WgmmaProgram(Product):
    """One wgmma on an image of shared memory."""

    a: Descriptor | None
    """None: from registers."""
    b: Descriptor
    scale: bool

    def __str__(self) -> str:
        return f"wgmma {self.this} {self.data}, A {self.a or 'registers'}, B {self.b}, scale-d {self.scale}"

    @property
    def shape(self) -> tuple[int, ...]:
        return THREADS, self.this.registers

    def inputs(self) -> dict[str, Array]:
        """`image`, and the registers of A and of D before."""
        bits = DType.of(self.this.a).bits
        image = joined(codes(f"{self.label} image", IMAGE * 8 // bits, self.reads, self.data), bits)
        a = self.words("a", THREADS, 4, self.reads)
        return {"image": image, "a": a, "c": self.words("c", *self.shape, (self.this.d,))}


@dataclass(frozen=True)
class MmaProgram(Product):
    """One mma.sync on random registers."""

    def __str__(self) -> str:
        return f"{self.this} {self.data}"

    @property
    def sizes(self) -> dict[str, int]:
        """32-bit registers of a lane, by operand."""
        from tilewise.gpu.verify.mma import MmaCase

        probe = MmaCase(self.this).probe
        return {name: getattr(probe, name).registers for name in "abcd"}

    @property
    def shape(self) -> tuple[int, ...]:
        return LANES, self.sizes["d"]

    def inputs(self) -> dict[str, Array]:
        """The registers of A, B and C."""
        types = {"a": self.this.a, "b": self.this.b, "c": self.this.c}
        return {name: self.words(name, LANES, self.sizes[name], (types[name],)) for name in types}


# -- movement ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatrixProgram:
    """One ldmatrix or stmatrix."""

    number: int
    form: Form

    exact = True

    def __str__(self) -> str:
        return f"{self.form} at {self.inputs()['addresses'].tolist()}"

    @property
    def loads(self) -> bool:
        return self.form.instruction == "ldmatrix"

    @property
    def shape(self) -> tuple[int, ...]:
        return (LANES, self.form.registers) if self.loads else (MATRIX_BYTES // 4,)

    def inputs(self) -> dict[str, Array]:
        """The addresses, and the bytes of shared memory or of registers."""
        dice = random.Random(f"{SEED} matrices {self.number}")
        rows = MATRIX_BYTES // 16
        span = dice.choice((32, 64, 512, rows))
        first = dice.randrange(rows - span + 1)
        picked = dice.sample(range(span), LANES)
        if self.loads and dice.random() < 0.3:
            picked = [dice.randrange(span) for _ in range(LANES)]
        size = MATRIX_BYTES if self.loads else LANES * self.form.registers * 4
        content = stream(f"matrices {self.number}", size).view("<u4")
        return {"addresses": np.array([16 * (first + row) for row in picked], np.uint32), "content": content}


@dataclass(frozen=True)
class CopyProgram:
    """One TMA load or store of a box."""

    number: int
    verb: str
    box: BoxLoad

    exact = True

    def __str__(self) -> str:
        return f"TMA {self.verb} {self.box}"

    @property
    def origin(self) -> int:
        """The byte of the buffer at which the tensor begins."""
        return MARGIN * self.box.bytes_each

    @property
    def global_bytes(self) -> int:
        """Bytes of the buffer, with a margin on both sides."""
        return 2 * self.origin + self.box.shape[0] * self.box.strides[0] * self.box.bytes_each

    @property
    def window(self) -> int:
        """Bytes of shared memory that are watched, from a multiple of 1,024 on."""
        return self.box.window

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.window if self.verb == "load" else self.global_bytes,)

    def inputs(self) -> dict[str, Array]:
        """The bytes of the buffer, or of shared memory; what is written to is poisoned."""
        size = self.global_bytes if self.verb == "load" else self.window
        return {"content": stream(f"copy {self.number}", size)}


LANDS, LEAVES = 0, 8192
"""Where a chain has its first tile in shared memory, and where its second."""

CHAIN_BYTES = LEAVES + 512


@dataclass(frozen=True)
class ChainProgram:
    """TMA load, ldmatrix of A and B, mma.sync, stmatrix, TMA store, of f16: by any addresses in the tiles."""

    number: int
    trans: bool
    arriving: CopyProgram
    leaving: CopyProgram

    exact = True
    words = "m16n8k16.row.col.f16.f16.f16.f16"

    def __str__(self) -> str:
        return f"chain, trans {self.trans}: {self.arriving}, {self.leaving}"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shared memory, and the tensor that was stored to."""
        return (CHAIN_BYTES + self.leaving.global_bytes,)

    def inputs(self) -> dict[str, Array]:
        """The tensor's bytes; the addresses of A, B and D, one a lane; C's registers."""
        label, dice = f"chain {self.number}", random.Random(f"{SEED} chain {self.number}")
        content = joined(codes(label, self.arriving.global_bytes // 2, ("f16",), WHOLE), 16)
        chunks = range(LANDS, LANDS + self.arriving.box.bytes, 16)
        rows = [[dice.choice(chunks) for _ in range(LANES)] for _ in range(2)]
        rows.append(dice.sample(range(LEAVES, LEAVES + 256, 16), 16) + [LEAVES] * 16)
        c = joined(codes(f"{label} c", 4 * LANES, ("f16",), WHOLE), 16)
        return {"content": content, "rows": np.array(rows, np.uint32), "c": c.reshape(LANES, 2)}


Program = WgmmaProgram | MmaProgram | MatrixProgram | CopyProgram | ChainProgram


# -- a thousand --------------------------------------------------------------------------------------

COUNTS = {"wgmma": 320, "mma": 300, "ldmatrix": 110, "stmatrix": 110, "load": 100, "store": 100}
COUNTS["chain"] = 60
INSTRUCTIONS = 64
"""Different wgmma instructions: each is compiled once."""


@cache
def programs(most: int = 1 << 30) -> tuple[Program, ...]:
    """All programs, or so many of each sort."""
    found: list[Program] = []
    for sort, count in COUNTS.items():
        found += _SORTS[sort](len(found), min(count, most), random.Random(f"{SEED} {sort}"))
    return tuple(found)


def sort_of(program: Program) -> str:
    """`wgmma`, `mma`, `ldmatrix`, `stmatrix`, `load`, `store` or `chain`."""
    if isinstance(program, ChainProgram):
        return "chain"
    if isinstance(program, CopyProgram):
        return program.verb
    if isinstance(program, MatrixProgram):
        return program.form.instruction
    return "wgmma" if isinstance(program, WgmmaProgram) else "mma"


def _wgmmas(first: int, count: int, dice: random.Random) -> list[Program]:
    drawn = list(_instructions(dice))
    found = []
    for at in range(count):
        this = drawn[at % len(drawn)]
        registers = this.a_major == "k" and dice.random() < 0.3
        a = None if registers else _descriptor(this, "A", dice)
        b = _descriptor(this, "B", dice)
        data = dice.choice((WHOLE, WHOLE, FLOAT, FLOAT, WIDE))
        found.append(WgmmaProgram(first + at, this, data, a, b, dice.random() < 0.7))
    return found


def _instructions(dice: random.Random) -> Iterator[Wgmma]:
    """Different ones: every pair of types, then any."""
    rows = [(row, other, d) for row in INPUTS.values() for other in row.partners for d in row.accumulators]
    seen: set[Wgmma] = set()
    at = 0
    while len(seen) < INSTRUCTIONS:
        row, other, d = rows[at % len(rows)]
        at += 1
        n = dice.choice((8, 8, 16, 16, 24, 32, 32, 64, 96, 128, 256) if at < 50 else (8, 16, 32, 64))
        majors = [dice.choice(Input.of(name).majors) for name in (row.name, other)]
        floats = d != "s32"
        this = Wgmma(
            row.name,
            other,
            d,
            n,
            *majors,
            negate_a=floats and dice.random() < 0.3,
            negate_b=floats and dice.random() < 0.3,
            saturate=row.name in ("s8", "u8") and dice.random() < 0.5,
        )
        if this not in seen:
            seen.add(this)
            yield this


def _descriptor(this: Wgmma, operand: str, dice: random.Random) -> Descriptor:
    """Any that reads the image alone, usual or odd."""
    while True:
        most = dice.choice((512, 1024, 2048, 4096))
        lbo, sbo = (16 * dice.randrange(most // 16) for _ in range(2))
        if dice.random() < 0.5:
            lbo, sbo = (dice.choice((16, 128, 256, 512, 1024, 2048)) for _ in range(2))
        align = dice.choice((16, 128, 1024))
        start = BASE + align * dice.randrange(IMAGE // align // 2)
        offset = dice.choice((0, 0, 0, dice.randrange(8)))
        found = Descriptor(start, lbo, sbo, MODES[dice.choice(list(MODES))], offset)
        read = places(this, operand, found)
        if read.min() >= BASE and read.max() < BASE + IMAGE - 16:
            return found


def _mmas(first: int, count: int, dice: random.Random) -> list[Program]:
    every = [case.instruction for case in dense()]
    kinds = (WHOLE, FLOAT, WIDE, FLOAT, WHOLE)
    return [
        MmaProgram(first + at, every[at % len(every)], kinds[at // len(every) % len(kinds)])
        for at in range(count)
    ]


def _matrices(instruction: str) -> Any:
    forms = [Form(instruction, count, trans) for count in (1, 2, 4) for trans in (False, True)]

    def drawn(first: int, count: int, dice: random.Random) -> list[Program]:
        return [MatrixProgram(first + at, forms[at % len(forms)]) for at in range(count)]

    return drawn


def _copies(verb: str) -> Any:
    def drawn(first: int, count: int, dice: random.Random) -> list[Program]:
        boxes = [*every_corner(SEED), *boxes_at_random(SEED, 400)]
        dice.shuffle(boxes)
        small = [box for box in boxes if _legal(box, verb)]
        found = [CopyProgram(first + at, verb, box) for at, box in enumerate(small[:count])]
        assert len(found) == count, len(found)
        return found

    return drawn


MOST_GLOBAL, MOST_WINDOW = 1 << 18, 1 << 15


def _legal(box: BoxLoad, verb: str) -> bool:
    program, stores = CopyProgram(0, verb, box), verb == "store"
    where = {"shared": box.start, "coordinates": box.corner[::-1], "stores": stores}
    broken = violations(box.tensor_map, program.origin, **where)
    stepped = stores and set(box.element_strides) != {1}
    return not broken and not stepped and program.global_bytes <= MOST_GLOBAL and box.window <= MOST_WINDOW


def _chains(first: int, count: int, dice: random.Random) -> list[Program]:
    found: list[Program] = []
    for at in range(count):
        mode = MODES[dice.choice(("32B", "64B", "128B"))]
        arriving = _tile(first + at, "load", dice, mode.name, (32, mode.width // 2), LANDS)
        rows = dice.choice((2, 4, 8, 16))
        name = {2: "128B", 4: "64B", 8: "32B", 16: "none"}[rows]
        leaving = _tile(first + at, "store", dice, name, (rows, 128 // rows), LEAVES)
        found.append(ChainProgram(first + at, at % 2 == 1, arriving, leaving))
    return found


def _tile(
    number: int, verb: str, dice: random.Random, mode: str, box: tuple[int, int], start: int
) -> CopyProgram:
    """A copy of 16-bit elements that may reach out of its tensor; its rows are as wide as the swizzle."""
    shape = (box[0] + dice.randrange(9), box[1] + 8 * dice.randrange(3))
    before, behind = -8 if box[1] > 8 else 0, 8 if shape[1] > 8 else 0
    corner = (dice.randrange(1 - min(box[0], 4), shape[0]), dice.choice((before, 0, behind)))
    if verb == "store":
        corner = (max(0, corner[0]), max(0, corner[1]))
    return CopyProgram(number, verb, BoxLoad("u16", mode, shape, box, corner, start))


_SORTS = {
    "chain": _chains,
    "wgmma": _wgmmas,
    "mma": _mmas,
    "ldmatrix": _matrices("ldmatrix"),
    "stmatrix": _matrices("stmatrix"),
    "load": _copies("load"),
    "store": _copies("store"),
}
