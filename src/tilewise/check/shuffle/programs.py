"""Programs that make a transfer: of which the best is taken.

direct      rounds of shuffles, each straight from the lane that has it
stepwise    bits of the lane exchanged with bits of the position first, one by one: where registers hold
            several units, and a round could fill only a part of one
transposed  movmatrix between two arrangements inside the lanes, for units of 16 bits
voted       ballots, for units of one bit
"""

from __future__ import annotations

from tilewise.check.shuffle.gather import gathered
from tilewise.check.shuffle.lanes import completed
from tilewise.check.shuffle.linear import LANE, Linear
from tilewise.check.shuffle.rounds import Round, schedules
from tilewise.check.shuffle.steps import Builder, Program
from tilewise.check.shuffle.transfer import Transfer
from tilewise.core.bits import Basis
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tilewise.check.shuffle.gather import Row

    Where = list[dict[tuple[int, int], list[tuple[int, int]]]]
    """For every lane: {unit of the source: (register, slot) wherever the lane has it, its own first}."""

_MOVED_BY_MATRIX = 16


def programs(table: Transfer, found: Linear | None, without: frozenset[str]) -> Iterator[Program]:
    """Every program that is tried; none takes an operation of `without`."""
    if table.bits == 1 and "ballot" not in without:
        yield from _voted(table)
    for rounds in schedules(table, found):
        for settled in (_where_it_was, _where_it_goes)[: table.per_register]:
            builder = Builder(table.registers_held)
            yield builder.program(direct(builder, table, list(range(table.registers_held)), rounds, settled))
    if found is not None and found.bits - found.crossing < table.per_register.bit_length() - 1:
        yield from _stepwise(table, found)
    elif found is not None and found.crossing > 1:
        yield from _bit_by_bit(table, found)
    if found is not None and table.bits == _MOVED_BY_MATRIX and "movmatrix" not in without:
        yield from _transposed(table, found)


# -- rounds of shuffles ----------------------------------------------------------------------------


def direct(
    builder: Builder,
    table: Transfer,
    inputs: Sequence[int],
    rounds: Sequence[Round],
    settled: Callable[[Transfer, Round, int], list[int | None]],
) -> list[int | None]:
    """The registers of the target, out of those of the source, by rounds of shuffles."""
    where = _own(table, inputs)
    for made in rounds:
        slots = [settled(table, made, lane) for lane in range(LANES)]
        wanted: list[Row] = [
            tuple(None if at is None else where[lane][lane, at][0] for at in row)
            for lane, row in enumerate(slots)
        ]
        offered = gathered(builder, wanted, table.bits)
        received = offered if made.stays else builder.add("shfl", (offered,), completed(made.reads))
        for lane, its in enumerate(made.reads):
            if its is not None:
                for slot, at in enumerate(slots[its]):
                    if at is not None:
                        where[lane].setdefault((its, at), []).append((received, slot))
    return _results(builder, table, where)


def _own(table: Transfer, inputs: Sequence[int]) -> Where:
    """What every lane has before anything moves."""
    size = table.per_register
    return [
        {(lane, at): [(inputs[at // size], at % size)] for at in range(len(inputs) * size)}
        for lane in range(LANES)
    ]


def _results(builder: Builder, table: Transfer, where: Where) -> list[int | None]:
    """The registers of the target, out of what every lane has by now."""
    size = table.per_register
    results: list[int | None] = []
    for register in range(table.registers):
        wanted = [
            tuple(_found(row[size * register :][:size], at, lane, where[lane]) for at in range(size))
            for lane, row in enumerate(table.wanted)
        ]
        empty = all(slot is None for row in wanted for slot in row)
        results.append(None if empty else gathered(builder, wanted, table.bits))
    return results


def _found(
    row: Sequence[frozenset[tuple[int, int]]],
    at: int,
    lane: int,
    where: dict[tuple[int, int], list[tuple[int, int]]],
) -> tuple[int, int] | None:
    """Where a lane has what belongs to a slot: what it received first, for all lanes received alike."""
    sources = row[at] if at < len(row) else frozenset()
    known = [
        (i == 0 and unit[0] == lane, slot != at, register, slot)
        for unit in sources
        for i, (register, slot) in enumerate(where.get(unit, ()))
    ]
    assert known or not sources
    return min(known)[2:] if known else None


def _where_it_was(table: Transfer, made: Round, lane: int) -> list[int | None]:
    """What a lane offers, every unit in the slot that it has there."""
    return _placed(
        made.offers[lane], [at % table.per_register for at in made.offers[lane]], table.per_register
    )


def _where_it_goes(table: Transfer, made: Round, lane: int) -> list[int | None]:
    """What a lane offers, every unit in the slot that it has where it goes."""
    wishes = []
    readers = [reader for reader, its in enumerate(made.reads) if its == lane]
    for at in made.offers[lane]:
        slots = [
            position % table.per_register
            for reader in readers
            for position, sources in enumerate(table.wanted[reader])
            if (lane, at) in sources
        ]
        wishes.append(slots[0] if slots else 0)
    return _placed(made.offers[lane], wishes, table.per_register)


def _placed(offers: Sequence[int], wishes: Sequence[int], size: int) -> list[int | None]:
    """Units in the slots that they wish, or in free ones where two wish one."""
    row: list[int | None] = [None] * size
    waiting = []
    for at, wish in zip(offers, wishes, strict=True):
        if row[wish] is None:
            row[wish] = at
        else:
            waiting.append(at)
    for at in waiting:
        row[row.index(None)] = at
    return row


# -- step by step ----------------------------------------------------------------------------------


def _stepwise(table: Transfer, found: Linear) -> Iterator[Program]:
    """Stages, each of which brings some bits of the lane to the position, and then the rest directly.

    Bits of the lane and of the position are exchanged, some at a time; or lanes in pairs put together what
    they have, so that every lane has twice as much, and as much again.
    """
    filled = found.bits - (table.per_register.bit_length() - 1)
    held = max(table.held - 1, 0).bit_length()
    for size in range(1, max(filled, 1) + 1):
        stages, rest = list[Linear](), found
        while rest.crossing > filled and (stage := _exchanges(rest, held, size)) is not None:
            stages.append(stage)
            rest = _after(stage, rest)
        yield from _staged(table, stages, rest)
    stages, rest = [], found
    if len(Basis(found.columns)) == len(found.columns):
        return  # one to one: nobody needs twice as much
    while (bit := _gathers(rest)) is not None:
        stages.append(_pairing(bit, held + len(stages)))
        rest = _after_pairing(rest, bit, held + len(stages) - 1)
        yield from _staged(table, stages, rest)


def _bit_by_bit(table: Transfer, found: Linear) -> Iterator[Program]:
    """One exchange of two bits after another: more shuffles than are needed, and fewer selects."""
    stages, rest = list[Linear](), found
    held = max(table.held - 1, 0).bit_length()
    while (stage := _exchange(rest, held)) is not None:
        stages.append(stage)
        rest = _after(stage, rest)
    if stages:
        yield from _staged(table, stages, rest)


def _staged(table: Transfer, stages: list[Linear], rest: Linear) -> Iterator[Program]:
    builder = Builder(table.registers_held)
    registers: list[int | None] = list(range(table.registers_held))
    for own in (*stages, rest):
        moved = _table_of(own, table) if own is not rest else _table_after(table, own)
        inputs = [0 if register is None else register for register in registers]
        inputs += [0] * (moved.registers_held - len(inputs))
        registers = direct(builder, moved, inputs, next(schedules(moved, own)), _where_it_was)
    yield builder.program(registers)


def _exchanges(found: Linear, held: int, size: int) -> Linear | None:
    """So many exchanges of two bits as one, or as many as there are; None where there are none."""
    whole: Linear | None = None
    for _ in range(size):
        swap = _exchange(found, held)
        if swap is None:
            break
        found = _after(swap, found)
        whole = swap if whole is None else _after(whole, swap)
    return whole


def _exchange(found: Linear, held: int) -> Linear | None:
    """The exchange of two bits of the source after which fewer bits of the lane come from the position.

    Of several the one after which most bits are in their places.
    """
    best: tuple[int, Linear] | None = None
    for lane_bit in range(LANE_BITS):
        for bit in range(LANE_BITS, LANE_BITS + held):
            columns = [1 << own for own in range(LANE_BITS + held)]
            columns[lane_bit], columns[bit] = columns[bit], columns[lane_bit]
            swap = Linear(0, tuple(columns))
            rest = _after(swap, found)
            settled = sum(column == 1 << own for own, column in enumerate(rest.columns))
            if rest.crossing < found.crossing and (best is None or settled > best[0]):
                best = settled, swap
    return None if best is None else best[1]


def _after(swap: Linear, found: Linear) -> Linear:
    """What is left of a transfer after an exchange of bits of its source."""
    return Linear(swap(found.origin), tuple(map(swap.step, found.columns)))


def _gathers(found: Linear) -> int | None:
    """A bit of the lane without which fewer bits of the lane come from the position, if there is one."""
    fewer = (bit for bit in range(LANE_BITS) if _after_pairing(found, bit, 0).crossing < found.crossing)
    return next(fewer, None)


def _pairing(lane_bit: int, held: int) -> Linear:
    """Every lane gets what the lane has that differs in a bit: that bit is one of the position then."""
    columns = [1 << own for own in range(LANE_BITS + held)]
    columns[lane_bit] = 0
    return Linear(0, (*columns, 1 << lane_bit))


def _after_pairing(found: Linear, lane_bit: int, held: int) -> Linear:
    """What is left of a transfer once that bit of the lane is at the top of the position as well."""

    def moved(place: int) -> int:
        return place & ~(1 << lane_bit) | (place >> lane_bit & 1) << LANE_BITS + held

    columns = list(map(moved, found.columns))
    columns[lane_bit] |= 1 << lane_bit
    return Linear(moved(found.origin), tuple(columns))


def _table_of(found: Linear, table: Transfer) -> Transfer:
    """An affine map as a transfer."""
    count = 1 << found.bits
    places = [[found(lane | at << LANE_BITS) for at in range(count)] for lane in range(LANES)]
    wanted = tuple(tuple(frozenset({(own & LANE, own >> LANE_BITS)}) for own in row) for row in places)
    return Transfer(table.bits, wanted, 1 + max(own >> LANE_BITS for row in places for own in row))


def _table_after(table: Transfer, rest: Linear) -> Transfer:
    """What is left of a table: an affine map, wherever something is wanted."""
    whole = _table_of(rest, table)
    rows = zip(whole.wanted, table.wanted, strict=True)
    wanted = tuple(
        tuple(own if needed else needed for own, needed in zip(*row, strict=False)) for row in rows
    )
    return Transfer(table.bits, wanted, whole.held)


# -- movmatrix -------------------------------------------------------------------------------------


def _transposed(table: Transfer, found: Linear) -> Iterator[Program]:
    """movmatrix of every register, between two arrangements inside the lanes, for a map that is one to one.

    movmatrix brings to slot s of lane l what is in slot (l >> 2) & 1 of lane 8 (l & 3) + 4 s + (l >> 3). It
    serves where the lane that is needed is 8 (l & 3) + (l >> 3), and 4 more for half of the positions: then
    slot s is made of these, and all others of the target are the registers.
    """
    chosen = [bit for bit in range(found.bits) if found.of_position[bit] & LANE]
    crosses = all(found.of_position[bit] & LANE == _SLOT_LANE for bit in chosen)
    flips = [column & LANE ^ _MATRIX[bit] for bit, column in enumerate(found.of_lane)]
    one_to_one = len(Basis(found.columns)) == len(found.columns)
    fills = table.held == table.positions == 1 << found.bits
    if not (one_to_one and fills and chosen and crosses and {*flips, found.origin & LANE} <= {0, _SLOT_LANE}):
        return
    builder = Builder(table.registers_held)
    middle: list[list[list[tuple[int, int] | None]]] = [
        [[None, None] for _ in range(LANES)] for _ in range(table.registers_held)
    ]
    reached: dict[tuple[int, int], tuple[int, int]] = {}
    for lane in range(LANES):
        for position in range(1 << found.bits):
            source = found(lane | position << LANE_BITS)
            slot = (source & LANE) // _SLOT_LANE % 2
            low = (1 << chosen[0]) - 1
            register = position & low | position >> 1 & ~low
            middle[register][source & LANE][lane // 4 % 2] = divmod(source >> LANE_BITS, 2)
            reached[lane, position] = register, slot
    matrices = [
        builder.add("movmatrix", (gathered(builder, [tuple(row) for row in rows], table.bits),))
        for rows in middle
    ]
    results = []
    for register in range(table.registers):
        wanted = [
            tuple(_of_matrix(matrices, reached[lane, 2 * register + slot]) for slot in range(2))
            for lane in range(LANES)
        ]
        results.append(gathered(builder, wanted, table.bits))
    yield builder.program(results)


_SLOT_LANE = 4
"""What the slot of a result of movmatrix flips in the lane that it comes from."""

_MATRIX = (8, 16, 0, 1, 2)
"""What the bits of the lane of a result of movmatrix flip in the lane that it comes from."""


def _of_matrix(matrices: list[int], reached: tuple[int, int]) -> tuple[int, int]:
    return matrices[reached[0]], reached[1]


# -- votes -----------------------------------------------------------------------------------------


def _voted(table: Transfer) -> Iterator[Program]:
    """Every register by ballots of the bits that it needs of all lanes, or out of its own lane."""
    builder = Builder(table.registers_held)
    size = table.per_register
    votes: dict[int, int] = {}
    where = _own(table, list(range(table.registers_held)))
    for lane, row in enumerate(table.wanted):
        for start in range(0, table.positions, size):
            needed = [sources for sources in row[start : start + size] if sources]
            if all(any(unit in where[lane] for unit in sources) for sources in needed):
                continue
            position = _one_vote(needed, votes)
            if position is None:
                return
            if position not in votes:
                by = [position % size] * LANES
                votes[position] = builder.add("ballot", (position // size,), by)
            for its in range(LANES):
                where[lane].setdefault((its, position), []).append((votes[position], its))
    if votes:
        yield builder.program(_results(builder, table, where))


def _one_vote(needed: Sequence[frozenset[tuple[int, int]]], votes: dict[int, int]) -> int | None:
    """The position at which lanes hold all that a register needs; one that was voted on, if possible."""
    common = set.intersection(*({at for _, at in sources} for sources in needed)) if needed else set()
    known = sorted(common & votes.keys())
    return known[0] if known else min(common, default=None)
