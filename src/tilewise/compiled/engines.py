"""The engines that a launch calls: products of matrices with their descriptors, bulk copies.

Calls from one line of the source are put together: those of one instruction whose descriptors differ in their
start alone. The starts are told by their steps, the slowest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from tilewise.compiled.commands import decoding, exploring
from tilewise.compiled.counts import Int64s, warps_of
from tilewise.compiled.lanes import Bools, Lanes
from tilewise.compiled.machine import Called
from tilewise.compiled.program import CopyWords, EngineCall, Instruction, Line, ProductWords, line_data
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

    Numbers = tuple[int | None, ...]

MOST_CALLS = 1 << 14
"""The most different calls of one instruction that are kept apart."""
MOST_STARTS = 1 << 12
"""The most numbers whose steps are looked for."""
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
    different: Counter[Numbers] = field(default_factory=Counter)
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

    def add(self, event: Called, lanes: Lanes) -> None:
        """Count one event."""
        key = (event.instruction.row, id(event.call))
        tally = self.tallies.setdefault(key, CallTally(event.instruction, event.call))
        tally.instructions += int(warps_of(event.issued).sum())
        if event.unsure:
            tally.unknown += int(warps_of(event.issued).sum())
            return
        who = _callers(event.active, event.call.lanes)
        columns = []
        for value in event.given.values():
            blind = np.zeros(1, np.bool_) if value.unknown is None else value.unknown
            columns += [lanes.spread(one)[who].astype(np.uint64) for one in (value.bits, blind)]
        if not columns:
            tally.different[()] += len(who)
            return
        rows, times = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
        for row, many in zip(rows.tolist(), times.tolist(), strict=True):
            numbers = tuple(None if blind else bits for bits, blind in zip(row[::2], row[1::2], strict=True))
            if len(tally.different) >= MOST_CALLS and numbers not in tally.different:
                numbers = (None,) * len(numbers)
            tally.different[numbers] += many


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
    if len(different) <= MOST_STARTS:
        try:
            layout = recognise(different)
        except Refused:
            layout = None
        if layout is not None and not layout.swizzles:
            digits = zip(leaves((layout.shape,)), layout.strides, strict=True)
            steps = [{"count": count, "by": stride["m"]} for count, stride in digits if count > 1]
    return {"first": different[0], "last": different[-1], "different": len(different), "steps": steps}


# -- operands --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperandReads:
    """The descriptors of one operand, which differ in their start alone."""

    engine: Engine
    operand: Multiplicand
    descriptors: Sequence[tuple[MatrixDescriptor, int]] = field(repr=False)
    """Those that differ, each with its 64 bits, the lowest start first."""

    @property
    def first(self) -> MatrixDescriptor:
        """Return the descriptor with the lowest start."""
        return self.descriptors[0][0]

    @property
    def word(self) -> int:
        """Return its 64 bits."""
        return self.descriptors[0][1]

    @property
    def bytes(self) -> int:
        """Return the bytes that one product reads."""
        return self.operand.rows * self.operand.depth * self.operand.stored_bits // 8

    @cached_property
    def layout(self) -> Layout | None:
        """Return the byte of each element [rows, K] that the first reads, where that is one layout."""
        try:
            return self.operand.reads(self.first)
        except Refused:
            return None

    @cached_property
    def starts(self) -> dict[str, Any]:
        """Return the starts and their steps."""
        return spans(descriptor.start for descriptor, _ in self.descriptors)

    @property
    def explore(self) -> str | None:
        """Return the command that opens the layout of the first in the explorer."""
        return exploring(self.layout, self.operand.dtype)

    def command(self, word: int) -> str:
        """Return the command that takes one of them apart."""
        return decoding(self.engine, self.operand, word)

    def faults(self) -> dict[str, int]:
        """Return {what is certainly wrong with a descriptor: its 64 bits}."""
        found: dict[str, int] = {}
        for descriptor, word in dict.fromkeys((self.descriptors[0], self.descriptors[-1])):
            for fault in self.engine.faults(descriptor, self.operand, word):
                found.setdefault(fault, word)
        first, mode = self.first, self.first.mode
        if first.start < SYSTEM:
            what = f"it starts at byte {first.start}, and the first {SYSTEM:,} are the system's"
            found[what] = self.word
        row = first.start % mode.period
        if mode.bits and row >= mode.width and not first.base_offset:
            what = f"the lowest starts {row} bytes past a multiple of {mode.period}, with base offset 0"
            what += ": it reads a tile that was swizzled by address, as by TMA, and none whose swizzle "
            found[what + "counts from its begin"] = self.word
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the operand as plain data."""
        first, operand = self.first, self.operand
        return {
            "operand": operand.operand,
            "from": "shared",
            "dtype": operand.dtype,
            "major": operand.major,
            **{name: held for name, held in first.named.items() if name != "start"},
            "ignored": list(self.engine.ignored(first, operand.major, operand)),
            "start": first.start,
            "starts": self.starts,
            "value": f"{self.word:#018x}",
            "rows": operand.rows,
            "k": operand.depth,
            "layout": None if self.layout is None else str(self.layout),
            "unit": None if self.layout is None else self.layout.unit,
            "bytes": self.bytes,
            "command": self.command(self.word),
            "explore": self.explore,
        }


@dataclass(frozen=True)
class OperandElsewhere:
    """An operand without a descriptor, or whose descriptor is not known or is none."""

    operand: str
    source: str
    reason: str = ""
    word: int | None = None
    """The 64 bits that are no descriptor."""

    def as_dict(self) -> dict[str, Any]:
        """Return the operand as plain data."""
        return {"operand": self.operand, "from": self.source, "reason": self.reason}


# -- products --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProductRow:
    """The products of one line of the source that are alike."""

    line: Line | None
    name: str
    words: ProductWords
    tallies: Sequence[CallTally] = field(repr=False)
    times: int = 0
    operands: Sequence[OperandReads | OperandElsewhere] = ()
    idesc: int | None = None
    reason: str = ""
    """Why the shape is not known."""

    @property
    def shape(self) -> str:
        """Return M, N and K in one word, or an empty text."""
        return "m{}n{}k{}".format(*self.words.shape) if self.words.shape else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the products as plain data."""
        words = self.words
        return {
            "line": line_data(self.line),
            "instruction": self.name,
            "rows": sorted(tally.instruction.row for tally in self.tallies),
            "engine": words.engine,
            "shape": list(words.shape) if words.shape else None,
            "types": dict(zip("abd", words.types, strict=True)) if words.types else None,
            "kind": words.kinds[0] if len(words.kinds) == 1 else None,
            "sparse": words.sparse,
            "cta_group": words.cta_group,
            "times": self.times,
            "unknown": sum(tally.unknown // tally.together for tally in self.tallies),
            "operands": [operand.as_dict() for operand in self.operands],
            "reason": self.reason,
        }


def products_of(tallies: Iterable[CallTally], weight: float, dots: Sequence[Line] = ()) -> list[ProductRow]:
    """Return the products of a launch by line of the source; of a sample each block stands for `weight`.

    `dots` has the lines of products, where another text names them: Triton's machine code is off.
    """
    mine = [tally for tally in tallies if isinstance(tally.call.words, ProductWords)]
    lines = _by_line(mine, dots)
    return [row for line, name, alike in lines for row in _alike_products(line, name, alike, weight)]


def _by_line(
    tallies: Sequence[CallTally], known: Sequence[Line] = ()
) -> Iterator[tuple[Line | None, str, list[CallTally]]]:
    def key(tally: CallTally) -> tuple[Any, ...]:
        line = tally.instruction.line
        if line is not None:
            far = line.number
            line = min(known, key=lambda one: abs(one.number - far), default=line)
        return (line is None, line or Line("", 0), tally.instruction.name)

    for (no_line, line, name), alike in groupby(sorted(tallies, key=key), key):
        yield (None if no_line else line), name, list(alike)


def _alike_products(
    line: Line | None, name: str, tallies: Sequence[CallTally], weight: float
) -> Iterator[ProductRow]:
    """Yield the products of a line, those apart whose descriptors differ in more than their start."""
    found: dict[object, tuple[ProductRow, list[dict[int, Any]]]] = {}
    times: Counter[object] = Counter()
    key: object
    for tally in tallies:
        assert isinstance(tally.call.words, ProductWords)
        for numbers, many in tally.numbers():
            row = _product(line, name, tally.call.words, tallies, numbers)
            key = (row.words.shape, row.words.types, row.reason, *map(_family, row.operands))
            _, descriptors = found.setdefault(key, (row, [{} for _ in row.operands]))
            times[key] += many
            for operand, starts in zip(row.operands, descriptors, strict=True):
                if isinstance(operand, OperandReads):
                    starts[operand.first.start] = operand.descriptors[0]
    for key, (row, descriptors) in found.items():
        operands = [
            replace(operand, descriptors=[starts[start] for start in sorted(starts)])
            if isinstance(operand, OperandReads)
            else operand
            for operand, starts in zip(row.operands, descriptors, strict=True)
        ]
        yield replace(row, operands=operands, times=round(times[key] * weight))


def _family(operand: OperandReads | OperandElsewhere) -> object:
    """Return what is the same of descriptors that differ in their start alone."""
    if isinstance(operand, OperandElsewhere):
        return operand
    return operand.operand, replace(operand.first, start=0)


def _product(
    line: Line | None,
    name: str,
    words: ProductWords,
    tallies: Sequence[CallTally],
    numbers: Mapping[str, int | None],
) -> ProductRow:
    """Return a product that hands over some numbers."""
    row = ProductRow(line, name, words, tallies, idesc=numbers.get("idesc"))
    options: dict[str, Any] = {}
    majors = words.majors
    if words.engine == "tcgen05":
        if row.idesc is None:
            return replace(row, reason=f"the instruction descriptor is not known: {UNKNOWN}")
        try:
            words, majors, options = _instruction(words, row.idesc)
        except LayoutError as no:
            return replace(row, reason=f"{row.idesc:#010x} is no instruction descriptor: {no.message}")
    if words.engine == "mma" or words.shape is None or words.types is None:
        return row
    row = replace(row, words=words)
    if words.engine == "wgmma" and words.sparse:
        return replace(row, reason="descriptors of a sparse wgmma are not read here")
    engine = engine_of(words.engine)
    operands: list[OperandReads | OperandElsewhere] = []
    for letter, dtype, size in zip("AB", words.types, words.shape[:2], strict=False):
        source = words.a_from if letter == "A" else "shared"
        word = numbers.get(letter)
        if source != "shared" or word is None:
            reason = f"its descriptor is not known: {UNKNOWN}" if source == "shared" else ""
            operands.append(OperandElsewhere(letter, source, reason))
            continue
        of_size = {"m" if letter == "A" else "n": size} if letter == "B" or "m" in engine.sizes else {}
        try:
            operand = engine.operand(dtype=dtype, major=majors[letter], operand=letter, **of_size, **options)
            descriptor = engine.descriptors.decode(word)
            operands.append(OperandReads(engine, operand, [(descriptor, word)]))
        except LayoutError as no:
            reason = f"{word:#018x} is no descriptor of {letter}: {no.message}"
            operands.append(OperandElsewhere(letter, source, reason, word))
    return replace(row, operands=operands)


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
    kinds = tuple(each.kind for each in legal)
    said = replace(
        words, shape=(one.m, one.n, one.k), types=(one.a, one.b, one.d), kinds=kinds, sparse=one.sparse
    )
    options = {"kind": one.kind, "cta_group": words.cta_group, "sparse": one.sparse, "ws": words.ws}
    options |= {"k": one.k} if one.k == DEEP_K else {}
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
        words = self.words
        return {
            "line": line_data(self.line),
            "instruction": self.name,
            "rows": sorted(tally.instruction.row for tally in self.tallies),
            "kind": "bulk" if words.dimensions is None else "tensor",
            "source": words.source,
            "target": words.target,
            "dimensions": words.dimensions,
            "times": self.times,
            "unknown": sum(tally.unknown for tally in self.tallies),
            "shared": self.shared,
            "coordinates": list(self.coordinates),
            "bytes": self.bytes,
            "expected": self.expected,
            "reason": self.reason,
        }


def transfers_of(tallies: Iterable[CallTally], weight: float) -> list[TransferRow]:
    """Return the bulk copies of a launch by line of the source; of a sample a block stands for `weight`."""
    every = [*tallies]
    expected = _barriers(tally for tally in every if tally.call.words is None)
    copies = [tally for tally in every if isinstance(tally.call.words, CopyWords)]
    arrived = _barriers(tally for tally in copies if "barrier" in tally.call.given)
    return [_transfer(line, name, alike, weight, expected, arrived) for line, name, alike in _by_line(copies)]


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
    line: Line | None,
    name: str,
    tallies: Sequence[CallTally],
    weight: float,
    expected: Barriers,
    arrived: Barriers,
) -> TransferRow:
    words = tallies[0].call.words
    assert isinstance(words, CopyWords)
    calls = [found for tally in tallies for found in tally.numbers()]
    held = {name: {numbers[name] for numbers, _ in calls} for name in tallies[0].call.given}
    known = {
        name: None
        if None in different or not different
        else spans(one for one in different if one is not None)
        for name, different in held.items()
    }
    coordinates = [known[name] for name in held if name.startswith("x")]
    sizes = held.get("bytes", {None})
    bytes = next(iter(sizes)) if len(sizes) == 1 else None
    awaited, reason = None, ""
    if words.dimensions is not None:
        awaited = _awaited(held.get("barrier", set()), expected, arrived)
        if awaited is not None and awaited["copies"] == 1:
            bytes = awaited["bytes"]
        reason = "" if bytes is not None else IN_THE_MAP
    elif bytes is None:
        reason = f"the copies differ in their bytes: {len(sizes)} sizes" if None not in sizes else UNKNOWN
    times = round(sum(many for _, many in calls) * weight)
    return TransferRow(
        line, name, words, tallies, times, known.get("shared"), coordinates, bytes, awaited, reason
    )


def _spans(numbers: set[int | None]) -> dict[str, Any] | None:
    """Return the spans of numbers; None where one is not known, or none is there."""
    known = [one for one in numbers if one is not None]
    return spans(known) if known and len(known) == len(numbers) else None


def _awaited(barriers: set[int | None], expected: Barriers, arrived: Barriers) -> dict[str, int] | None:
    """Return the bytes that barriers wait for and the copies that bring them, if all of them are alike."""
    found = set()
    for barrier in barriers:
        waits, copies = expected.get(barrier, Counter()), arrived.get(barrier, Counter())
        if barrier is None or None in expected or None in arrived or len(waits) != 1:
            return None
        ((bytes, times),) = waits.items()
        each, rest = divmod(copies.total(), times)
        if bytes is None or rest or len(copies) > 1:  # a bulk copy beside it says its bytes
            return None
        found.add((bytes, each))
    if len(found) != 1:
        return None
    ((bytes, copies_of_it),) = found
    return {"bytes": bytes, "copies": copies_of_it}
