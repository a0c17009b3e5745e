"""How tiles come to shared memory, plainly or by cp.async."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emit.mma.operands import Operand
from tilewise.emit.mma.plan import Plan
from tilewise.emit.parts.copies import copies, place_of
from tilewise.emit.parts.template import filled


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a kernel that bring the tiles of A and B to shared memory."""

    places: tuple[str, ...]
    """Functions of the layouts."""
    head: str
    """cp.async as functions."""
    before: str
    """Before the loop over K."""
    arrive: str
    """In the loop: the tile is there when it ends."""
    again: str
    """In the loop, after the tile was multiplied."""
    there: str = ""
    """Until the next tile is there; where fragments are loaded ahead."""
    onward: str = ""
    """The load of a later tile."""


FETCH = """\
// $width bytes from global to shared memory, on their way until they are waited for.
__device__ __forceinline__ void fetch_$width(unsigned to, const void *from)
{
    asm volatile("cp.async.$cached.shared.global [%0], [%1], $width;" :: "r"(to), "l"(from) : "memory");
}
"""

MOVE = "fetch_$width($to + $width * $place, from);"

ARRIVE_PLAINLY = """\
$copies
__syncthreads(); // the tile is there"""

ARRIVE = """\
$copies
asm volatile("cp.async.wait_all;" ::: "memory");
__syncthreads(); // the tile is there"""

AGAIN = "__syncthreads(); // every warp has read the tile: it may be overwritten"

BEFORE = """\

// Tiles are on their way, $ahead of them, while another is multiplied.
const auto load = [&](unsigned t) {
    const unsigned to = base + t % $stages * $stage_bytes;
    $copies
};
#pragma unroll
for (unsigned t = 0; t < $ahead; ++t) {
    if (t < tiles)
        load(t);
    asm volatile("cp.async.commit_group;" ::: "memory"); // a group for each tile, for none as well
}
"""

THERE = """\
asm volatile("cp.async.wait_group $behind;" ::: "memory");
__syncthreads(); // the next tile is there, and every warp has read the one before"""

ONWARD = """\
if (t + $ahead < tiles)
    load(t + $ahead);
asm volatile("cp.async.commit_group;" ::: "memory");"""


def parts_of(plan: Plan) -> Parts:
    """The loads of both operands."""
    own = plan.a, plan.b
    places = tuple(place_of(each, each.width).code for each in own)
    copied = "\n".join(_copied(plan, each) for each in own)
    slots = {
        "copies": copied,
        "stages": plan.stages,
        "stage_bytes": plan.stage_bytes,
        "ahead": plan.stages - 1,
        "behind": plan.stages - 2,
    }
    if plan.load == "copy":
        return Parts(places, "", "", filled(ARRIVE_PLAINLY, slots), AGAIN)
    head = "\n".join(_fetch(width) for width in sorted({each.width for each in own}, reverse=True))
    if plan.stages == 1:
        return Parts(places, head, "", filled(ARRIVE, slots), AGAIN)
    there, onward = filled(THERE, slots), filled(ONWARD, slots)
    return Parts(places, head, filled(BEFORE, slots), f"{there}\n{onward}", "", there, onward)


def _fetch(width: int) -> str:
    return filled(FETCH, {"width": width, "cached": "cg" if width == 16 else "ca"})


def _copied(plan: Plan, own: Operand) -> str:
    offset = plan.offsets[own.name]
    if plan.load == "copy":
        to = f"(shared + {offset})" if offset else "shared"
        return copies(own, plan.threads, to, width=own.width, by_lines=True)
    to = "base" if plan.stages == 1 else "to"
    to = f"{to} + {offset}" if offset else to
    return copies(own, plan.threads, to, width=own.width, move=MOVE, unrolled="", by_lines=True)
