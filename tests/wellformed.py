"""Every layout that an operation makes is as the constructor would have made it."""

from __future__ import annotations

from typing import Any

from tilewise import Layout

_bare = Layout.with_parts


def _held(layout: Layout, *parts: Any) -> Layout:
    made = _bare(layout, *parts)
    written = (made.shape, made.strides, made.replica, made.offset, made.swizzles, made.outer)
    built = Layout(*written, made.unit)
    rebuilt = (built.shape, built.strides, built.replica, built.offset, built.swizzles, built.outer)
    assert rebuilt == written, f"{written} is no layout as the constructor makes it"
    assert all(type(part) is tuple for part in (made.shape, made.strides, made.replica))
    return made


def hold_parts() -> None:
    """From here on `Layout.with_parts` checks what it otherwise trusts."""
    Layout.with_parts = _held  # type: ignore[method-assign]
