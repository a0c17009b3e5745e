"""The claims of an oracle's tile in shared memory about the catalogue: tiles, atoms, canonical layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

from tests.oracle.claims import Claim, Place, claim

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.operands.canonical import offsets
from tilewise.hardware.tcgen05.kinds import KINDS, kind_of

WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}


@dataclass(frozen=True)
class Tile:
    """A tile of an oracle's: its extents, and the offset of every element, in elements."""

    of: str
    dtypes: tuple[str, ...]
    """Those of which the oracle says so: types of one width."""
    bits: int
    mode: str
    major: str
    rows: int
    k: int
    order: str
    offset: Callable[[int, int], int]
    atomicity: int = 16

    @property
    def values(self) -> dict[str, Any]:
        mode = "128B_ATOM_32B" if self.atomicity == 32 else self.mode
        return {"mode": mode, "major": self.major}

    @cached_property
    def every(self) -> list[Place]:
        """All of its elements."""
        found = product(range(self.rows), range(self.k))
        return [((row, column), {"m": self.offset(row, column)}) for row, column in found]

    def first(self, rows: int, k: int) -> Iterator[Place]:
        """The first rows and columns."""
        return (place for place in self.every if place[0][0] < rows and place[0][1] < k)

    @property
    def atom(self) -> tuple[int, int]:
        """Rows and columns of an atom."""
        long, deep = WIDTHS[self.mode] * 8 // self.bits, 4 if self.atomicity == 32 else 8
        return (deep, long) if self.major == "k" else (long, deep)

    def claims(self) -> Iterator[Claim]:
        """Of every instance that the tile is one of."""
        for entry, instance in _instances():
            if all(instance[name] == value for name, value in self.values.items()):
                yield from self._of(entry, instance)

    def _of(self, entry: str, instance: Mapping[str, Any]) -> Iterator[Claim]:
        if entry == "tcgen05.smem":
            if instance["dtype"] in self.dtypes and _stored(instance) == self.bits and self._whole(instance):
                sizes = {"rows": self.rows, "k": self.k, "order": self.order}
                yield claim(self.of, entry, self.every, **instance | sizes)
        elif instance["dtype"] in self.dtypes and self.bits == _bits(instance["dtype"]):
            if entry == "tcgen05.atom":
                yield claim(self.of, entry, self.first(*self.atom), **instance)
            else:
                yield self._canonical(instance)

    def _whole(self, instance: Mapping[str, Any]) -> bool:
        """Return whether it is a tile of whole products: A has at least 64 rows."""
        return self.rows % 64 == 0 and self.k * self.bits % 256 == 0

    def _canonical(self, instance: Mapping[str, Any]) -> Claim:
        """As many patterns as the tile has: K-major with a swizzle, of K one atom."""
        down, along = (extent // atom for extent, atom in zip((self.rows, self.k), self.atom, strict=True))
        mode = BLACKWELL[self.values["mode"]]
        if self.major == "k":
            chunks = along if not mode.bits else mode.chunks
            patterns = {"m": down, "k": chunks // 2}
            places: Iterable[Place] = self.first(self.rows, chunks * 128 // self.bits)
        else:
            patterns, places = {"m": down, "k": along}, self.every
        steps: dict[str, int] = {}
        if self.order == "k":
            lbo, sbo = offsets(mode, self.major, 1)
            steps = {"lbo": lbo * along, "sbo": sbo} if mode.bits else {"lbo": lbo, "sbo": sbo * along}
        return claim(self.of, "tcgen05.canonical", places, **instance | patterns | steps)


def _bits(dtype: str) -> int:
    return {"tf32": 32, "f16": 16, "bf16": 16, "e2m1": 4}.get(dtype, 8)


def _stored(instance: Mapping[str, Any]) -> int:
    kind = KINDS[instance["kind"]] if instance["kind"] else kind_of(instance["dtype"])
    return kind.stored_bits(instance["dtype"])


@cache
def _instances() -> list[tuple[str, dict[str, Any]]]:
    names = ("tcgen05.smem", "tcgen05.atom", "tcgen05.canonical")
    return [(name, values) for name in names for values in instances_of(find(name)).values()]
