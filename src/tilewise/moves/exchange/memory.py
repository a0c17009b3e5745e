"""Where units lie in shared memory between the two sides of an exchange, over GF(2).

The law is that of `check.swizzling`: an access takes 2^d wavefronts for each phase, where d is the dimension
of what its phase asks for and memory places in the bank of 0, less what is in the word of 0. The lowest bits
of an address are what an instruction asks for: a vector of registers, a row of ldmatrix. The functions that
give them vanish on the threads of that side. On what they leave (`rest`), the lanes of a phase of either side
are a space of as many dimensions as there are banks left, or fewer, and two spaces of one dimension have a
common complement: pairs of their vectors, one of each, XORed. That is placed in one bank, and so no two lanes
of a phase meet, on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from tilewise.core.bits import Basis, combined, kernel
from tilewise.hardware.limits import LANE_BITS
from tilewise.hardware.memory.banks import BANKS, WORD
from tilewise.moves.exchange.affine import Map, Side, independent, meet

ROW = 16
"""Bytes of the widest vector, and of a row of a matrix."""

_BANK_BITS = BANKS.bit_length() - 1


@dataclass(frozen=True, slots=True, order=True)
class Way:
    """How one side reaches memory: vectors of `bytes`, or matrices of rows of 16 bytes."""

    bytes: int
    matrix: bool = False
    trans: bool = False
    lanes: int = 1
    """1, or 2 that load one vector, of which each picks its own by the lowest bit of an address."""

    def __str__(self) -> str:
        if self.matrix:
            return "matrix.trans" if self.trans else "matrix"
        return f"{self.bytes} B" if self.lanes == 1 else f"{self.bytes} B of two lanes"


MATRIX, TRANSPOSED = Way(ROW, True), Way(ROW, True, True)


def ways(unit: int, stores: bool) -> list[Way]:
    """Those of units of so many bytes; matrices are of 16 bits, and plain ones of whole words."""
    found = [Way(bytes) for bytes in (1, 2, 4, 8, 16) if bytes >= unit]
    found += [MATRIX, *([TRANSPOSED] if unit <= 2 else [])]
    if unit < WORD and not stores:
        found += [Way(bytes, lanes=2) for bytes in (4, 8, 16)]
    return found


@dataclass(frozen=True)
class Memory:
    """A linear map from labels to byte addresses, and how both sides reach it."""

    store: Way
    load: Way
    unit: int
    """Bytes of a unit."""
    address: Map
    low: tuple[int, ...]
    """The labels of the lowest bits of an address, from the unit on."""
    swizzled: tuple[int, ...]
    """Bits of an address that are XORs."""
    excess: tuple[int, int]
    """Dimensions by which lanes of a phase share banks, on both sides."""
    joined: Basis
    """The labels by which what one access touches differs, on either side: a warp alone can take others in
    turns. In a block they are all."""


def memories(store: Side, load: Side, unit: int, alone: bool) -> Callable[[Way, Way], Memory | None]:
    """What gives the map for two ways, or None where there is none.

    Of a warp `alone` the highest bits of an address tell turns apart.
    """
    return _Chooser(store, load, unit, alone).memory


class _Chooser:
    """The two sides, and what they have in common."""

    def __init__(self, store: Side, load: Side, unit: int, alone: bool) -> None:
        self.sides = store, load
        self.unit = unit
        self.alone = alone
        self.of_word = (WORD // unit).bit_length() - 1
        self.of_row = (ROW // unit).bit_length() - 1
        self.all = independent([*store.columns, load.origin, *load.columns])
        self.registers = [Basis(side.positions) for side in self.sides]
        self.common = meet(store.positions, load.positions)
        self.threads = [independent(side.threads) for side in self.sides]

    def memory(self, store: Way, load: Way) -> Memory | None:
        """The map for these two ways; None where there is none."""
        both = store, load
        depth = max(self.of_word, *map(self._asked, both))
        low = self._low(both, depth)
        if low is None:
            return None
        image = self._image(both, low)
        if image is None:
            return None

        def rest(vector: int) -> int:
            return vector ^ combined(low, image(vector))

        asked = [self._phase(side, way, low) for side, way in zip(self.sides, both, strict=True)]
        phases = [
            independent(combined(vectors, chosen) for chosen in kernel(list(map(image, vectors))))
            for vectors in asked
        ]
        banks = _BANK_BITS - (depth - self.of_word)
        joined = Basis([*self.threads[0], *self.threads[1], *low] if self.alone else self.all)
        inner, swizzled = _placed(phases, independent(map(rest, self._in_order(both, joined))), banks, depth)
        address = Map()
        for j, vector in enumerate(low):
            address.define(vector, self.unit << j)
        for vector, bits in inner:
            address.define(vector, bits * self.unit)
        excess = [max(0, len(phase) - banks) for phase in phases]
        xors = tuple(bit + self.unit.bit_length() - 1 for bit in swizzled)
        return Memory(store, load, self.unit, address, tuple(low), xors, (excess[0], excess[1]), joined)

    def _asked(self, way: Way) -> int:
        """Low bits of an address that a way decides."""
        return self.of_row if way.matrix else (way.bytes // self.unit).bit_length() - 1

    def _in_order(self, both: tuple[Way, Way], joined: Basis) -> list[int]:
        """Labels that span all; those last whose extents are no powers of two, for the end of memory.

        Those are first that one access joins, then those that several matrices of one may join.
        """
        store = self.sides[0]
        tops = [columns[-1] for columns in (store.positions, store.warps) if columns]
        found = sorted(self.all, key=lambda own: any(own & top for top in tops if top))
        matrices = [side.positions for side, way in zip(self.sides, both, strict=True) if way.matrix]
        return [*filter(joined.__contains__, found), *chain(*matrices), *found]

    # -- the lowest bits ---------------------------------------------------------------------------

    def _low(self, both: tuple[Way, Way], depth: int) -> list[int] | None:
        """The labels of the lowest bits of an address."""
        found, taken = list[int](), Basis()
        for j in range(depth):
            wishes = [self._wish(side, way, j) for side, way in enumerate(both)]
            fixed = {wish for wish in wishes if not isinstance(wish, bool)}
            inside = [side for side, wish in enumerate(wishes) if wish is True]
            if len(fixed) > 1:
                return None
            candidates = fixed or self._candidates(inside, j)
            if j == 0 and both[1].lanes == 2:
                candidates = [own for own in self.sides[1].lanes if not fixed or own in fixed]
            vector = next(
                (
                    own
                    for own in candidates
                    if own > 0 and own not in taken and all(own in self.registers[side] for side in inside)
                ),
                None,
            )
            if vector is None:
                return None
            taken.add(vector)
            found.append(vector)
        return found

    def _wish(self, side: int, way: Way, j: int) -> int | bool:
        """What a way wants bit j to be: a label, some label of its registers (True), or anything (False)."""
        if not way.matrix:
            return (0 if way.lanes == 1 else 1) <= j < self._asked(way)
        lanes = self.sides[side].lanes
        first = self.of_word - 1 if way.trans else self.of_word
        if j < first:
            return True
        own = lanes[j - first + (2 if way.trans else 0)]
        return own or -1

    def _candidates(self, inside: list[int], j: int) -> list[int]:
        """Labels that may be bit j, those first that cost the least to bring there."""
        store, load = self.sides
        natural = [side.positions[j] for side in self.sides if j < len(side.positions)]
        within = [own for side in self.sides for own in side.positions[: self.of_word]]
        if j >= self.of_word:
            natural, within = [], []
        if len(inside) == 2:
            return [*natural, *within, *self.common]
        if inside:
            other = self.sides[1 - inside[0]]
            mine = self.sides[inside[0]]
            lanes = meet(mine.positions, other.lanes) if j >= self.of_word else []
            return [*natural, *within, *lanes, *mine.positions]
        return [*meet(store.lanes, load.lanes), *store.positions, *load.positions, *self.all]

    def _image(self, both: tuple[Way, Way], low: list[int]) -> Map | None:
        """The lowest bits of an address, in units, as a function of the label."""
        functions = []
        for j in range(len(low)):
            function = Map()
            agreed = all(function.define(vector, int(i == j)) for i, vector in enumerate(low))
            for side, way in enumerate(both):
                agreed = agreed and all(function.define(own, 0) for own in self._still(side, way, j, low))
            if not agreed:
                return None
            functions.append(function)
        self._spread(both, functions)
        found = Map()
        for vector in self.all:
            image = 0
            for j, function in enumerate(functions):
                function.define(vector, 0)
                image |= function(vector) << j
            found.define(vector, image)
        return found

    def _still(self, side: int, way: Way, j: int, low: list[int]) -> list[int]:
        """Labels that do not move bit j of an address."""
        own = self.sides[side]
        if not way.matrix:
            shared = low[0] if way.lanes == 2 else -1
            return (
                [vector for vector in self.threads[side] if vector != shared] if j < self._asked(way) else []
            )
        lanes = own.lanes[:2] if way.trans else own.lanes[2:]
        if j >= self.of_row:
            return []
        inside = Basis(low[: self.of_word - 1 if way.trans else self.of_word])
        outside = [vector for vector in own.positions if vector not in inside]
        return [*lanes, *own.warps, *outside]

    def _spread(self, both: tuple[Way, Way], functions: list[Map]) -> None:
        """Lanes of a side with narrow words over the words of a row, as far as they are free to be there."""
        for side, way in enumerate(both):
            moved = {
                j for j, f in enumerate(functions) for own in self.sides[side].lanes if f.known(own) == 1
            }
            for j in range(max(self.of_word, self._asked(way)), len(functions)):
                if j in moved:
                    continue
                free = [own for own in self.sides[side].lanes if own and functions[j].known(own) is None]
                if free:
                    functions[j].define(free[0], 1)

    def _phase(self, side: Side, way: Way, low: list[int]) -> list[int]:
        """A basis of the labels that a phase of a side asks for, with those of its words."""
        lanes = LANE_BITS
        if not way.matrix:
            lanes -= max(0, (way.bytes // WORD // way.lanes).bit_length() - 1)
        sub = [] if not way.matrix else list(side.positions)
        taken = low[: max(self._asked(way) if not way.matrix else 0, self.of_word)]
        if way.matrix:
            inside = low[: self.of_word - 1] if way.trans else low[: self.of_word]
            basis = Basis(inside)
            half = next((own for own in sub if own not in basis), 0) if way.trans else 0
            taken = [*low[: self.of_word], half]
        return independent([*taken, *side.lanes[:lanes]])


def _placed(
    phases: Sequence[Sequence[int]], rest: Sequence[int], banks: int, first: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """(label, address in units) of a basis of what the lowest bits leave; bits of banks that are XORs."""
    both = meet(*phases)
    basis = Basis(both)
    ours, theirs = ([own for own in phase if basis.add_new(own)] for phase in phases)
    found, bank, above = list[tuple[int, int]](), 0, first + banks
    taken = Basis()
    waiting = list[int]()
    swizzled = list[int]()

    def place(vector: int, bits: int) -> None:
        taken.add(vector)
        found.append((vector, bits))

    for vector in both:
        if bank < banks:
            place(vector, 1 << first + bank)
            bank += 1
        else:
            waiting.append(vector)
    while ours and theirs and bank < banks:
        one, other = ours.pop(0), theirs.pop(0)
        place(one, 1 << first + bank)
        waiting.append(one ^ other)
        swizzled.append(first + bank)
        bank += 1
    for vector in (*ours, *theirs):
        if bank < banks:
            place(vector, 1 << first + bank)
            bank += 1
        else:
            waiting.append(vector)
    for vector in (*waiting, *rest):
        if vector in taken:
            continue
        if bank < banks and vector not in waiting:
            place(vector, 1 << first + bank)
            bank += 1
        else:
            place(vector, 1 << above)
            above += 1
    return found, swizzled
