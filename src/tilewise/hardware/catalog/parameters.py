"""Parameters that entries of several engines have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewise.core.dtypes import DType
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.catalog.entry import Parameter


def dtype_named(given: str) -> str:
    """Return the one name of a type.

    >>> dtype_named("float16")
    'f16'
    """
    return DType.of(given).name


def of_type(
    whose: str, legal: Iterable[str] = (), normal: Callable[[str], str] = dtype_named, rule: str = ""
) -> Parameter:
    """Return the parameter that is the type of something.

    >>> of_type("A's elements", ["f16", "bf16"]).meaning
    "the type of A's elements"
    """
    return Parameter("dtype", f"the type of {whose}", legal=tuple(legal), normal=normal, rule=rule)


ARCH = Parameter(
    "arch",
    "an architecture that has to have it",
    rule="such as sm_90",
    optional=True,
    normal=lambda given: str(Architecture.of(given)),
)


def number(
    name: str, meaning: str, rule: str, default: int | None = None, *, optional: bool = False
) -> Parameter:
    """Return a parameter that is a number, of which a rule says more."""
    return Parameter(name, meaning, rule=rule, default=default, optional=optional, number=True)


def choice(
    name: str, meaning: str, legal: Iterable[int], default: int | None = None, *, optional: bool = False
) -> Parameter:
    """Return a parameter that is one of some numbers.

    >>> choice("cta_group", "CTAs that multiply together", (1, 2), 1).read("2")
    2
    """
    numbers = tuple(legal)
    return Parameter(name, meaning, legal=numbers, default=default, optional=optional, number=True)


def flag(name: str, meaning: str) -> Parameter:
    """Return a parameter that is given or not."""
    return Parameter(name, meaning, flag=True)
