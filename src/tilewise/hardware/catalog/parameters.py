"""Parameters that entries of several engines have."""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.catalog.entry import Parameter


def dtype_named(given: str) -> str:
    """The one name of a type.

    >>> dtype_named("float16")
    'f16'
    """
    return DType.of(given).name


def arch_named(given: str) -> str:
    """The one name of an architecture.

    >>> arch_named("9.0")
    'sm_90'
    """
    return str(Architecture.of(given))


ARCH = Parameter(
    "arch", "an architecture that has to have it", rule="such as sm_90", optional=True, normal=arch_named
)
