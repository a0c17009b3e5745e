"""Kernels of many instructions, ready on a device: several to a program, programs compiled side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from tilewise.gpu.compile import Source, cubins
from tilewise.gpu.launch import Kernel, Session


class Named(Protocol):
    """An instruction that a kernel is written for."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""


One = TypeVar("One", bound=Named)


def compiled(
    groups: Sequence[tuple[One, ...]],
    source: Callable[[tuple[One, ...]], str],
    told: Callable[[int, int], None],
) -> list[bytes]:
    """Machine code of a program for each group; `told` hears how many are compiled, and of how many."""
    count = iter(range(1, len(groups) + 1))
    return cubins(
        [Source(group[0].kernel, source(group)) for group in groups],
        done=lambda name: told(next(count), len(groups)),
    )


def loaded(
    session: Session, groups: Sequence[tuple[One, ...]], codes: Sequence[bytes], *, shared: int = 0
) -> dict[One, Kernel]:
    """The kernel of every instruction, out of the machine code of its group."""
    kernels: dict[One, Kernel] = {}
    for group, code in zip(groups, codes, strict=True):
        names = [this.kernel for this in group]
        kernels |= zip(group, session.kernels(code, names, shared=shared), strict=True)
    return kernels
