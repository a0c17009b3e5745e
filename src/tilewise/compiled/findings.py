"""Findings: slow accesses of a kernel, the worst first, with cause, cost, repair and a command.

A finding is weighed by the wavefronts and sectors that its repair would save. The weights only order
findings; no weight is a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np

from tilewise.check import banks
from tilewise.check.access.access import INACTIVE
from tilewise.compiled.commands import step_of
from tilewise.compiled.kernel import ReadKernel, Row
from tilewise.compiled.lines import Line, line_data
from tilewise.compiled.sums import ATOMICS
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import WAVEFRONT, WORD
from tilewise.hardware.memory.sectors import SECTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.compiled.run import Run

WIDEST = 16
"""Bytes that one lane can move at once."""


@dataclass(frozen=True)
class KernelFinding:
    """One thing that a kernel does at a cost which can be saved."""

    kind: str
    line: Line | None
    cause: str
    cost: Mapping[str, int]
    repair: str
    weight: float
    command: str | None = None
    row: Row | None = field(default=None, repr=False, compare=False)
    """The accesses that it tells of, where it tells of some."""
    opens: str | None = None
    """The command that opens its layout in the explorer, where it tells of one."""

    @property
    def explore(self) -> str | None:
        """Return the command that opens the worst request in the explorer, where it is a layout."""
        return self.opens or (self.row.explore if self.row else None)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {
            "kind": self.kind,
            "line": line_data(self.line),
            "cause": self.cause,
            "cost": dict(self.cost),
            "repair": self.repair,
            "command": self.command,
            "explore": self.explore,
        }


def findings_of(kernel: ReadKernel) -> list[KernelFinding]:
    """Return the findings of the accesses of a kernel, the worst first."""
    run = kernel.run
    found = []
    if run is not None:
        found = [replace(one, row=row) for row in kernel.rows for rule in RULES for one in rule(row, run)]
    found += descriptors(kernel)
    if kernel.module is not None:
        found += [*conversions(kernel), *operands(kernel)]
    return sorted(found, key=lambda finding: -finding.weight)


# -- one access ------------------------------------------------------------------------------------------


def conflicts(row: Row, run: Run) -> Iterator[KernelFinding]:
    """Yield the wavefronts beyond the ideal of an access of shared memory."""
    excess = row.cost - row.ideal
    worst = row.worst.worst
    if row.space != "shared" or row.operation in ATOMICS or excess * 8 <= row.ideal or worst is None:
        return
    cost, ideal, addresses = worst
    cause = f"{words_of(row)} takes {cost} wavefronts where {ideal} would do: "
    side = row.worst.worst_side
    if side is not None and side is row.worst.worst_other:
        why = f"{cause}{apart(side, row.bytes)} read the same banks of the L1"
        repair, command = READ_IN_ROWS, row.command
    else:
        why = f"{cause}{apart(addresses, row.bytes)} meet in the same banks"
        repair = cured(row, addresses)
        command = f"{row.command} --phases"
    yield KernelFinding(
        "conflicts",
        row.line,
        why,
        scaled({"wavefronts": row.cost, "ideal": row.ideal, "requests": row.requests}, run),
        repair,
        excess * run.weight,
        command,
    )


READ_IN_ROWS = "let neighbouring lanes copy neighbouring words of global memory"


def cured(row: Row, addresses: Sequence[int | None]) -> str:
    """Return a padding of rows that spreads the words of a request, or the question that finds a swizzle."""
    given = np.array([INACTIVE if one is None else one for one in addresses], np.int64)
    active = given != INACTIVE
    operation = "atom" if row.operation == "red" else row.operation
    for pitch in pitches(addresses):
        for pad in PADS:
            if pad % row.bytes and row.bytes > WORD:
                continue
            padded = np.where(active, given + given // pitch * pad, INACTIVE)[
                None, : row.tallies[0].touch.supplied
            ]
            if not (np.where(active, given % row.bytes, 0) == 0).all():
                continue
            counts = banks.count(operation, row.bytes, padded)
            if counts["wavefronts"][0] <= max(counts["ideal"][0], 1):
                fewer = counts["wavefronts"][0]
                return (
                    f"pad the buffer by {pad} bytes after every {pitch}: the request takes {fewer} "
                    f"wavefront{'s' * int(fewer > 1)}. Or swizzle it: tilewise swizzle says how"
                )
    return "swizzle the buffer: tilewise swizzle LAYOUT --dtype T --access row --access col says how"


PADS = (4, 8, 16, 32, 64)
"""Bytes behind each row that are tried."""


def pitches(addresses: Sequence[int | None]) -> list[int]:
    """Return the lengths that a row of the buffer may have: distances of neighbours, the most frequent first.

    >>> pitches([0, 2048, 4, 2052, 8, 2056])
    [2048, 2044, 128, 256, 512]
    """
    pairs = pairwise(addresses)
    steps = Counter(abs(b - a) for a, b in pairs if a is not None and b is not None and abs(b - a) > WORD)
    return list(dict.fromkeys([*(step for step, _ in steps.most_common(3)), 128, 256, 512]))


def uncoalesced(row: Row, run: Run) -> Iterator[KernelFinding]:
    """Yield the sectors beyond the ideal of an access of global memory."""
    excess = row.cost - row.ideal
    worst = row.worst.worst
    if row.space != "global" or row.operation in ATOMICS or excess * 4 <= row.ideal or worst is None:
        return
    cost, ideal, addresses = worst
    asked, again = row.sum("asked"), row.sum("again")
    step = step_of(addresses)
    active = [one for one in addresses if one is not None]
    if step is not None and abs(step) == row.bytes and min(active) % SECTOR:
        begin = min(active) % SECTOR
        cause = f"{words_of(row)} begins {begin} bytes into a sector: {cost} sectors where {ideal} would do"
        repair = f"begin rows at multiples of {SECTOR} bytes: pad them, or shift the lanes"
    else:
        apart = (
            f"neighbouring lanes are {step} bytes apart" if step is not None else "the lanes are scattered"
        )
        cause = f"{words_of(row)} takes {cost} sectors where {ideal} would do: {apart}"
        repair = "let neighbouring lanes take neighbouring elements: another order of loops or threads, "
        repair += "an array for each field, or a tile in shared memory"
    yield KernelFinding(
        "uncoalesced",
        row.line,
        cause,
        scaled({"sectors": row.cost, "ideal": row.ideal, "requests": row.requests}, run),
        repair,
        (
            excess
            if not asked
            else max(0, excess - row.cost * again // asked) + min(excess, row.cost * again // asked) / 4
        )
        * run.weight,
        row.command,
    )


def narrow(row: Row, run: Run) -> Iterator[KernelFinding]:
    """Yield accesses whose lanes move a few bytes each of a run that is whole."""
    if row.space == "local" or row.operation in (*ATOMICS, "ldmatrix", "stmatrix") or row.bytes >= WIDEST:
        return
    dense = [tally for tally in row.tallies if tally.worst is not None and tally.cost * 4 <= tally.ideal * 5]
    lanes = sum(tally.lanes for tally in dense)
    requests = sum(tally.known for tally in dense)
    if not requests or lanes < requests * LANES * 3 // 4 or row.worst.worst is None:
        return
    if all(step_of(tally.worst[2]) not in (row.bytes, -row.bytes) for tally in dense if tally.worst):
        return
    fewer = -(-lanes * row.bytes // (LANES * WIDEST))
    unit = requests - fewer
    yield KernelFinding(
        "narrow",
        row.line,
        f"{words_of(row)}, where {WIDEST} are possible",
        scaled({"requests": requests, "ideal": fewer}, run),
        f"give each lane {WIDEST // row.bytes} neighbouring elements, aligned to {WIDEST} bytes, "
        "and move them as one vector",
        unit * run.weight / 8,
    )


def local(row: Row, run: Run) -> Iterator[KernelFinding]:
    """Yield accesses of local memory: arrays that registers cannot hold, and spilled registers."""
    if row.space != "local":
        return
    sectors = row.cost or row.requests * LANES * row.bytes // SECTOR
    does = "stores" if row.operation == "st" else "loads"
    yield KernelFinding(
        "local",
        row.line,
        f"each lane {does} {row.bytes} bytes of local memory: an array whose index is not known when it is "
        "compiled, or more live values than registers",
        scaled({"instructions": row.sum("instructions"), "sectors": sectors}, run),
        "unroll the loops that index the array, or keep it in shared memory; spills: fewer live values, or "
        "__launch_bounds__ that leave more registers",
        sectors * run.weight * 2,
    )


def atomics(row: Row, run: Run) -> Iterator[KernelFinding]:
    """Yield atomics of many lanes on few addresses."""
    if row.operation not in ATOMICS:
        return
    lanes = row.sum("lanes")
    places = set().union(*(tally.targets for tally in row.tallies))
    unknown = row.sum("unknown") * LANES
    if places and lanes >= 8 * len(places):
        many = f"{len(places):,} address{'es' if len(places) > 1 else ''}"
        cause = f"{lanes:,} atomics meet on {many}, one after the other"
    elif unknown > lanes:
        cause = (
            f"{unknown:,} atomics go to addresses that hang on data: those that meet go one after the other"
        )
        lanes = unknown
    else:
        return
    yield KernelFinding(
        "atomics",
        row.line,
        cause,
        scaled({"atomics": lanes, "addresses": len(places)}, run),
        "add up in registers first (__shfl_xor_sync, __reduce_add_sync), then in shared memory: "
        "one atomic a block",
        (lanes - len(places)) * run.weight,
    )


def divergence(row: Row, run: Run) -> Iterator[KernelFinding]:
    """Yield accesses for which most lanes of their warps wait."""
    if row.space == "local" or row.operation in (*ATOMICS, "ldmatrix", "stmatrix"):
        return
    idle = [tally for tally in row.tallies if tally.known and tally.lanes * 2 <= tally.known * LANES]
    requests = sum(tally.known for tally in idle)
    warps = -(-run.launch.threads // LANES) * run.sampled
    if requests * 2 < warps or (warps == run.sampled and requests <= 2 * warps):
        return
    lanes = sum(tally.lanes for tally in idle)
    fewest = -(-lanes // LANES)
    yield KernelFinding(
        "divergence",
        row.line,
        f"{words_of(row)} has work for {lanes / requests:.1f} of {LANES} lanes on average: the others wait",
        scaled({"requests": requests, "ideal": fewest}, run),
        "let the threads that work be neighbours, so that whole warps have work or none",
        (requests - fewest) * run.weight,
    )


def redundant(row: Row, run: Run) -> Iterator[KernelFinding]:
    """Yield loads of global memory that ask for the same sectors again and again."""
    if row.space != "global" or row.operation != "ld":
        return
    asked, again = row.sum("asked"), row.sum("again")
    if asked < 8 or again * 4 < asked * 3:
        return
    needed = round(row.cost * (asked - again) / asked)
    had = "all" if again == asked else f"{again:,}"
    yield KernelFinding(
        "redundant",
        row.line,
        f"a block asks for {asked:,} sectors here, and had {had} of them before",
        scaled({"sectors": row.cost, "ideal": needed}, run),
        "keep them: in registers where one thread asks again (a pointer that may alias has to be read anew: "
        "__restrict__), in shared memory where other threads do",
        max(0, min(row.cost, row.ideal) - needed) * run.weight / 4,
    )


# -- engines ---------------------------------------------------------------------------------------------


def descriptors(kernel: ReadKernel) -> Iterator[KernelFinding]:
    """Yield the descriptors of products that break a rule, and words that are no descriptor."""
    for row in kernel.products:
        cost, engine = {"products": row.times}, row.words.engine
        if row.idesc is not None and row.reason:
            command = f"tilewise idesc {row.idesc:#010x} --kind {row.words.kinds[0]}"
            repair = "take the word of a product: tilewise idesc encode makes it"
            yield KernelFinding("descriptor", row.line, row.reason, cost, repair, row.times, command)
        for one in row.operands:
            for fault, word in one.faults().items():
                cause = f"operand {one.letter} of {engine} has the descriptor {word:#018x}: {fault}"
                repair = "take the descriptor of the tile: "
                repair += f"tilewise match LAYOUT --engine {engine} --operand {one.letter} says it"
                bytes, command = one.bytes * row.times, one.command(word)
                whole = cost | {"bytes": bytes}
                yield KernelFinding(
                    "descriptor", row.line, cause, whole, repair, bytes, command, opens=one.explore
                )


# -- Triton's layouts ------------------------------------------------------------------------------------


def conversions(kernel: ReadKernel) -> Iterator[KernelFinding]:
    """Yield the conversions of layouts that go through shared memory."""
    assert kernel.module is not None
    for conversion in kernel.module.conversions():
        if conversion.kind in ("renamed", "selected", ""):
            continue
        times = passes(kernel) if conversion.loops else 1
        blocks = kernel.run.launch.blocks if kernel.run else 1
        wavefronts = 2 * -(-conversion.bytes // WAVEFRONT) * times * blocks
        barriers = times * blocks if conversion.kind != "lanes" else 0
        what = f"{spelled(conversion.source.name)} becomes {spelled(conversion.target.name)}"
        yield KernelFinding(
            "conversion",
            conversion.line,
            f"{what}: {conversion.needs[:1].lower()}{conversion.needs[1:]}",
            {"bytes": conversion.bytes * times * blocks, "wavefronts": wavefronts, "barriers": barriers},
            "let both sides have one layout: load the operand in the layout of its use, convert the narrower "
            "type, or move the operation to the other side of the conversion",
            wavefronts + BARRIER * barriers,
            conversion.command,
        )


def passes(kernel: ReadKernel) -> int:
    """Return how often the loops of a kernel run, as its accesses show it; 1 where nothing was run."""
    if kernel.run is None:
        return 1
    warps = -(-kernel.run.launch.threads // LANES) * kernel.run.sampled
    return max([1, *(tally.instructions // warps for tally in kernel.run.tallies)])


def operands(kernel: ReadKernel) -> Iterator[KernelFinding]:
    """Yield the buffers that an engine reads, and cannot read as they lie."""
    assert kernel.module is not None
    for buffer in kernel.module.buffers():
        for use in buffer.readers:
            if use.able is False:
                yield KernelFinding(
                    "operand",
                    buffer.line,
                    f"{use.engine} cannot read the buffer {buffer.type.name}: {use.said}",
                    {"bytes": buffer.bytes},
                    "another encoding of the buffer: tilewise suggest names the tiles that the engine reads",
                    float(buffer.bytes),
                )


BARRIER = 64
"""The weight of a barrier beside wavefronts."""


def spelled(encoding: str) -> str:
    """Return an encoding in few words.

    >>> spelled("#ttg.slice<{dim = 1, parent = #mma}>")
    'slice(1, #mma)'
    """
    found = re.fullmatch(r"#\w+\.slice<\{dim = (\d+), parent = (.*)\}>", encoding)
    if found:
        return f"slice({found[1]}, {spelled(found[2])})"
    found = re.fullmatch(r"#\w+\.dot_op<\{opIdx = (\d), parent = (#\w+).*\}>", encoding)
    return f"operand {'AB'[int(found[1])]} of {found[2]}" if found else encoding


RULES: Sequence[Callable[[Row, Run], Iterator[KernelFinding]]] = (
    conflicts,
    uncoalesced,
    narrow,
    local,
    atomics,
    divergence,
    redundant,
)

KINDS = (*(rule.__name__ for rule in RULES), "descriptor", "conversion", "operand")
"""The kinds of findings; those of TTGIR among them."""


# -- words -----------------------------------------------------------------------------------------------

NAMES = {
    "ld": "a load",
    "st": "a store",
    "cp.async": "a copy",
    "ldmatrix": "an ldmatrix",
    "stmatrix": "an stmatrix",
}


def words_of(row: Row) -> str:
    """Return an access in words: `a load of 4 bytes a lane`."""
    name = NAMES.get(row.operation, "an atomic")
    if row.operation in ("ldmatrix", "stmatrix"):
        return f"{name} of {row.tallies[0].touch.supplied} rows"
    return f"{name} of {row.bytes} bytes a lane"


def usual_step(addresses: Sequence[int | None]) -> int | None:
    """Return the distance between most neighbouring lanes, where three in four have one.

    >>> usual_step([0, 64, 128, 192, 4, 68, 132, 196]), usual_step([0, 4, 0, 8])
    (64, None)
    """
    pairs = pairwise(addresses)
    steps = Counter(b - a for a, b in pairs if a is not None and b is not None)
    step, often = next(iter(steps.most_common(1)), (0, 0))
    return step if step and often * 4 >= steps.total() * 3 else None


def apart(addresses: Sequence[int | None], bytes: int) -> str:
    """Return how the lanes of a request lie that meet in banks, as the subject of a sentence.

    >>> apart([0, 64, 128, 192], 4), apart([0, 4, 128, 132, 256, 260], 4)
    ('neighbouring lanes, 64 bytes apart,', 'groups of 2 lanes, 128 bytes apart,')
    >>> apart([0, 2048, 4, 2052], 4)
    'lanes such as 0 and 1, 2048 bytes apart,'
    """
    step, usual = step_of(addresses), usual_step(addresses)
    if step is not None:
        return f"neighbouring lanes, {abs(step)} bytes apart,"
    if usual is not None and abs(usual) >= SECTOR:
        return f"most neighbouring lanes, {abs(usual)} bytes apart,"
    for many in (2, 4, 8, 16):
        steps = {
            b - a
            for a, b in zip(addresses, addresses[many:], strict=False)
            if a is not None and b is not None
        }
        if len(steps) == 1 and (far := abs(steps.pop())) and far % WAVEFRONT == 0:
            return f"groups of {many} lanes, {far} bytes apart,"
    together = max(1, WAVEFRONT // bytes)
    for (one, a), (other, b) in combinations(enumerate(addresses), 2):
        if a is None or b is None or a == b or one // together != other // together:
            continue
        if (b - a) % WAVEFRONT == 0:
            return f"lanes such as {one} and {other}, {abs(b - a)} bytes apart,"
    return "words of its lanes"


def scaled(counts: Mapping[str, int], run: Run) -> dict[str, int]:
    """Return counts of the whole launch."""
    return {name: round(count * run.weight) for name, count in counts.items()}
