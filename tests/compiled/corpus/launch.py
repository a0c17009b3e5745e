"""A launch of the corpus: a kernel, its grid, and the arguments it is launched with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Argument = dict[str, Any]


def pointer(dtype: str, elements: int, **contents: Any) -> Argument:
    """Return an argument that points to so many elements.

    `below=n` says that they are whole numbers from 0 to n - 1, `sorted=True` that they are in order.
    """
    return {"type": "ptr", "dtype": dtype, "elements": elements, **contents}


def null() -> Argument:
    """Return a pointer to nothing: a trailing argument that a compiler adds and the kernel does not use."""
    return {"type": "ptr", "dtype": "u8", "elements": 0}


def f16(elements: int) -> Argument:
    """Return a pointer to halves."""
    return pointer("f16", elements)


def f32(elements: int) -> Argument:
    """Return a pointer to floats."""
    return pointer("f32", elements)


def f64(elements: int) -> Argument:
    """Return a pointer to doubles."""
    return pointer("f64", elements)


def u8(elements: int) -> Argument:
    """Return a pointer to bytes."""
    return pointer("u8", elements)


def i32(elements: int, **contents: Any) -> Argument:
    """Return a pointer to whole numbers, of whatever values or as `pointer` says."""
    return pointer("i32", elements, **contents)


def scalar(type: str, value: float) -> Argument:
    """Return an argument that is a value: i32, i64 or f32."""
    return {"type": type, "value": value}


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of one kernel."""

    name: str
    kernel: str
    """As its source or its compiler calls it; the build finds the symbol."""
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Argument | int, ...]
    """An int is a scalar i32."""
    shared: int = 0
    """Bytes of dynamic shared memory."""
    note: str = field(default="")
    """Data that decide about its branches or addresses; empty where the arguments alone do."""

    def data(self) -> dict[str, Any]:
        """Return it as JSON, without what the build adds."""
        args = [scalar("i32", arg) if isinstance(arg, int) else arg for arg in self.args]
        grid, block = (list((*sizes, 1, 1)[:3]) for sizes in (self.grid, self.block))
        told = {"note": self.note} if self.note else {}
        return {"grid": grid, "block": block, "shared": self.shared, "args": args, **told}
