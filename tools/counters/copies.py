"""Asynchronous copies as cases: where each lane copies from, and where it copies to, both drawn apart.

A warp copies once, or a given number of times, and waits after each copy. The first copy of a launch
finds nothing in the L1; all later ones find their bytes there.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import WAVEFRONT

WINDOW = 32 * 1024
"""Bytes of shared memory, and of global memory, that a copy can ask for."""

NOBODY = 0xFFFFFFFF
"""The address of a lane that is not active."""

OFTEN = 64
"""The copies of the second launch of each case."""

FORMS = {
    "copy_4": "cp.async.ca.shared.global [%0], [%1], 4;",
    "copy_8": "cp.async.ca.shared.global [%0], [%1], 8;",
    "copy_16": "cp.async.ca.shared.global [%0], [%1], 16;",
    "bypass_16": "cp.async.cg.shared.global [%0], [%1], 16;",
    "fill_4": "cp.async.ca.shared.global [%0], [%1], 4, %2;",
    "fill_8": "cp.async.ca.shared.global [%0], [%1], 8, %2;",
}
"""The forms by the kernel's name; those that fill have the number of bytes that are read."""

Dice = random.Random
SEED = 11

_HEAD = f"""
struct Request {{
    unsigned to[{LANES}];
    unsigned from[{LANES}];
    unsigned size[{LANES}];
    unsigned times;
}};
"""

_KERNEL = f"""
extern "C" __global__ void __launch_bounds__({LANES}) {{name}}(
    const __grid_constant__ Request request, const unsigned char* global) {{{{
    extern __shared__ __align__(1024) unsigned char window[];
    const unsigned lane = threadIdx.x, to = request.to[lane];
    if (to == {NOBODY:#x}u) return;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(window)) + to;
    const unsigned char* from = global + request.from[lane];
    const unsigned size = request.size[lane];
#pragma unroll 1
    for (unsigned i = 0; i < request.times; ++i)
        asm volatile("{{form}}\\n\\tcp.async.wait_all;" :: "r"(at), "l"(from), "r"(size) : "memory");
}}}}
"""


def source() -> str:
    """Return CUDA C++ of a kernel for each form."""
    return _HEAD + "".join(_KERNEL.format(name=name, form=form) for name, form in FORMS.items())


@dataclass(frozen=True, slots=True)
class Copy:
    """One instruction's copies of one warp."""

    form: str
    family: str
    to: tuple[int | None, ...]
    """Bytes from a multiple of 1,024 in shared memory, one a lane; None where the lane is not active."""
    source: tuple[int, ...]
    """Bytes from a multiple of 256 in global memory."""
    sizes: tuple[int, ...] = (0,) * LANES
    """Bytes that are read, of copies that fill with zeros."""

    @property
    def bytes(self) -> int:
        """Bytes that a lane copies."""
        return int(self.form.rpartition("_")[2])

    def launch(self, code: str, times: int) -> dict[str, Any]:
        """Return it as JSON for the program under the profiler."""
        to = [NOBODY if a is None else a for a in self.to]
        request = struct.pack(f"<{3 * LANES + 1}I", *to, *self.source, *self.sizes, times)
        args = [
            {"type": "bytes", "hex": request.hex()},
            {"type": "ptr", "dtype": "u8", "elements": WINDOW},
        ]
        sizes = {"grid": [1, 1, 1], "block": [LANES, 1, 1], "shared": WINDOW}
        return {"name": "copies", "code": code, "kernel": self.form, **sizes, "args": args}


# -- addresses of one side, in elements --------------------------------------------------------------------

Draw = Callable[[int, Dice], list[int]]
"""An element's number for each lane; the first number is the bytes of an element."""


def _permuted(within: int) -> Draw:
    def draw(bytes: int, dice: Dice) -> list[int]:
        found = []
        for start in range(0, LANES, within):
            found += dice.sample(range(start, start + within), within)
        return found

    return draw


def _strided(stride: int) -> Draw:
    return lambda bytes, dice: [stride * lane for lane in range(LANES)]


def _shared(count: int) -> Draw:
    """So many neighbours have one element."""
    return lambda bytes, dice: [lane // count for lane in range(LANES)]


def _repeated(count: int) -> Draw:
    """Return a pattern in which every count-th lane has the same element."""
    return lambda bytes, dice: [lane % count for lane in range(LANES)]


def _rows(pitch: int, width: int) -> Draw:
    """Rows of so many elements at a pitch."""
    return lambda bytes, dice: [pitch * (lane // width) + lane % width for lane in range(LANES)]


def _columns(pitch: int, height: int) -> Draw:
    """Columns of so many elements at a pitch."""
    return lambda bytes, dice: [pitch * (lane % height) + lane // height for lane in range(LANES)]


def _among(span: int) -> Draw:
    """Return any elements of the first so many bytes."""
    return lambda bytes, dice: [dice.randrange(span // bytes) for _ in range(LANES)]


def _lines(count: int) -> Draw:
    """Return any elements of so many lines of 128 bytes that lie apart."""

    def draw(bytes: int, dice: Dice) -> list[int]:
        lines = dice.sample(range(WINDOW // WAVEFRONT), count)
        each = WAVEFRONT // bytes
        return [dice.choice(lines) * each + dice.randrange(each) for _ in range(LANES)]

    return draw


def _banks(count: int) -> Draw:
    """Return any elements whose first word is in one of so many banks."""

    def draw(bytes: int, dice: Dice) -> list[int]:
        each = WAVEFRONT // bytes
        picked = dice.sample(range(each), min(count, each))
        return [dice.choice(picked) + each * dice.randrange(16) for _ in range(LANES)]

    return draw


def _moved(draw: Draw, by: int) -> Draw:
    return lambda bytes, dice: [at + by for at in draw(bytes, dice)]


def _backwards(bytes: int, dice: Dice) -> list[int]:
    return list(range(LANES))[::-1]


SIDES: dict[str, Draw] = {
    "in a row": _strided(1),
    "backwards": _backwards,
    **{f"permuted in {n}": _permuted(n) for n in (2, 4, 8, 16, 32)},
    **{f"stride {n}": _strided(n) for n in (2, 3, 4, 5, 8, 9, 16, 17, 32, 33)},
    **{f"{n} share": _shared(n) for n in (2, 4, 8, 32)},
    **{f"{n} repeated": _repeated(n) for n in (2, 8, 16)},
    "rows of 8": _rows(32, 8),
    "rows of 4": _rows(33, 4),
    "columns of 4": _columns(32, 4),
    "columns of 8": _columns(36, 8),
    "moved by 1": _moved(_strided(1), 1),
    "moved by 5": _moved(_strided(1), 5),
    "among 128 bytes": _among(128),
    "among 512 bytes": _among(512),
    "anywhere": _among(WINDOW),
    "2 lines": _lines(2),
    "4 lines": _lines(4),
    "8 lines": _lines(8),
    "2 banks": _banks(2),
    "8 banks": _banks(8),
}
"""Families of the addresses of one side, by name."""

MASKS = (0xFFFF, 0xFFFF0000, 0x55555555, 0x0F0F0F0F, 0x00FF00FF, 0x1, 0x80000001)


def cases(seed: int = SEED) -> list[Copy]:
    """Return all cases of a seed, always the same, those of 4 and 8 bytes first.

    >>> sum(case.bytes < 16 for case in cases()) >= 400
    True
    """
    found: dict[Copy, None] = {}
    for form in FORMS:
        for case in _of_form(form, seed):
            found.setdefault(case)
    return list(found)


def _of_form(form: str, seed: int) -> Iterator[Copy]:
    dice = random.Random(f"{seed} {form}")
    names = list(SIDES)
    few = form.endswith("_16") or form.startswith("fill")
    for name in names[:: 3 if few else 1]:
        yield _case(form, name, "in a row", dice)
        yield _case(form, "in a row", name, dice)
    for _ in range(20 if few else 110):
        yield _case(form, dice.choice(names), dice.choice(names), dice)
    for mask in (*MASKS, *(dice.getrandbits(LANES) | 1 for _ in range(5 if few else 25))):
        case = _case(form, dice.choice(names), dice.choice(names), dice)
        to = tuple(at if mask >> lane & 1 else None for lane, at in enumerate(case.to))
        yield Copy(form, f"{case.family}, masked", to, case.source, case.sizes)


def _case(form: str, to: str, source: str, dice: Dice) -> Copy:
    bytes = int(form.rpartition("_")[2])
    sizes = (0,) * LANES
    if form.startswith("fill"):
        sizes = tuple(dice.choice((0, bytes, bytes)) for _ in range(LANES))
    sides = [tuple(at * bytes % WINDOW for at in SIDES[name](bytes, dice)) for name in (to, source)]
    return Copy(form, f"{to} from {source}", sides[0], sides[1], sizes)
