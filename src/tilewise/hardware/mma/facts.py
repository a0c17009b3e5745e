"""What the entries of mma say of instructions: which an architecture has, and how they are spelled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.architectures import Needs
from tilewise.hardware.mma.kinds import KindInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeVar

    class Multiplies(Protocol):
        """An mma.sync of any sort."""

        @property
        def needs(self) -> Needs:
            """What an architecture has to be to have it."""

    Some = TypeVar("Some", bound=Multiplies)


def having(every: Iterable[Some], words: str, arch: str | None) -> list[Some]:
    """Those that an architecture has; all where none is named, and a refusal where it has none of them."""
    every = [*every]
    had = [this for this in every if arch is None or this.needs.met(arch)]
    if not had:
        needs = _least({this.needs: None for this in every})
        raise Refused(
            "TW602",
            f"{arch} has no {'mma.sp' if str(every[0]).startswith('mma.sp') else 'mma'} {words}",
            witness={"arch": arch, "instruction": str(every[0])},
            hint=f"it needs {'; or '.join(map(str, needs))}",
        )
    return had


def _least(some: Iterable[Needs]) -> list[Needs]:
    """Those that no other one is met by more architectures than."""
    met = {needs: {*needs.architectures} for needs in some}
    return [this for this in met if not any(met[this] < met[other] for other in met)]


def easiest(some: Iterable[Multiplies]) -> str:
    """What is needed for the easiest of some instructions."""
    return str(min({this.needs for this in some}, key=lambda needs: needs.first))


def spelled(some: Iterable[Any]) -> list[str]:
    """The instructions; those of a kind that differ in the types of A and B alone in one text, with braces.

    >>> from tilewise.hardware.mma.kinds import KINDS
    >>> spelled([KindInstruction(KINDS["f8f6f4"], "e2m1", b, "f32") for b in ("e4m3", "e2m1")])
    ['mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.{e4m3,e2m1}.f32']
    """
    found: dict[object, tuple[dict[str, None], dict[str, None]]] = {}
    for this in some:
        alike = replace(this, a="{}", b="{}") if isinstance(this, KindInstruction) else this
        a, b = found.setdefault(alike, ({}, {}))
        a[this.a] = b[this.b] = None
    return [str(alike).format(_braced(a), _braced(b)) for alike, (a, b) in found.items()]


def _braced(names: Iterable[str]) -> str:
    several = [*names]
    return several[0] if len(several) == 1 else "{" + ",".join(several) + "}"


def in_container(element: DType, taken: int, lowest: int) -> dict[str, Any]:
    """What bits of a register an element has, where it does not have all that it takes.

    >>> in_container(DType.of("e2m1"), 8, 2)
    {'container': {'bits': 8, 'lowest': 2, 'highest': 5}}
    """
    if taken == element.bits:
        return {}
    return {"container": {"bits": taken, "lowest": lowest, "highest": lowest + element.bits - 1}}
