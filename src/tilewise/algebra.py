"""The algebra under its public name: layouts out of layouts, exactly or with the reason why not.

>>> from tilewise import S
>>> from tilewise.algebra import compose
>>> compose(S[(6, 6) : (6, 1)], S[4 : 9])
S[4 : 9]
"""

from __future__ import annotations

from tilewise.core import algebra

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = algebra.__all__


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(algebra, name)
    raise AttributeError(f"module 'tilewise.algebra' has no attribute {name!r}")
