"""Free names: identifiers in every language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from keyword import kwlist

from tilewise.core.errors import LayoutError, of_kind

_OF_C = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield
compl concept const const_cast consteval constexpr constinit continue decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local
throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
int32_t int64_t uint32_t uint64_t main NULL EOF errno assert blockIdx blockDim gridDim threadIdx warpSize
triton tl cute linux unix
"""
_RESERVED = frozenset(_OF_C.split()) | frozenset(kwlist)


class FreeNames:
    """The names of one function, no two alike."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def free(self, wanted: str) -> str:
        """Return `wanted`, or the nearest free name that every language takes."""
        name = "".join(c if c.isascii() else f"u{ord(c):x}" for c in wanted)
        while name in _RESERVED or name.startswith("__") or name in self.taken:
            name = f"{name.lstrip('_')}_"
        self.taken.add(name)
        return name


def checked(name: str, what: str) -> str:
    """Return a name that a user chose; refuse one that is no identifier."""
    of_kind(name, str, "a name", "such as 'turn'")
    if name.isascii() and name.isidentifier() and name not in _RESERVED and not name.startswith("__"):
        return name
    raise LayoutError(
        "TW401",
        f"{name!r} cannot name {what}",
        hint="letters, digits and _, not starting with a digit, and no word of C, C++ or Python",
    )


def chosen(defaults: Sequence[str], given: Sequence[str]) -> Sequence[str]:
    """Return the names of the arguments: the user's names, one for each, or the defaults."""
    if not given:
        return defaults
    names = [checked(name, "an argument") for name in given]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None or len(names) != len(defaults):
        count = f"{len(names)} name{'s' * (len(names) > 1)} for {len(defaults)} arguments"
        reason = count if repeated is None else f"the name {repeated} is repeated"
        raise LayoutError(
            "TW401",
            f"{reason}: {', '.join(names)}",
            hint=f"one for each of {', '.join(defaults)}" if defaults else "it takes no arguments",
        )
    return names
