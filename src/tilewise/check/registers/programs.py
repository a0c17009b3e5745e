"""Programs that make a transfer; the best is taken.

direct      rounds of shuffles, each straight from the lane that has it
stepwise    bits of the lane exchanged with bits of the position first, one by one: where registers hold
            several units, and a round could fill only a part of one
transposed  movmatrix between two arrangements inside the lanes, for units of 16 bits
voted       ballots, for units of one bit
"""

from __future__ import annotations

from tilewise.check.registers.rounds import Round, completed, schedules
from tilewise.check.registers.steps import Builder, Program, Row, followed, gathered
from tilewise.check.registers.warp import LANE, LabelMap, WarpTable
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tilewise.check.registers.warp import Sources, Unit

    Where = list[dict[Unit, list[Unit]]]
    """For every lane: {unit of the source: its (register, slot), the lane's own first}."""

_MOVED_BY_MATRIX = 16


def programs(table: WarpTable, found: LabelMap | None, without: frozenset[str]) -> Iterator[Program]:
    """Yield every program to try; no program has an operation of `without`."""
    if table.bits == 1 and "ballot" not in without:
        yield from _voted(table)
    for rounds in schedules(table, found):
        for as_wanted in (False, True)[: table.per_register]:
            builder = Builder(table.registers_held)
            yield builder.program(direct(builder, table, range(table.registers_held), rounds, as_wanted))
    if found is None:
        return
    if len(found.positions) - found.crossing < table.per_register.bit_length() - 1:
        yield from _stepwise(table, found)
    elif found.crossing > 1:  # more shuffles than are needed, and fewer selects
        stages, rest = _exchanged(found, _held_bits(table))
        if stages:
            yield _staged(table, stages, rest)
    if table.bits == _MOVED_BY_MATRIX and "movmatrix" not in without:
        yield from _transposed(table, found)


def proved(program: Program, table: WarpTable) -> int:
    """Follow the elements to every place of the target; return the number of places.

    postcondition  all of them hold the right elements
    """
    width = min(table.bits, 8)
    fields, count = table.bits // width, 0
    registers = followed(program, width)
    for lane, position, sources in table.at():
        register, slot = divmod(position, table.per_register)
        held = registers[register]
        assert held is not None
        found = held[lane][slot * fields : (slot + 1) * fields]
        wanted = [tuple((its, at * fields + i) for i in range(fields)) for its, at in sources]
        assert found in wanted, (lane, position, found)
        count += 1
    return count


# -- rounds of shuffles ----------------------------------------------------------------------------


def direct(
    builder: Builder,
    table: WarpTable,
    inputs: Sequence[int],
    rounds: Sequence[Round],
    as_wanted: bool = False,
) -> list[int | None]:
    """Return the registers of the target, out of those of the source, by rounds of shuffles.

    A lane's offer is in the slots of the source, or, `as_wanted`, in those of the target.
    """
    where = _own(table, inputs)
    for made in rounds:
        slots = [_slots(table, made, lane, as_wanted) for lane in range(LANES)]
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


def _own(table: WarpTable, inputs: Sequence[int]) -> Where:
    """Return the places of all units of every lane before anything moves."""
    size = table.per_register
    return [
        {(lane, at): [(inputs[at // size], at % size)] for at in range(len(inputs) * size)}
        for lane in range(LANES)
    ]


def _slots(table: WarpTable, made: Round, lane: int, as_wanted: bool) -> list[int | None]:
    """Return the units that a lane offers in the wished slots; in free ones where two wish the same slot."""
    size = table.per_register
    row: list[int | None] = [None] * size
    waiting = []
    for at in made.offers[lane]:
        goes = (
            position % size
            for reader, its in enumerate(made.reads)
            if its == lane
            for position, sources in enumerate(table.wanted[reader])
            if (lane, at) in sources
        )
        wish = next(goes, 0) if as_wanted else at % size
        if row[wish] is None:
            row[wish] = at
        else:
            waiting.append(at)
    for at in waiting:
        row[row.index(None)] = at
    return row


def _results(builder: Builder, table: WarpTable, where: Where) -> list[int | None]:
    """Return the registers of the target, out of the registers that every lane has by now."""
    size = table.per_register
    results: list[int | None] = []
    for first in range(0, table.positions, size):
        wanted: list[Row] = []
        for lane, row in enumerate(table.wanted):
            slots = [_found(own, at, lane, where[lane]) for at, own in enumerate(row[first : first + size])]
            wanted.append((*slots, *[None] * (size - len(slots))))
        empty = all(slot is None for row in wanted for slot in row)
        results.append(None if empty else gathered(builder, wanted, table.bits))
    return results


def _found(sources: Sources, at: int, lane: int, where: dict[Unit, list[Unit]]) -> Unit | None:
    """Return the place of a slot's unit in a lane: the first received, alike for all received units."""
    known = [
        (i == 0 and unit[0] == lane, slot != at, register, slot)
        for unit in sources
        for i, (register, slot) in enumerate(where.get(unit, ()))
    ]
    assert known or not sources
    return min(known)[2:] if known else None


# -- step by step ----------------------------------------------------------------------------------


def _stepwise(table: WarpTable, found: LabelMap) -> Iterator[Program]:
    """Yield stages, each of which brings some bits of the lane to the position, and then the rest directly.

    Bits of the lane and of the position are exchanged, some at a time. Or lanes in pairs join their units, so
    that every lane has twice as many after each stage.
    """
    filled = len(found.positions) - (table.per_register.bit_length() - 1)
    held = _held_bits(table)
    for size in range(1, max(filled, 1) + 1):
        yield _staged(table, *_exchanged(found, held, size, filled))
    if found.one_to_one:
        return  # no lane needs twice as much
    stages, rest = list[LabelMap](), found
    while True:
        columns = [1 << own for own in range(LANE_BITS + held + len(stages))]
        bit = next(
            (bit for bit in range(LANE_BITS) if _paired(rest, columns, bit).crossing < rest.crossing), None
        )
        if bit is None:
            return
        rest = _paired(rest, columns, bit)
        columns[bit] = 0
        stages.append(LabelMap.of_lanes([*columns, 1 << bit]))
        yield _staged(table, stages, rest)


def _paired(found: LabelMap, columns: Sequence[int], lane_bit: int) -> LabelMap:
    """Return the map that is left once lanes that differ in a bit have exchanged elements, as more positions.

    Then that bit of the lane is the highest bit of the position.
    """
    moved = [1 << len(columns) if bit == lane_bit else column for bit, column in enumerate(columns)]
    rest = found.through(moved)
    threads = [column | (1 << lane_bit) * (bit == lane_bit) for bit, column in enumerate(rest.threads)]
    return LabelMap(rest.origin, rest.positions, tuple(threads))


def _held_bits(table: WarpTable) -> int:
    return max(table.held - 1, 0).bit_length()


def _staged(table: WarpTable, stages: Sequence[LabelMap], rest: LabelMap) -> Program:
    """Return the stages one after the other, and the map that is left, wherever something is wanted."""
    builder = Builder(table.registers_held)
    registers: list[int | None] = list(range(table.registers_held))
    for side in (*stages, rest):
        moved = _table_of(side, table.bits, table.wanted if side is rest else ())
        inputs = [0 if register is None else register for register in registers]
        inputs += [0] * (moved.registers_held - len(inputs))
        registers = direct(builder, moved, inputs, next(schedules(moved, side)))
    return builder.program(registers)


def _exchanged(
    found: LabelMap, held: int, size: int = 1, crossing: int = 0
) -> tuple[list[LabelMap], LabelMap]:
    """Return stages of up to `size` exchanges of two bits, and the map that is left, with so many bits that
    cross.
    """
    stages, rest = list[LabelMap](), found
    while rest.crossing > crossing:
        stage, before = LabelMap.of_lanes([1 << bit for bit in range(LANE_BITS + held)]), rest
        for _ in range(size):
            swap = _exchange(rest, held)
            if swap is None:
                break
            stage, rest = stage.through(swap), rest.through(swap)
        if rest is before:
            break
        stages.append(stage)
    return stages, rest


def _exchange(found: LabelMap, held: int) -> list[int] | None:
    """Return the exchange of two bits of the source after which fewer bits of the lane cross.

    Among several, the returned one leaves most bits in their places.
    """
    best, settled = None, -1
    for lane_bit in range(LANE_BITS):
        for bit in range(LANE_BITS, LANE_BITS + held):
            columns = [1 << own for own in range(LANE_BITS + held)]
            columns[lane_bit], columns[bit] = columns[bit], columns[lane_bit]
            rest = found.through(columns)
            if rest.crossing < found.crossing and rest.settled > settled:
                best, settled = columns, rest.settled
    return best


def _table_of(found: LabelMap, bits: int, wanted: Sequence[Sequence[Sources]]) -> WarpTable:
    """Return an affine map as a transfer of all positions, or of those where something is wanted."""
    labels = [[found.label(lane, at) for at in range(1 << len(found.positions))] for lane in range(LANES)]
    places = [[(label & LANE, label >> LANE_BITS) for label in row] for row in labels]
    rows = []
    for lane, row in enumerate(places):
        needed = wanted[lane] if wanted else [True] * len(row)
        units = zip(row, needed, strict=False)
        rows.append(tuple([frozenset([(its, at)] if need else []) for (its, at), need in units]))
    return WarpTable(bits, tuple(rows), 1 + max(at for row in places for _, at in row))


# -- movmatrix -------------------------------------------------------------------------------------


_SLOT_LANE = 4
"""The bit that the slot of a result of movmatrix flips in the lane that it comes from."""

_MATRIX = (8, 16, 0, 1, 2)
"""The bits that the lane of a result of movmatrix flips in the lane that it comes from."""


def _transposed(table: WarpTable, found: LabelMap) -> Iterator[Program]:
    """Yield movmatrix of every register, between two arrangements inside the lanes, for a one to one map.

    movmatrix moves slot (l >> 2) & 1 of lane 8 (l & 3) + 4 s + (l >> 3) to slot s of lane l. It serves where
    the needed lane is 8 (l & 3) + (l >> 3), and 4 more for half of the positions. Then slot s is made of
    these positions, and all other bits of the target count registers.
    """
    chosen = [bit for bit, column in enumerate(found.positions) if column & LANE]
    crosses = all(found.positions[bit] & LANE == _SLOT_LANE for bit in chosen)
    flips = [column & LANE ^ _MATRIX[bit] for bit, column in enumerate(found.threads)]
    fills = table.held == table.positions == 1 << len(found.positions)
    if not (fills and chosen and crosses and {*flips, found.origin & LANE} <= {0, _SLOT_LANE}):
        return
    if not found.one_to_one:
        return
    low = (1 << chosen[0]) - 1
    size = table.positions
    sides: list[list[list[Sources]]] = [[[frozenset()] * size for _ in range(LANES)] for _ in range(2)]
    before, after = sides
    for lane in range(LANES):
        for position in range(table.positions):
            source = found.label(lane, position)
            its, first = source & LANE, 2 * (position & low | position >> 1 & ~low)
            before[its][first + lane // 4 % 2] = frozenset([(its, source >> LANE_BITS)])
            after[lane][position] = frozenset([(lane, first + its // _SLOT_LANE % 2)])
    inside, outside = (WarpTable(table.bits, tuple(map(tuple, rows)), table.held) for rows in sides)
    builder = Builder(table.registers_held)
    arranged = direct(builder, inside, range(table.registers_held), ())
    matrices = [builder.add("movmatrix", (own,)) for own in arranged if own is not None]
    yield builder.program(direct(builder, outside, matrices, ()))


# -- votes -----------------------------------------------------------------------------------------


def _voted(table: WarpTable) -> Iterator[Program]:
    """Yield every register by ballots of the bits that it needs of all lanes, or out of its own lane."""
    builder = Builder(table.registers_held)
    size = table.per_register
    votes: dict[int, int] = {}
    where = _own(table, range(table.registers_held))
    for lane, row in enumerate(table.wanted):
        for start in range(0, table.positions, size):
            needed = [sources for sources in row[start : start + size] if sources]
            if all(any(unit in where[lane] for unit in sources) for sources in needed):
                continue
            common = set.intersection(*({at for _, at in sources} for sources in needed))
            if not common:
                return
            position = min(common & votes.keys() or common)
            if position not in votes:
                by = [position % size] * LANES
                votes[position] = builder.add("ballot", (position // size,), by)
            for its in range(LANES):
                where[lane].setdefault((its, position), []).append((votes[position], its))
    if votes:
        yield builder.program(_results(builder, table, where))
