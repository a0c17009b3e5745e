"""Loads and stores of tensor memory as CUDA C++: device functions on 32-bit registers, without headers.

All instructions of a round stand in one statement with the wait for them. No register is used
before its value is there.
"""

from __future__ import annotations

import re

from tilewise.check.tensor_memory import Plan
from tilewise.check.tensor_memory.ways import Move, Way
from tilewise.check.tensor_memory.words import Warpgroups
from tilewise.codegen.names import checked
from tilewise.core.errors import LayoutError
from tilewise.core.integers import spans
from tilewise.hardware.limits import LANES as THREADS
from tilewise.hardware.tcgen05.addresses import LANE_SHIFT, WARP_LANES, WARPS, Address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WARP_SHIFT = LANE_SHIFT + WARP_LANES.bit_length() - 1
"""Bits by which the number of a warp is shifted in an address."""

WIDTH = 100
"""Longest line of an instruction."""


def cuda_source(plan: Plan, name: str = "") -> str:
    """Return the fitting way, or the way of the fewest instructions, as a function for each round.

    `d` is the address of the data in tensor memory. `warp` is the number of the warp in its warpgroup, 0 to
    3: its number in the block would name lanes that do not exist. Where warpgroups share the data, `warp` is
    the number in the block, as the fragment counts warpgroups, and each warpgroup begins at other columns.
    All lanes of the warp call it. Register i of the fragment is `to[i]`, or `from[i]` of a store; each of
    several rounds counts from 0.

        requires  a plan with a way

    >>> from tilewise.check.tensor_memory import plan
    >>> from tilewise.hardware.tcgen05.datapaths import DataPath
    >>> print(cuda_source(plan(DataPath.of(64).accumulator(8, slab=1), "f32", form="16x64b")))
    // tcgen05.ld of S[((4, 16), 8) : ((32@TLane, 1@TLane), 1@TCol)] + 16@TLane, f32
    // to S[((4, 2, 8), (4, 2)) : ((1@wid_in_wg, 1@laneid, 4@laneid), (1@reg, 2@laneid))]
    // warp is 0 to 3, its number in the warpgroup: (threadIdx.x / 32) % 4
    __device__ __forceinline__ void load(unsigned d, unsigned warp, unsigned (&to)[4])
    {
        const unsigned at = d + (warp << 21);
        asm volatile(
            "tcgen05.ld.sync.aligned.16x64b.x4.b32 {%0, %1, %2, %3}, [%4];\\n"
            "tcgen05.wait::ld.sync.aligned;"
            : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
            : "r"(at + 0x00100000)
            : "memory");
    }
    """
    way = plan.best
    if way is None:
        raise LayoutError("TW610", "nothing moves it, so there is no code", hint="the plan says why")
    called = checked(name or ("store" if plan.store else "load"), "a function")
    names = plan.fit.registers if plan.fit else tuple(range(way.registers))
    fragment = way.fragment if plan.wanted is None else plan.wanted
    verb, where = ("tcgen05.st", "from") if plan.store else ("tcgen05.ld", "to")
    head = [f"// {verb} of {plan.words.layout}, {plan.words.dtype}", f"// {where} {fragment}"]
    head += [*_spare(plan), _warp(way)]
    rounds = [[move for move in way.moves if move.round == number] for number in range(way.rounds)]
    if len(rounds) == 1:
        return "\n".join([*head, *_function(way, rounds[0], called, dict(enumerate(names)))])
    parts = []
    for number, moves in enumerate(rounds):
        own = sorted(names[at] for move in moves for at in _registers(move))
        slots = {at: own.index(names[at]) for move in moves for at in _registers(move)}
        parts += [f"// Registers {own[0]} to {own[-1]} of it, {len(own)} of them:"]
        parts += _function(way, moves, f"{called}_{number}", slots)
    return "\n".join([*head, *parts])


def _warp(way: Way) -> str:
    """Return the comment on the warps that call it, by their numbers in a warpgroup, or in the block."""
    groups, own = way.words.groups, way.words.warps
    if not groups.apart:
        return f"// warp is {spans(own)}, its number in the warpgroup: (threadIdx.x / {THREADS}) % {WARPS}"
    warps = [WARPS * number + warp for number in groups.numbers for warp in own]
    return (
        f"// warp is {spans(warps)}, its number in the block: threadIdx.x / {THREADS}; "
        f"warp % {WARPS} says its lanes"
    )


def _beginning(groups: Warpgroups) -> str:
    """Return the offset of a warp: its lanes, and the begin of its warpgroup."""
    if not groups.apart:
        return f"(warp << {WARP_SHIFT})"
    first, last = groups.numbers[0], groups.numbers[-1]
    number = f"(warp / {WARPS} - {first})" if first else f"warp / {WARPS}"
    steps = []
    for turn in groups.turns:
        value = number if turn.stride == 1 else f"{number} / {turn.stride}"
        value += "" if turn.stride * turn.extent > last - first else f" % {turn.extent}"
        if turn.lane or turn.column:
            steps.append(f"{value} * {turn.lane << LANE_SHIFT | turn.column:#x}")
    return " + ".join([f"(warp % {WARPS} << {WARP_SHIFT})", *steps])


def _spare(plan: Plan) -> list[str]:
    """Return the comment on loaded registers without a wanted value, which follow the fragment's last."""
    spare = plan.fit.spare if plan.fit else ()
    return [f"// registers {spare[0]} to {spare[-1]} hold nothing that is wanted"] if spare else []


def _registers(move: Move) -> range:
    return range(move.register, move.register + move.registers)


def _function(way: Way, moves: list[Move], name: str, slots: dict[int, int]) -> list[str]:
    """Return the function around the instructions of a round; `slots` maps registers to the array's."""
    array, const = ("from", "const ") if way.store else ("to", "")
    count = max(slots[at] for move in moves for at in _registers(move)) + 1
    texts, held, addresses = _instructions(moves, 0 if not way.store else len(moves))
    letter = "r" if way.store else "=r"
    operands = [f'"{letter}"({array}[{slots[at]}])' for at in held]
    places = [f'"r"({_sum(address)})' for address in addresses]
    wait = f'"tcgen05.wait::{"st" if way.store else "ld"}.sync.aligned;"'
    stored = [f"    :: {_wrapped([*places, *operands])}"]
    bound = stored if way.store else [f"    : {_wrapped(operands)}", f"    : {_wrapped(places)}"]
    return [
        f"__device__ __forceinline__ void {name}"
        f"(unsigned d, unsigned warp, {const}unsigned (&{array})[{count}])",
        "{",
        f"    const unsigned at = d + {_beginning(way.words.groups)};",
        "    asm volatile(",
        *(f'        "{line}"' for text in texts for line in _literals(f"{text};\\n")),
        f"        {wait}",
        *(f"    {line}" for line in bound),
        '        : "memory");',
        "}",
    ]


def _instructions(moves: list[Move], first: int) -> tuple[list[str], list[int], list[Address]]:
    """Return the instructions with operands numbered from `first`, their registers, and their addresses."""
    texts: list[str] = []
    held: list[int] = []
    addresses: list[Address] = []
    total = sum(move.registers for move in moves)
    for number, move in enumerate(moves):
        start, way = first + len(held), move.way
        names = "{" + ", ".join(f"%{start + at}" for at in range(move.registers)) + "}"
        place = f"[%{number if way.store else total + number}]"
        split = "" if way.split is None else f", {way.split}"
        texts.append(
            f"{move.words} {place}{split}, {names}" if way.store else f"{move.words} {names}, {place}{split}"
        )
        held += _registers(move)
        addresses.append(Address(move.lane, move.column))  # for any warp: `at` has its offset
    return texts, held, addresses


def _sum(address: Address) -> str:
    return f"at + {address}" if int(address) else "at"


def _literals(text: str) -> list[str]:
    """Return the parts of a text as literals, one on each line."""
    return _filled(re.findall(r"\S+ ?", text), WIDTH - len('        " "'))


def _wrapped(operands: Iterable[str]) -> str:
    """Return operands with commas between them, on as few lines as possible."""
    *most, last = operands
    lines = _filled([*(f"{operand}, " for operand in most), last], WIDTH - len(BEFORE) - 1)
    return f"\n{BEFORE}".join(line.rstrip() for line in lines)


BEFORE = " " * 10
"""The indent of operands on further lines; on the first, :: takes one more."""


def _filled(parts: Iterable[str], room: int) -> list[str]:
    """Return parts in their order, on as few lines of that width as possible.

    >>> _filled(["{%0, ", "%1, ", "%2}"], 9)
    ['{%0, %1, ', '%2}']
    """
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1] + part.rstrip()) > room:
            lines.append("")
        lines[-1] += part
    return lines
