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
