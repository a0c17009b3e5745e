"""Places of units in shared memory between the two sides of an exchange, over GF(2).

The law is that of `check.swizzling`: an access takes 2^d wavefronts for each phase. Here d is the dimension
of the phase's labels in the bank of 0, less those in the word of 0. The lowest bits of an address count
inside one access: a vector of registers, a row of ldmatrix. The functions for these bits vanish on the
threads of that side. On the space where they vanish (`rest`), the lanes of a phase of either side span at
most as many dimensions as bits of the bank are left. Two spaces of one dimension have a common complement:
pairs of their vectors, one of each, XORed. The complement is placed in one bank, and so no two lanes of a
phase meet, on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewise.check.registers.warp import LabelMap
from tilewise.core.bits import Basis, combined, independent, kernel, meet
from tilewise.hardware.limits import LANE_BITS
from tilewise.hardware.memory.banks import BANKS, WORD

ROW = 16
"""Bytes of the widest vector, and of a row of a matrix."""

_BANK_BITS = BANKS.bit_length() - 1


@dataclass(frozen=True, slots=True, order=True)
class Reach:
    """A side's access to memory: by vectors of `bytes`, or by matrices of rows of 16 bytes."""

    bytes: int
    matrix: bool = False
    trans: bool = False
    lanes: int = 1
    """1, or 2 lanes that load one vector, of which each picks its own half by the lowest bit of
    an address.
    """

    def __str__(self) -> str:
        if self.matrix:
            return "matrix.trans" if self.trans else "matrix"
        return f"{self.bytes} B" if self.lanes == 1 else f"{self.bytes} B of two lanes"


def reaches(unit: int, stores: bool) -> list[Reach]:
    """Return the ways for units of so many bytes: matrices of 16 bits, and plain ways of whole words."""
    found = [Reach(bytes) for bytes in (1, 2, 4, 8, 16) if bytes >= unit]
    found += [Reach(ROW, True), *([Reach(ROW, True, True)] if unit <= 2 else [])]
    if unit < WORD and not stores:
        found += [Reach(bytes, lanes=2) for bytes in (4, 8, 16)]
    return found


@dataclass(frozen=True)
class LinearMemory:
    """A linear map from labels to byte addresses, and the access of both sides."""

    store: Reach
    load: Reach
    unit: int
    """Bytes of a unit."""
    addresses: Basis
    low: tuple[int, ...]
    """The labels of the lowest bits of an address, from the unit on."""
    swizzled: tuple[int, ...]
    """Bits of an address that are XORs."""
    joined: Basis
    """Label differences inside one access, on either side. A single warp can process others in turns; in a
    block these are all.
    """

    def address(self, label: int) -> int:
        """Return the byte address of a label."""
        found = self.addresses.combination(label)
        assert found is not None, label
        return found


_REGISTER = 0
"""A bit of an address that is any label of the registers of a side."""


class Memories:
    """The two sides, and their shared parts. Of a warp `alone`, high bits of an address tell turns apart."""

    def __init__(self, store: LabelMap, load: LabelMap, unit: int, alone: bool) -> None:
        self.sides = store, load
        self.unit = unit
        self.alone = alone
        self.of_word = (WORD // unit).bit_length() - 1
        self.all = independent([*store.columns, load.origin, *load.columns])
        self.registers = [Basis(side.positions) for side in self.sides]
        self.common = meet(store.positions, load.positions)
        self.threads = [independent(side.threads) for side in self.sides]

    def memory(self, store: Reach, load: Reach) -> LinearMemory | None:
        """Return the map for these two ways, or None where there is no such map."""
        both = store, load
        forms = [self._form(side, reach) for side, reach in zip(self.sides, both, strict=True)]
        depth = max(self.of_word, *map(len, forms))
        low = self._low(forms, load.lanes, depth)
        image = None if low is None else self._image(both, forms, low)
        if low is None or image is None:
            return None

        phases = []
        for side, reach, form in zip(self.sides, both, forms, strict=True):
            asked = self._phase(side, reach, form, low)
            images = [image.combination(vector) or 0 for vector in asked]
            phases.append(independent(combined(asked, chosen) for chosen in kernel(images)))
        joined = Basis([*self.threads[0], *self.threads[1], *low] if self.alone else self.all)
        ordered = self._in_order(joined)
        rest = independent(vector ^ combined(low, image.combination(vector) or 0) for vector in ordered)
        inner, swizzled = _placed(phases, rest, _BANK_BITS - (depth - self.of_word), depth)
        addresses = Basis()
        for vector, bits in (*((vector, 1 << j) for j, vector in enumerate(low)), *inner):
            addresses.define(vector, bits * self.unit)
        xors = tuple(bit + self.unit.bit_length() - 1 for bit in swizzled)
        return LinearMemory(store, load, self.unit, addresses, tuple(low), xors, joined)

    def _form(self, side: LabelMap, reach: Reach) -> list[int | None]:
        """Return the demand on each low bit of an address: a register, the label of a lane, or anything."""
        if not reach.matrix:
            form: list[int | None] = [_REGISTER] * ((reach.bytes // self.unit).bit_length() - 1)
            return form if reach.lanes == 1 else [None, *form[1:]]
        lanes = side.lanes[2:] if reach.trans else side.lanes[:2]
        return [*[_REGISTER] * (self.of_word - reach.trans), *(lane or -1 for lane in lanes)]

    def _in_order(self, joined: Basis) -> list[int]:
        """Return labels that span all; the last ones have extents that are no powers of two, for the end of
        memory.

        The first ones are joined by one access.
        """
        store = self.sides[0]
        tops = [columns[-1] for columns in (store.positions, store.warps) if columns]
        found = sorted(self.all, key=lambda own: any(own & top for top in tops if top))
        return [*filter(joined.__contains__, found), *found]

    # -- the lowest bits ---------------------------------------------------------------------------

    def _low(self, forms: Sequence[list[int | None]], picking: int, depth: int) -> list[int] | None:
        """Return the labels of the lowest bits of an address."""
        found, taken = list[int](), Basis()
        for j in range(depth):
            wishes = [form[j] if j < len(form) else None for form in forms]
            fixed = {wish for wish in wishes if wish}
            inside = [side for side, wish in enumerate(wishes) if wish == _REGISTER]
            if len(fixed) > 1:
                return None
            candidates: Iterable[int] = fixed or self._candidates(inside, j)
            if j == 0 and picking == 2:
                candidates = [own for own in self.sides[1].lanes if not fixed or own in fixed]
            for vector in candidates:
                in_registers = all(vector in self.registers[side] for side in inside)
                if vector > 0 and vector not in taken and in_registers:
                    break
            else:
                return None
            taken.add(vector)
            found.append(vector)
        return found

    def _candidates(self, inside: list[int], j: int) -> list[int]:
        """Return labels that may be bit j, the cheapest to bring there first."""
        store, load = self.sides
        if not inside:
            return [*meet(store.lanes, load.lanes), *self.all]
        mine, other = self.sides[inside[0]], self.sides[1 - inside[0]]
        both = len(inside) == 2
        if j >= self.of_word:
            return self.common if both else [*meet(mine.positions, other.lanes), *mine.positions]
        natural = [side.positions[j] for side in self.sides if j < len(side.positions)]
        return [*natural, *(self.common if both else mine.positions)]

    def _image(
        self, both: tuple[Reach, Reach], forms: Sequence[list[int | None]], low: list[int]
    ) -> Basis | None:
        """Return the lowest bits of an address, in units, as a function of the label."""
        functions = []
        for j in range(len(low)):
            function = Basis()
            values = [(vector, int(i == j)) for i, vector in enumerate(low)]
            for side, reach, form in zip(self.sides, both, forms, strict=True):
                if j < len(form):
                    values += [(vector, 0) for vector in self._still(side, reach, form, low)]
            if not all(function.define(*value) for value in values):
                return None
            functions.append(function)
        image = Basis()
        for vector in self.all:
            bits = [function.combination(vector) or 0 for function in functions]
            for function in functions:
                function.define(vector, 0)
            image.define(vector, sum(bit << j for j, bit in enumerate(bits)))
        return image

    def _still(self, side: LabelMap, reach: Reach, form: list[int | None], low: list[int]) -> list[int]:
        """Return the labels of a side that move none of its lowest bits, except as these say."""
        if not reach.matrix:
            shared = low[0] if reach.lanes == 2 else -1
            return [vector for vector in independent(side.threads) if vector != shared]
        lanes = side.lanes[:2] if reach.trans else side.lanes[2:]
        inside = Basis(low[: form.count(_REGISTER)])
        return [*lanes, *side.warps, *(vector for vector in side.positions if vector not in inside)]

    def _phase(self, side: LabelMap, reach: Reach, form: list[int | None], low: list[int]) -> list[int]:
        """Return a basis of the labels that a phase of a side asks for, with those of its words."""
        if not reach.matrix:
            lanes = LANE_BITS - max(0, (reach.bytes // WORD // reach.lanes).bit_length() - 1)
            return independent([*low[: max(len(form), self.of_word)], *side.lanes[:lanes]])
        inside = Basis(low[: form.count(_REGISTER)])
        halves = [vector for vector in side.positions if reach.trans and vector not in inside]
        return independent([*low[: self.of_word], *halves[:1], *side.lanes])


def _placed(
    phases: Sequence[Sequence[int]], rest: Sequence[int], banks: int, first: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return (label, address in units) of a basis of the labels left by the low bits; bits of banks that are
    XORs.
    """
    both = meet(*phases)
    basis = Basis(both)
    ours, theirs = ([own for own in phase if basis.add_new(own)] for phase in phases)
    in_banks, waiting, swizzled = list[int](), list[int](), list[int]()

    def place(vectors: Iterable[int]) -> None:
        for vector in vectors:
            (in_banks if len(in_banks) < banks else waiting).append(vector)

    place(both)
    while ours and theirs and len(in_banks) < banks:
        swizzled.append(first + len(in_banks))
        waiting.append(ours[0] ^ theirs.pop(0))
        place([ours.pop(0)])
    place([*ours, *theirs])
    taken, above = Basis(in_banks), list[int]()
    for vector in (*waiting, *rest):
        if taken.add(vector):
            free = len(in_banks) < banks and vector not in waiting
            (in_banks if free else above).append(vector)
    placed = [(vector, 1 << first + bit) for bit, vector in enumerate(in_banks)]
    return [*placed, *((vector, 1 << first + banks + bit) for bit, vector in enumerate(above))], swizzled
