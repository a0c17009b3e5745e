"""Registers out of registers of the same lane: which steps put every unit where it belongs.

What is wanted is a table: for every lane, and every slot of the register that is made, (register, slot), or
None where anything will do.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from tilewise.check.registers.steps import Builder
from tilewise.hardware.limits import LANES, REGISTER_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Slot: TypeAlias = tuple[int, int] | None
    Row: TypeAlias = tuple[Slot, ...]
    Choice: TypeAlias = list[int | None]


BYTE = 8


def gathered(builder: Builder, wanted: Sequence[Row], bits: int) -> int:
    """Return the register that holds what is wanted, slots being `bits` wide."""
    numbers = [_by_number(row) for row in wanted]
    in_place = all(slot is None or slot[1] == at for row in wanted for at, slot in enumerate(row))
    if in_place and all(len(own) < 2 for own in numbers):
        return chosen(builder, [own[0] if own else None for own in numbers])
    return _permuted(builder, wanted, bits) if bits >= BYTE else _merged(builder, wanted, bits)


def _by_number(row: Row) -> list[int]:
    """Return the registers of a row, smallest first."""
    return sorted({slot[0] for slot in row if slot})


# -- one of several registers ----------------------------------------------------------------------


def chosen(builder: Builder, table: Choice) -> int:
    """Return the register that is table[lane] in every lane; any where that is None.

    The bits of the lane's number are asked first, so that registers that are chosen alike share steps.
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


def _best_question(table: Choice) -> int:
    """Return a set of lanes that parts the registers in two, none of which is needed on both sides."""
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
                break  # in halves
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
    """Return the register of bytes of up to two registers by prmt; of more, of two halves of them."""
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
    """Return a register with all that is wanted of a group; and whether slots stay where they were in it."""
    if all(len(own) < 2 for own in group):
        return chosen(builder, [min(own, default=None) for own in group]), True
    rows = [
        tuple(slot if slot and slot[0] in own else None for slot in row)
        for row, own in zip(wanted, group, strict=True)
    ]
    return _permuted(builder, rows, bits), False


def _filled(numbers: list[int | None]) -> list[int]:
    """Return numbers for all lanes: where none matters, one that another lane has."""
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
