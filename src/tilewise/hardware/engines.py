"""The engines that read shared memory through a matrix descriptor, each a table of fields plus functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from tilewise.core.errors import LayoutError
from tilewise.hardware import sources
from tilewise.hardware.fields import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Engine:
    """One engine: the fields of its descriptor, and what can be asked of one.

    The functions take and give what the engine's own modules define; they agree on their arguments, so
    that a command asks all engines alike.
    """

    name: str
    fields: tuple[Field, ...]
    source: sources.Source
    majors: tuple[str, ...]
    operands: tuple[str, ...]
    shared_end: int
    """The first byte past the shared memory of an SM."""
    descriptor: Callable[..., Any]
    decode: Callable[[int], Any]
    reserved: Callable[[int], list[int]]
    default_lbo: Callable[[str, str], int | None]
    operand: Callable[..., Any]
    words: Callable[..., Any]
    ignored: Callable[..., Any]
    remarks: Callable[..., Any]
    pieces: Callable[..., Any]
    addresses: Callable[..., Any]
    extremes: Callable[..., Any]
    feeding: Callable[..., Any]
    stages: Callable[..., Any]
    placements: Callable[..., Any]
    instruction: Callable[[Any, int | None], str]


ENGINES = {"wgmma": "tilewise.hardware.wgmma.engine"}
"""{engine: the module that has it as ENGINE}; only the one that is asked for is imported."""


def engine(name: str) -> Engine:
    """The engine of that name.

    >>> [field.name for field in engine("wgmma").fields]
    ['start', 'lbo', 'sbo', 'base_offset', 'mode']
    """
    if name not in ENGINES:
        raise LayoutError(
            "TW601", f"{name!r} is no engine with descriptors", hint="known: " + " ".join(ENGINES)
        )
    found: Engine = import_module(ENGINES[name]).ENGINE
    return found
