"""Steps of a move as data: builders that make no step twice, the steps' cost, and their effect bit by bit.

A step makes one 32-bit register of others. Values that differ between lanes are in `by`, a number a lane:

    shfl       the lane that is read: d = a of lane by[lane]
    select     d = b where by[lane], else a
    prmt       d = four bytes of a and b, by the hexadecimal digits of by[lane], lowest byte first
    rotate     d = a rotated left by by[lane] bits
    merge      d = the bits of a that by[lane] has, the others of b
    movmatrix  d = the 8 x 8 matrix of 16-bit elements in a, transposed; by is empty
    ballot     bit i of d = bit by[i] of a of lane i

Costs are cycles for one warp, where many run and only throughput counts. A multiprocessor of Hopper has 32
lanes for exchanges and shared memory, and 64 for selects, byte permutes and shifts. The two work at once, so
a plan takes as long as the busier of them. An H200 took these cycles, and one to three more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache

from tilewise.hardware.limits import LANES, REGISTER_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Slot = tuple[int, int] | None
"""(register, number of its part), or (word, number of its byte); None where it does not matter."""

Row = tuple[Slot, ...]

Half = tuple[tuple[int, int], ...]
"""Bytes of one or two words that a word has."""

STEP = 0.5
"""Cycles of a step that a lane does alone."""

EXCHANGE = 1.0
"""Cycles of a shuffle, a movmatrix or a vote."""

EXCHANGES = ("shfl", "movmatrix", "ballot")
"""The steps by which a lane gets new data: at most one register each."""

OPERATIONS = (*EXCHANGES, "select", "prmt", "rotate", "merge")


@dataclass(frozen=True, slots=True)
class WarpStep:
    """One instruction: the numbers of the registers that it reads, and the values that differ
    between lanes.
    """

    operation: str
    of: tuple[int, ...]
    by: tuple[int, ...] = ()

    @property
    def exchanges(self) -> bool:
        """Return True if data goes to another lane."""
        return self.operation in EXCHANGES

    @property
    def uniform(self) -> bool:
        """Return True if all lanes do the same."""
        return len(set(self.by)) < 2


@dataclass(frozen=True, slots=True)
class Program:
    """Steps on registers: 0, 1, ... are the source's, and every step makes the next.

    `results` are the target's registers, by number; None for an unused one.
    """

    inputs: int
    steps: tuple[WarpStep, ...]
    results: tuple[int | None, ...]

    @property
    def exchanges(self) -> int:
        """Return the number of steps that move data to another lane."""
        return sum(step.exchanges for step in self.steps)

    def counts(self) -> dict[str, int]:
        """Return the number of steps of each operation that occurs."""
        found = {name: sum(step.operation == name for step in self.steps) for name in OPERATIONS}
        return {name: count for name, count in found.items() if count}

    @property
    def counted(self) -> str:
        """Return the number of steps of each operation, in words."""
        return ", ".join(f"{count} {name}" for name, count in self.counts().items())


class Builder:
    """Makes steps, each once."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.steps: list[WarpStep] = []
        self.choices: dict[tuple[int | None, ...], int] = {}
        """{the register that each lane wants: the register that holds it in every lane}, as made so far."""
        self._made: dict[WarpStep, int] = {}

    def add(self, operation: str, of: tuple[int, ...], by: Sequence[int] = ()) -> int:
        """Return the register that this step makes."""
        step = WarpStep(operation, of, tuple(by))
        if step not in self._made:
            self._made[step] = self.inputs + len(self.steps)
            self.steps.append(step)
        return self._made[step]

    def program(self, results: Sequence[int | None]) -> Program:
        """Return the steps that the results need, renumbered in the order in which they were made."""
        needed = {register for register in results if register is not None}
        for register in reversed(range(self.inputs, self.inputs + len(self.steps))):
            if register in needed:
                needed.update(self.steps[register - self.inputs].of)
        numbers = {register: register for register in range(self.inputs)}
        steps = []
        for register, step in enumerate(self.steps, self.inputs):
            if register in needed:
                numbers[register] = len(numbers)
                steps.append(WarpStep(step.operation, tuple(numbers[own] for own in step.of), step.by))
        renumbered = tuple(None if own is None else numbers[own] for own in results)
        return Program(self.inputs, tuple(steps), renumbered)


def cycles(program: Program) -> float:
    """Return the cycles of a multiprocessor for one warp.

    >>> from tilewise.check.registers.steps import WarpStep
    >>> shuffle, turn = WarpStep("shfl", (0,), (0,) * 32), WarpStep("rotate", (1,), (8,) * 32)
    >>> cycles(Program(1, (shuffle, *[turn] * 6), (1,)))
    3.0
    """
    others = len(program.steps) - program.exchanges
    return max(EXCHANGE * program.exchanges, STEP * others)


# -- registers out of registers of the same lane ---------------------------------------------------


BYTE = 8


def gathered(builder: Builder, wanted: Sequence[Row], bits: int) -> int:
    """Return the register that holds the wanted units, slots being `bits` wide."""
    numbers = [_by_number(row) for row in wanted]
    in_place = all(slot is None or slot[1] == at for row in wanted for at, slot in enumerate(row))
    if in_place and all(len(own) < 2 for own in numbers):
        return chosen(builder, [own[0] if own else None for own in numbers])
    return _permuted(builder, wanted, bits) if bits >= BYTE else _merged(builder, wanted, bits)


def _by_number(row: Row) -> list[int]:
    """Return the registers of a row, smallest first."""
    return sorted({slot[0] for slot in row if slot})


# -- one of several registers ----------------------------------------------------------------------


def chosen(builder: Builder, table: Sequence[int | None]) -> int:
    """Return the register that is table[lane] in every lane; any where table[lane] is None.

    The bits of the lane's number decide first, so that registers with equal choices share steps.
    """
    registers = sorted({own for own in table if own is not None})
    if len(registers) < 2:
        return registers[0] if registers else 0
    key = tuple(table)
    if key in builder.choices:
        return builder.choices[key]
    mask = _best_question(table)
    sides = [
        chosen(builder, [own if mask >> lane & 1 == side else None for lane, own in enumerate(table)])
        for side in (0, 1)
    ]
    made = builder.add("select", tuple(sides), [mask >> lane & 1 for lane in range(LANES)])
    builder.choices[key] = made
    return made


def _best_question(table: Sequence[int | None]) -> int:
    """Return a set of lanes that parts the registers in two: no register is needed on both sides."""
    users: dict[int, int] = {}
    for lane, own in enumerate(table):
        if own is not None:
            users[own] = users.get(own, 0) | 1 << lane
    best, smallest = 0, len(users)
    for mask in parities():
        if all(lanes & mask in (0, lanes) for lanes in users.values()):
            inside = sum(lanes & mask > 0 for lanes in users.values())
            if max(inside, len(users) - inside) < smallest:
                best, smallest = mask, max(inside, len(users) - inside)
            if 2 * smallest <= len(users) + 1:
                break  # split in halves
    upper = sorted(users)[len(users) // 2 :]
    return best or sum(users[own] for own in upper)


@cache
def parities() -> tuple[int, ...]:
    """Return the lanes in which some bits of the number have odd parity; single bits first.

    >>> [hex(mask) for mask in parities()[:5]]
    ['0xaaaaaaaa', '0xcccccccc', '0xf0f0f0f0', '0xff00ff00', '0xffff0000']
    """
    bits = sorted(range(1, LANES), key=lambda bits: (bits.bit_count(), bits))
    return tuple(sum(1 << lane for lane in range(LANES) if (lane & b).bit_count() % 2) for b in bits)


# -- bytes -----------------------------------------------------------------------------------------


def _permuted(builder: Builder, wanted: Sequence[Row], bits: int) -> int:
    """Return the register of bytes of up to two registers by prmt; of more registers, of two
    halves of them.
    """
    uses = Counter(number for row in wanted for number in _by_number(row))
    orders: tuple[Callable[[Row], list[int]], ...] = (
        _by_number,
        lambda row: list(dict.fromkeys(slot[0] for slot in row if slot)),
        lambda row: sorted(_by_number(row), key=lambda number: (-uses[number], number)),
    )
    first, second = min(
        (_halves([order(row) for row in wanted]) for order in orders),
        key=lambda halves: sum(len(set(half)) for half in halves),
    )
    a, kept_a = _side(builder, wanted, bits, first)
    b, kept_b = _side(builder, wanted, bits, second) if any(second) else (a, kept_a)
    each = bits // BYTE
    selectors: list[int | None] = []
    for row, of_b in zip(wanted, second, strict=True):
        digits: list[int] = []
        for at, slot in enumerate(row):
            in_b = slot is not None and slot[0] in of_b
            place = slot[1] if slot and (kept_b if in_b else kept_a) else at
            digits += [(4 if in_b else 0) + place * each + byte for byte in range(each)]
        order = sum(digit << 4 * at for at, digit in enumerate(digits))
        selectors.append(order if any(row) else None)
    return builder.add("prmt", (a, b), _filled(selectors))


def _halves(numbers: Sequence[list[int]]) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """Return the registers of every lane in two groups, of at most two each where slots are bytes."""
    most = max(map(len, numbers))
    size = 1 if most <= 2 else most - 2
    return [frozenset(own[:size]) for own in numbers], [frozenset(own[size:]) for own in numbers]


def _side(
    builder: Builder, wanted: Sequence[Row], bits: int, group: list[frozenset[int]]
) -> tuple[int, bool]:
    """Return a register with all wanted units of a group, and True if slots keep their places in it."""
    if all(len(own) < 2 for own in group):
        return chosen(builder, [min(own, default=None) for own in group]), True
    rows = [
        tuple(slot if slot and slot[0] in own else None for slot in row)
        for row, own in zip(wanted, group, strict=True)
    ]
    return _permuted(builder, rows, bits), False


def _filled(numbers: list[int | None]) -> list[int]:
    """Return numbers for all lanes: where no number matters, one that another lane has."""
    known = min((number for number in numbers if number is not None), default=0)
    return [known if number is None else number for number in numbers]


# -- bits ------------------------------------------------------------------------------------------


def _merged(builder: Builder, wanted: Sequence[Row], bits: int) -> int:
    """Return slots that are narrower than a byte: registers rotated, and merged by masks."""
    terms = [_terms(row, bits) for row in wanted]
    result = -1
    for i in range(max(map(len, terms))):
        own = [term[i] if i < len(term) else None for term in terms]
        register = chosen(builder, [term[0] if term else None for term in own])
        turned = _filled([term[1] if term else None for term in own])
        if any(turned):
            register = builder.add("rotate", (register,), turned)
        masks = [term[2] if term else 0 for term in own]
        result = register if not i else builder.add("merge", (register, result), masks)
    return result if result >= 0 else 0


def _terms(row: Row, bits: int) -> list[tuple[int, int, int]]:
    """Return (register, rotation, mask) of all that a lane needs."""
    masks: Counter[tuple[int, int]] = Counter()
    for at, slot in enumerate(row):
        if slot is not None:
            masks[slot[0], (at - slot[1]) * bits % REGISTER_BITS] += ((1 << bits) - 1) << at * bits
    return [(*key, masks[key]) for key in sorted(masks)]


# -- words out of the bytes of other words, the same in all lanes ----------------------------------


BYTES = 4
"""Bytes of a word."""


class Packer(Builder):
    """A maker of words by prmt, by one order in all lanes; words of the same two inputs share permutations.

    Where inputs are `picked`, their bytes lie elsewhere in each thread, so every input needs a permutation.
    """

    def __init__(self, inputs: int, picked: bool = False) -> None:
        super().__init__(inputs)
        self.picked = picked

    def all(self, words: Sequence[Row]) -> list[int | None]:
        """Return the numbers of words with these bytes; None for a word of which no byte matters.

        >>> packer = Packer(2)
        >>> packer.all([((0, 0), (0, 1), (0, 2), (0, 3)), ((0, 0), (0, 1), (1, 0), (1, 1))])
        [0, 2]
        >>> [(step.operation, step.of, hex(step.by[0])) for step in packer.steps]
        [('prmt', (0, 1), '0x5410')]
        """
        halves = [_parted(word) for word in words]
        where = self._together(dict.fromkeys(half for both in halves for half in both))
        numbers = []
        for word, both in zip(words, halves, strict=True):
            parts = {byte: place for half in both for byte, place in where[half].items()}
            moved = [parts.get(byte, byte) if byte else None for byte in word] if both else word
            sources = _sources(moved)
            numbers.append(self._permuted(moved, sources[0], sources[-1]) if sources else None)
        return numbers

    def _together(self, halves: Iterable[Half]) -> dict[Half, dict[tuple[int, int], tuple[int, int]]]:
        """Return {bytes of one or two words: the place of each byte}, two such halves in one word if they
        fit.
        """
        found = {}
        of_two: defaultdict[tuple[int, ...], list[Half]] = defaultdict(list)
        for half in halves:
            sources = tuple(sorted(_sources(half)))
            found[half] = {byte: byte for byte in half}
            if len(sources) == 2:
                of_two[sources].append(half)
        for (a, b), needs in of_two.items():
            for first, second in zip(needs[::2], [*needs[1::2], ()], strict=False):
                fits = len(first) + len(second) <= BYTES
                for room in [(*first, *second)] if fits else [first, second]:
                    number = self._permuted((*room, *(None,) * (BYTES - len(room))), a, b)
                    for half in filter(None, (first, second)):
                        found[half] |= {byte: (number, room.index(byte)) for byte in half if byte in room}
        return found

    def _permuted(self, word: Sequence[Slot], a: int, b: int) -> int:
        taken = not (self.picked and a < self.inputs)
        if taken and a == b and all(byte is None or byte[1] == at for at, byte in enumerate(word)):
            return a
        a, b = min(a, b), max(a, b)
        order = 0
        for at, byte in enumerate(word):
            digit = at if byte is None else byte[1] + (BYTES if byte[0] == b and a != b else 0)
            order |= digit << 4 * at
        return self.add("prmt", (a, b), (order,) * LANES)

    def of_inputs(self, step: WarpStep) -> int:
        """Return the digits of a step's order that name bytes of inputs, as a mask.

        >>> hex(Packer(2).of_inputs(WarpStep("prmt", (1, 2), (0x5410,))))
        '0xff'
        """
        words = [step.of[step.by[0] >> 4 * at & 4 > 0] for at in range(BYTES)]
        return sum(0xF << 4 * at for at, own in enumerate(words) if own < self.inputs)


def _sources(word: Sequence[Slot]) -> list[int]:
    return list(dict.fromkeys(byte[0] for byte in word if byte is not None))


def _parted(word: Row) -> list[Half]:
    """Return the bytes of a word of more than two others, in two groups."""
    sources = _sources(word)
    groups = (sources[:2], sources[2:]) if len(sources) > 2 else ()
    return [tuple(sorted({byte for byte in word if byte and byte[0] in group})) for group in groups]


# -- the effect of steps ---------------------------------------------------------------------------


Label = tuple[int, int] | None
"""A field of the source: (lane, number of the field in it); None where it is unknown."""

Lanes = list[tuple[Label, ...]]
"""The fields of a register in every lane, from the lowest."""


def followed(program: Program, width: int) -> list[Lanes | None]:
    """Return the contents of every register of the target, as fields of `width` bits of the source's.

    requires  width is 8, or a divisor of it by which all fields that are moved are aligned
    """
    fields = REGISTER_BITS // width
    registers: list[Lanes] = [
        [tuple((lane, own * fields + i) for i in range(fields)) for lane in range(LANES)]
        for own in range(program.inputs)
    ]
    for step in program.steps:
        operands = [registers[own] for own in step.of]
        registers.append([_made(step, operands, lane, width) for lane in range(LANES)])
    return [None if own is None else registers[own] for own in program.results]


def _made(step: WarpStep, operands: list[Lanes], lane: int, width: int) -> tuple[Label, ...]:
    """Return the fields that a step makes in one lane."""
    a = operands[0]
    fields = len(a[lane])
    if step.operation == "movmatrix":
        return _transposed(a, lane, fields // 2)
    by = step.by[lane]
    if step.operation == "shfl":
        return a[by]
    if step.operation == "ballot":
        return tuple(a[other][step.by[other]] for other in range(LANES))
    if step.operation == "rotate":
        return tuple(a[lane][(i - by // width) % fields] for i in range(fields))
    b = operands[1]
    if step.operation == "select":
        return b[lane] if by else a[lane]
    if step.operation == "prmt":
        each = 8 // width
        both = a[lane] + b[lane]
        return tuple(both[(by >> 4 * (i // each) & 7) * each + i % each] for i in range(fields))
    kept = [by >> i * width & (1 << width) - 1 for i in range(fields)]
    return tuple(one if bits else other for one, other, bits in zip(a[lane], b[lane], kept, strict=True))


def _transposed(a: Lanes, lane: int, half: int) -> tuple[Label, ...]:
    """Return the result of movmatrix: lane 4 r + c gets elements 2 c and 2 c + 1 of column r."""
    column, found = lane // 4, list[Label]()
    for row in (2 * (lane % 4), 2 * (lane % 4) + 1):
        found += a[4 * row + column // 2][column % 2 * half :][:half]
    return tuple(found)
