"""Axes: the named directions in which places differ, and the facts of the known ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar, SupportsIndex

    from tilewise.core.vectors import Vector

STORAGE, OWNER, DEVICE = "storage", "owner", "device"


@dataclass(frozen=True, slots=True)
class AxisFacts:
    """The meaning of a known axis. A known axis adds facts, never permission to exist."""

    kind: str
    counts: str
    extent: int | None = None
    wider: tuple[int, str] = (0, "")
    """The extent that another target has, and the sentence for an axis that needs it."""

    def beyond(self, name: str, low: int, high: int) -> str:
        """Return a sentence for an axis that goes beyond its end, or ''.

        >>> KNOWN["laneid"].beyond("laneid", 0, 31)
        ''
        >>> KNOWN["laneid"].beyond("laneid", 0, 63)
        'laneid reaches 63: a wave of CDNA has lanes 0 to 63, and a warp 0 to 31'
        >>> KNOWN["wid_in_wg"].beyond("wid_in_wg", 0, 4)
        'wid_in_wg reaches 4, and goes from 0 to 3: warp in its warpgroup'
        """
        if self.extent is None or 0 <= low <= high < self.extent:
            return ""
        end = low if low < 0 else high
        more, words = self.wider
        if 0 <= low <= high < more:
            return f"{name} reaches {end}: {words}"
        return f"{name} reaches {end}, and goes from 0 to {self.extent - 1}: {self.counts}"


KNOWN: dict[str, AxisFacts] = {
    "m": AxisFacts(STORAGE, "elements of the buffer"),
    "reg": AxisFacts(STORAGE, "elements of one thread; 32-bit register = reg * bits // 32"),
    "TCol": AxisFacts(STORAGE, "elements; hardware column = TCol * bits // 32, of 512"),
    "TLane": AxisFacts(OWNER, "lane of tensor memory, never scaled", 128),
    "laneid": AxisFacts(
        OWNER,
        "lane of the warp (64 on CDNA)",
        32,
        wider=(64, "a wave of CDNA has lanes 0 to 63, and a warp 0 to 31"),
    ),
    "wid_in_wg": AxisFacts(OWNER, "warp in its warpgroup", 4),
    "tid_in_wg": AxisFacts(OWNER, "thread in its warpgroup", 128),
    "wgid": AxisFacts(OWNER, "warpgroup in the CTA"),
    "warpid": AxisFacts(OWNER, "warp in the CTA"),
    "tx": AxisFacts(OWNER, "thread in the CTA"),
    "cbx": AxisFacts(OWNER, "CTA in its cluster, x"),
    "cby": AxisFacts(OWNER, "CTA in its cluster, y"),
    "cbz": AxisFacts(OWNER, "CTA in its cluster, z"),
    "bx": AxisFacts(OWNER, "CTA in the grid, x"),
    "by": AxisFacts(OWNER, "CTA in the grid, y"),
    "bz": AxisFacts(OWNER, "CTA in the grid, z"),
    "gpuid_x": AxisFacts(DEVICE, "position in the mesh, x"),
    "gpuid_y": AxisFacts(DEVICE, "position in the mesh, y"),
}
"""The known axes, for an NVIDIA target, and the larger extents on a wave of CDNA."""

SPLITS: dict[str, tuple[tuple[str, int, str], ...]] = {
    "tx": (("warpid", 32, "laneid"), ("wgid", 128, "tid_in_wg")),
    "warpid": (("wgid", 4, "wid_in_wg"),),
    "tid_in_wg": (("wid_in_wg", 32, "laneid"),),
}
"""The splits of a known axis: (high, n, low) says axis = n * high + low with 0 <= low < n.

Without a name the first split counts. These are facts of an NVIDIA target; a wave of CDNA has 64 lanes,
for which callers give the split in full: ("warpid", 64, "laneid"). `who` and other readers of lanes take 64
for a layout that has lane 32 (`facts.lanes_of`).
"""

_THREAD = "a thread is tid_in_wg in its warpgroup, tx in its block"
_WARP = "a warp is wid_in_wg in its warpgroup, warpid in its block"
_REGISTER = "reg counts elements of one thread, of which a register of 32 bits holds one or several"
CALLED = {
    **dict.fromkeys(("thread", "threadid", "threadIdx", "tid"), _THREAD),
    **dict.fromkeys(("warp", "wid", "warp_id"), _WARP),
    **dict.fromkeys(("register", "registers", "regs"), _REGISTER),
}
"""{another system's word for an axis: the axis here}."""

_MESH_PREFIX = "gpuid_"


def _is_word(name: str) -> bool:
    """Return True for an identifier of letters, digits and _ alone, as the notation reads it."""
    return name.isidentifier() and name.replace("_", "a").isalnum()


@dataclass(frozen=True, slots=True)
class Axis:
    """A named direction. `4 @ laneid` is four steps along it.

    Any identifier is an axis. Two axes of one name are equal.

    >>> Axis("laneid").kind, Axis("gpuid_z").kind, Axis("buf", storage=True).kind
    ('owner', 'device', 'storage')
    >>> 4 @ Axis("laneid")
    4@laneid
    """

    name: str
    storage: bool | None = field(default=None, compare=False)

    if TYPE_CHECKING:
        along: ClassVar[Callable[[Axis, int], Vector]]  # `vectors` makes the steps along an axis
    __array_ufunc__ = None  # NumPy integers on the left of `@` then ask us

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _is_word(self.name):
            raise LayoutError(
                "TW103",
                f"{self.name!r} cannot name an axis",
                hint="an axis is an identifier: letters, digits and _, not starting with a digit",
            )
        declared, known = self.storage, self._known_kind()
        if declared is None:
            object.__setattr__(self, "storage", known == STORAGE)
        elif known is not None and declared != (known == STORAGE):
            raise LayoutError(
                "TW103",
                f"{self.name} is a known axis of kind {known}",
                hint="choose another name for an axis of your own",
            )

    def _known_kind(self) -> str | None:
        facts = KNOWN.get(self.name)
        if facts is not None:
            return facts.kind
        return DEVICE if self.name.startswith(_MESH_PREFIX) else None

    @property
    def kind(self) -> str:
        """Return `storage`, `owner` or `device`; an unknown axis is an owner unless declared storage."""
        return self._known_kind() or (STORAGE if self.storage else OWNER)

    @property
    def facts(self) -> AxisFacts | None:
        """Return the facts of this axis, or None."""
        return KNOWN.get(self.name)

    def __rmatmul__(self, steps: SupportsIndex) -> Vector:
        return self.along(as_int(steps, "a stride"))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


m = Axis("m")
"""The linear axis of a buffer, and the axis of every bare number."""
