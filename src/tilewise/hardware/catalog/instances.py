"""The instances of an entry, which are confirmed one by one, and counted.

An instance is named by the values that make it up, in the order of the parameters and without those at
their defaults: `m16n8k16 f16`, `x4 trans`, `f32 n=64`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import Entry, Parameter, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def instances_of(entry: Entry) -> dict[str, dict[str, Any]]:
    """Return {name of an instance: all its values}, without those that the hardware lacks.

    >>> from tilewise.hardware.catalog import find
    >>> [*instances_of(find("wgmma.A"))]
    ['f16', 'bf16', 'tf32', 'e4m3', 'e5m2', 's8', 'u8', 'b1']
    """
    making, found = _making(entry), {}
    for given in _given(entry, making):
        values = entry.bind(named={**entry.example, **given})
        if entry.listed or _is_legal(entry, values):
            found[_named(entry, making, values)] = values
    return found


def instance_of(entry: Entry, values: Mapping[str, Any]) -> str:
    """Return the name of the instance that some values belong to.

    >>> from tilewise.hardware.catalog import find
    >>> instance_of(find("mma.A"), {"shape": "m16n8k16", "dtype": "f16"})
    'm16n8k16 f16'
    """
    return _named(entry, _making(entry), values)


def _named(entry: Entry, making: Sequence[Parameter], values: Mapping[str, Any]) -> str:
    bare = entry.parameters[:1]
    words = (_word(p, values.get(p.name), p in bare) for p in making)
    return " ".join(word for word in words if word)


def _making(entry: Entry) -> list[Parameter]:
    """Return the parameters whose values tell instances apart."""
    if entry.listed is None:
        return [p for p in entry.parameters if p.legal and not p.optional]
    every = [*entry.listed()]
    return [p for p in entry.parameters if len({values.get(p.name) for values in every}) > 1]


def _given(entry: Entry, making: Sequence[Parameter]) -> Iterator[Mapping[str, Value]]:
    if entry.listed is not None:
        yield from entry.listed()
        return
    for values in product(*(parameter.legal for parameter in making)):
        yield {parameter.name: value for parameter, value in zip(making, values, strict=True)}


def _is_legal(entry: Entry, values: Mapping[str, Any]) -> bool:
    try:
        entry.build(**values)
    except LayoutError:
        return False
    return True


def _word(parameter: Parameter, value: Value | None, bare: bool) -> str:
    if value is None or value == parameter.default:
        return ""
    if parameter.flag:
        return parameter.name
    return f"{parameter.name}={value}" if parameter.number and not bare else str(value)
