"""The engines that a launch calls: products of matrices with their descriptors, bulk copies.

A row holds the calls of one line of the source whose descriptors differ in their start alone. Steps describe
the starts, the slowest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from tilewise.compiled.commands import decoding, exploring
from tilewise.compiled.counts import Int64s, warps_of
from tilewise.compiled.lanes import Bools, Lanes
from tilewise.compiled.lines import Line, line_data
from tilewise.compiled.machine import Called
from tilewise.compiled.program import CopyWords, EngineCall, Instruction, KernelProgram, ProductWords
from tilewise.core.algebra.recognition import recognise
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.shapes import leaves
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.limits import LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout
    from tilewise.hardware.engines import Engine, MatrixDescriptor
    from tilewise.hardware.operands.walk import Multiplicand

    Handed = tuple[int | None, ...]

MOST_CALLS = 1 << 14
"""The most different calls of one instruction that are kept apart."""
WORK = 16
"""The time of a call, where a usual instruction takes 1."""
SYSTEM = 1024
"""The first bytes of shared memory, which are the system's where there are such engines."""

UNKNOWN = "it hangs on loaded data or on an argument that is not given"
IN_THE_MAP = "the box lies in the tensor map, which the text of a kernel does not have"


# -- counts ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class CallTally:
    """The calls of one instruction, over all that was run."""

    instruction: Instruction
    call: EngineCall
    instructions: int = 0
    """Times that a warp issued it."""
    unknown: int = 0
    """Those of which nobody knows if lanes take part."""
    different: Counter[Handed] = field(default_factory=Counter)
    """{numbers that are handed over, None for one that nobody knows: warps, or lanes, that do}."""

    @property
    def together(self) -> int:
        """Return the warps, or lanes, that make one call together."""
        return max(1, self.call.lanes // LANES)

    def numbers(self) -> Iterator[tuple[Mapping[str, int | None], int]]:
        """Yield the different numbers by their names, with the calls that have them."""
        for numbers, times in self.different.items():
            yield dict(zip(self.call.given, numbers, strict=True)), times // self.together


@dataclass(slots=True)
class Calls:
    """The calls of a kernel."""

    tallies: dict[tuple[int, int], CallTally] = field(default_factory=dict)

    def add(self, event: Called, lanes: Lanes) -> int:
        """Count one event, and return the time that it takes, where a usual instruction takes 1."""
        key = (event.instruction.row, id(event.call))
        tally = self.tallies.setdefault(key, CallTally(event.instruction, event.call))
        tally.instructions += int(warps_of(event.issued).sum())
        if event.unsure:
            tally.unknown += int(warps_of(event.issued).sum())
            return WORK
        who = _callers(event.active, event.call.lanes)
        columns = []
        for value in event.given.values():
            blind = np.zeros(1, np.bool_) if value.unknown is None else value.unknown
            columns += [lanes.spread(one)[who].astype(np.uint64) for one in (value.bits, blind)]
        if not columns:
            tally.different[()] += len(who)
            return WORK
        rows, times = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
        for row, many in zip(rows.tolist(), times.tolist(), strict=True):
            numbers = tuple(None if blind else bits for bits, blind in zip(row[::2], row[1::2], strict=True))
            if len(tally.different) >= MOST_CALLS and numbers not in tally.different:
                numbers = (None,) * len(numbers)
            tally.different[numbers] += many
        return WORK + len(rows)


def _callers(active: Bools, lanes: int) -> Int64s:
    """Return the lanes that call: each one, or the first of every warp."""
    if lanes == 1:
        return np.flatnonzero(active)
    warps = np.flatnonzero(warps_of(active))
    first: Int64s = LANES * warps + active.reshape(-1, LANES)[warps].argmax(axis=1)
    return first


def spans(numbers: Iterable[int]) -> dict[str, Any]:
    """Return the first and the last of some numbers, how many differ, and their steps, the slowest first.

    The steps are None where the numbers are no layout.

    >>> spans([1024, 1056, 9216, 9248])
    {'first': 1024, 'last': 9248, 'different': 4, 'steps': [{'count': 2, 'by': 8192}, {'count': 2, 'by': 32}]}
    >>> spans([0, 32, 96])["steps"], spans([7])["steps"]
    (None, [])
    """
    different = sorted({*numbers})
    steps: list[dict[str, int]] | None = None
    with suppress(Refused):
        layout = recognise(different)
        digits = zip(leaves((layout.shape,)), layout.strides, strict=True)
        each = [{"count": count, "by": stride["m"]} for count, stride in digits if count > 1]
        steps = None if layout.swizzles else each
    return {"first": different[0], "last": different[-1], "different": len(different), "steps": steps}


# -- products --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProductOperand:
    """One operand of alike products: descriptors that differ in their start alone, or why it has none."""

    letter: str
    source: str
    """`shared`, `registers` or `tensor memory`."""
    reason: str = ""
    """Why its descriptor is not known, or why the word is not one."""
    word: int | None = None
    """The 64 bits, of those with the lowest start."""
    engine: Engine | None = None
    reads: Multiplicand | None = None
    descriptors: Sequence[tuple[MatrixDescriptor, int]] = field(default=(), repr=False)
    """Those that differ, each with its 64 bits, the lowest start first."""

    @property
    def family(self) -> object:
        """Return what is the same of descriptors that differ in their start alone."""
        same = replace(self.descriptors[0][0], start=0) if self.descriptors else self.word
        return self.source, self.reason, self.reads, same

    @property
    def bytes(self) -> int:
        """Return the bytes that one product reads."""
        return self.reads.rows * self.reads.depth * self.reads.stored_bits // 8 if self.reads else 0

    @property
    def starts(self) -> dict[str, Any]:
        """Return the bytes at which its descriptors start."""
        return spans(one.start for one, _ in self.descriptors)

    @cached_property
    def layout(self) -> Layout | None:
        """Return the byte of each element [rows, K] that the first reads, where that is one layout."""
        try:
            return self.reads.reads(self.descriptors[0][0]) if self.reads else None
        except Refused:
            return None

    @property
    def explore(self) -> str | None:
        """Return the command that opens that layout in the explorer."""
        return exploring(self.layout, self.reads.dtype) if self.reads else None

    def command(self, word: int) -> str:
        """Return the command that takes a descriptor apart."""
        if self.engine is None or self.reads is None:
            return f"tilewise descriptor {word:#018x}"
        return decoding(self.engine, self.reads, word)

    def faults(self) -> dict[str, int]:
        """Return {what is certainly wrong with a descriptor: its 64 bits}."""
        if self.engine is None or self.reads is None or self.word is None:
            return {} if self.word is None else {self.reason: self.word}
        found: dict[str, int] = {}
        for descriptor, word in dict.fromkeys((self.descriptors[0], self.descriptors[-1])):
            for fault in self.engine.faults(descriptor, self.reads, word):
                found.setdefault(fault, word)
        first = self.descriptors[0][0]
        if first.start < SYSTEM:
            what = f"it starts at byte {first.start}, and the first {SYSTEM:,} are the system's"
            found[what] = self.word
        row = first.start % first.mode.period
        if first.mode.bits and row >= first.mode.width and not first.base_offset:
            what = f"the lowest starts {row} bytes past a multiple of {first.mode.period}, with base offset 0"
            what += ": it reads a tile that was swizzled by address, as by TMA, and none whose swizzle "
            found[what + "counts from its begin"] = self.word
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the operand as plain data."""
        said = {"operand": self.letter, "from": self.source, "reason": self.reason}
        if self.engine is None or self.reads is None or self.word is None:
            return said
        first, reads = self.descriptors[0][0], self.reads
        return said | {
            "dtype": reads.dtype,
            "major": reads.major,
            **first.named,
            "ignored": list(self.engine.ignored(first, reads.major, reads)),
            "value": f"{self.word:#018x}",
            "starts": self.starts,
            "shape": [reads.rows, reads.depth],
            "layout": self.layout and str(self.layout),
            "unit": self.layout and self.layout.unit,
            "bytes": self.bytes,
            "command": self.command(self.word),
            "explore": self.explore,
        }


@dataclass(frozen=True)
class ProductRow:
    """The products of one line of the source that are alike."""

    line: Line | None
    name: str
    words: ProductWords
    tallies: Sequence[CallTally] = field(repr=False)
    times: int
    operands: Sequence[ProductOperand] = ()
    idesc: int | None = None
    reason: str = ""
    """Why the shape or the operands are not known."""

    @property
    def family(self) -> object:
        """Return what alike products have in common."""
        words = (self.words.shape, self.words.types, self.reason)
        return words, tuple(one.family for one in self.operands)

    def as_dict(self) -> dict[str, Any]:
        """Return the products as plain data."""
        words = self.words
        return {
            **_begin(self),
            **{name: getattr(words, name) for name in ("engine", "shape", "sparse", "cta_group")},
            "types": words.types and dict(zip("abd", words.types, strict=True)),
            "kind": words.kinds[0] if len(words.kinds) == 1 else None,
            "times": self.times,
            "unknown": sum(tally.unknown // tally.together for tally in self.tallies),
            "operands": [operand.as_dict() for operand in self.operands],
            "reason": self.reason,
        }


def _begin(row: ProductRow | TransferRow) -> dict[str, Any]:
    """Return where calls stand as plain data: the line of the source, and the rows of the text."""
    rows = sorted(tally.instruction.row for tally in row.tallies)
    return {"line": line_data(row.line), "instruction": row.name, "rows": rows}


def product_lines(program: KernelProgram | None) -> list[Line]:
    """Return the lines of products in a text that is not scheduled yet."""
    steps = ((one.line, step) for one in program.instructions for step in one.steps) if program else ()
    found = (line for line, step in steps if isinstance(step, EngineCall) and step.given.keys() & {"B"})
    return [line for line in dict.fromkeys(found) if line is not None]


def products_of(
    tallies: Iterable[CallTally], weight: float, known: Sequence[Line] = (), exact: bool = True
) -> list[ProductRow]:
    """Return the products of a launch by line of the source; of a sample each block stands for `weight`.

    ptxas moves wgmma and tcgen05 off their lines. `known` has the lines of products, where another text names
    them. Without one, and where lines are not `exact`, all that are alike are put together.
    """
    found: dict[object, list[ProductRow]] = {}
    for tally in tallies:
        instruction, words = tally.instruction, tally.call.words
        if not isinstance(words, ProductWords):
            continue
        line = _nearest(instruction.line, known)
        own = line if known or exact or words.engine == "mma" else None
        for numbers, times in [*tally.numbers()] or [({}, 0)]:
            row = ProductRow(line, instruction.name, words, [tally], times, idesc=numbers.get("idesc"))
            row = _with_operands(row, numbers)
            found.setdefault((own, row.name, row.family), []).append(row)
    return sorted((_together(alike, weight) for alike in found.values()), key=lambda row: _order(row.line))


def _order(line: Line | None) -> tuple[bool, Line]:
    """Return a key that puts calls without a line last."""
    return line is None, line or Line("", 0)


def _together(alike: Sequence[ProductRow], weight: float) -> ProductRow:
    """Return products of one family as one, at the line of the first in the text."""
    tallies = sorted({row.tallies[0].instruction.row: row.tallies[0] for row in alike}.items())
    first = min(alike, key=lambda row: row.tallies[0].instruction.row)
    operands = [_joined(those) for those in zip(*(row.operands for row in alike), strict=True)]
    times = round(sum(row.times for row in alike) * weight)
    return replace(first, tallies=[tally for _, tally in tallies], operands=operands, times=times)


def _nearest(line: Line | None, known: Sequence[Line]) -> Line | None:
    if line is None:
        return None
    return min(known, key=lambda one: abs(one.number - line.number), default=line)


def _joined(alike: Sequence[ProductOperand]) -> ProductOperand:
    """Return operands of one family as one."""
    every = {held.start: (held, word) for one in alike for held, word in one.descriptors}
    descriptors = [every[start] for start in sorted(every)]
    return replace(alike[0], descriptors=descriptors, word=descriptors[0][1]) if descriptors else alike[0]


def _with_operands(row: ProductRow, numbers: Mapping[str, int | None]) -> ProductRow:
    """Return a product with what the numbers that it hands over say."""
    words, majors = row.words, row.words.majors
    options: dict[str, Any] = {}
    if words.engine == "mma":
        return row
    if words.engine == "tcgen05":
        if row.idesc is None:
            return replace(row, reason=f"the instruction descriptor is not known: {UNKNOWN}")
        try:
            words, majors, options = _instruction(words, row.idesc)
        except LayoutError as no:
            return replace(row, reason=f"{row.idesc:#010x} is no instruction descriptor: {no.message}")
    elif words.sparse:
        return replace(row, reason="descriptors of a sparse wgmma are not read here")
    assert words.types is not None
    assert words.shape is not None
    m, n, _ = words.shape
    a, b, _ = words.types
    engine, operands = engine_of(words.engine), []
    for letter, dtype, size in (("A", a, {"m": m} if engine.name == "tcgen05" else {}), ("B", b, {"n": n})):
        asked = {"dtype": dtype, "major": majors[letter], "operand": letter, **size, **options}
        source = words.a_from if letter == "A" else "shared"
        operands.append(_operand(engine, ProductOperand(letter, source, word=numbers.get(letter)), asked))
    return replace(row, words=words, operands=operands)


def _operand(engine: Engine, bare: ProductOperand, asked: Mapping[str, Any]) -> ProductOperand:
    """Return an operand with its descriptor."""
    if bare.word is None:
        known = bare.source != "shared"
        return bare if known else replace(bare, reason=f"its descriptor is not known: {UNKNOWN}")
    try:
        descriptors = [(engine.descriptors.decode(bare.word), bare.word)]
        found = replace(bare, engine=engine, reads=engine.operand(**asked), descriptors=descriptors)
        return found if found.bytes else bare
    except LayoutError as no:
        return replace(bare, reason=f"no descriptor is like that: {no.message}")


def _instruction(words: ProductWords, idesc: int) -> tuple[ProductWords, dict[str, str], dict[str, Any]]:
    """Return what an instruction descriptor adds to the words, the majors, and the options of an operand."""
    from tilewise.hardware.tcgen05.instruction import InstructionWord
    from tilewise.hardware.tcgen05.kinds import DEEP_K

    legal, refused = [], []
    for kind in words.kinds:
        try:
            legal.append(InstructionWord.decode(idesc, kind, cta_group=words.cta_group, ws=words.ws))
        except LayoutError as no:
            refused.append(no)
    if not legal:
        raise refused[0]
    one = legal[0]
    shape, types, kinds = (one.m, one.n, one.k), (one.a, one.b, one.d), tuple(each.kind for each in legal)
    said = replace(words, shape=shape, types=types, kinds=kinds, sparse=one.sparse)
    options = {"kind": one.kind, "cta_group": one.cta_group, "sparse": one.sparse, "ws": one.ws}
    options |= {"k": DEEP_K} if one.k == DEEP_K else {}
    return said, {"A": one.a_major, "B": one.b_major}, options


# -- copies ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TransferRow:
    """The bulk copies of one instruction on one line of the source."""

    line: Line | None
    name: str
    words: CopyWords
    tallies: Sequence[CallTally] = field(repr=False)
    times: int
    shared: Mapping[str, Any] | None
    coordinates: Sequence[Mapping[str, Any] | None]
    """The numbers of each coordinate, the fastest first; None where one is not known."""
    bytes: int | None
    expected: Mapping[str, int] | None
    """{`bytes` that the barrier waits for, `copies` that bring them}."""
    reason: str
    """Why the bytes are not known."""

    def as_dict(self) -> dict[str, Any]:
        """Return the copies as plain data."""
        names = ("source", "target", "dimensions")
        known = ("times", "shared", "coordinates", "bytes", "expected", "reason")
        return {
            **_begin(self),
            **{name: getattr(self.words, name) for name in names},
            **{name: getattr(self, name) for name in known},
            "unknown": sum(tally.unknown for tally in self.tallies),
        }


def transfers_of(tallies: Iterable[CallTally], weight: float) -> list[TransferRow]:
    """Return the bulk copies of a launch by line of the source; of a sample a block stands for `weight`."""
    every = [*tallies]
    expected = _barriers(tally for tally in every if tally.call.words is None)
    copies = [tally for tally in every if isinstance(tally.call.words, CopyWords)]
    arrived = _barriers(tally for tally in copies if "barrier" in tally.call.given)

    def key(tally: CallTally) -> tuple[object, str]:
        return _order(tally.instruction.line), tally.instruction.name

    together = (list(alike) for _, alike in groupby(sorted(copies, key=key), key))
    return [_transfer(alike, weight, expected, arrived) for alike in together]


Barriers = dict[int | None, Counter[int | None]]


def _barriers(tallies: Iterable[CallTally]) -> Barriers:
    """Return {barrier: {bytes, None where they are not known: times}}."""
    found: Barriers = {}
    for tally in tallies:
        if tally.unknown:
            found[None] = Counter()
        for numbers, times in tally.numbers():
            found.setdefault(numbers["barrier"], Counter())[numbers.get("bytes")] += times
    return found


def _transfer(
    tallies: Sequence[CallTally], weight: float, expected: Barriers, arrived: Barriers
) -> TransferRow:
    first, words = tallies[0].instruction, tallies[0].call.words
    assert isinstance(words, CopyWords)
    calls = [found for tally in tallies for found in tally.numbers()]
    held = {name: {numbers[name] for numbers, _ in calls} for name in tallies[0].call.given}
    known = {name: _spans(different) for name, different in held.items()}
    coordinates = [_spans(set(map(_signed, held[name]))) for name in held if name.startswith("x")]
    sizes = held.get("bytes", {None})
    bytes = next(iter(sizes)) if len(sizes) == 1 else None
    awaited, reason = None, "the copies differ in their bytes, or nobody knows them"
    if words.dimensions is not None:
        reason, awaited = IN_THE_MAP, _awaited(held.get("barrier", {None}), expected, arrived)
        bytes = awaited["bytes"] if awaited is not None and awaited["copies"] == 1 else None
    times = round(sum(many for _, many in calls) * weight)
    places, reason = known.get("shared"), reason if bytes is None else ""
    return TransferRow(
        first.line, first.name, words, tallies, times, places, coordinates, bytes, awaited, reason
    )


def _signed(number: int | None) -> int | None:
    return None if number is None else number - (number >> 31 << 32)


def _spans(numbers: set[int | None]) -> dict[str, Any] | None:
    """Return the spans of numbers; None where one is not known, or none is there."""
    known = [one for one in numbers if one is not None]
    return spans(known) if known and len(known) == len(numbers) else None


def _awaited(barriers: set[int | None], expected: Barriers, arrived: Barriers) -> dict[str, int] | None:
    """Return the bytes that barriers wait for and the copies that bring them, if all of them are alike."""
    if None in (*barriers, *expected, *arrived):
        return None
    found: set[tuple[int | None, int]] = set()
    for barrier in barriers:
        waits, copies = expected.get(barrier, Counter()), arrived.get(barrier, Counter())
        if len(waits) != 1 or len(copies) != 1 or copies.total() % waits.total():  # a bulk copy has its bytes
            return None
        found.add((next(iter(waits)), copies.total() // waits.total()))
    if len(found) != 1:
        return None
    ((bytes, each),) = found
    return None if bytes is None else {"bytes": bytes, "copies": each}
