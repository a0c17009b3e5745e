"""The architectures from sm_70 to sm_121, and the requirements of features.

sm_80 has all features of sm_75, and so on, with two exceptions: features of one architecture alone, as sm_90a
names them, and features of a family of neighbours, as sm_120f names them. Later members of the family have
its features too. sm_120a has all features of sm_120f.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewise.core.errors import LayoutError

_WORD = re.compile(r"(?:sm_?|compute_?)?(\d{2,3})([af]?)|(\d{1,2})\.(\d)([af]?)", re.ASCII)

GENERATIONS = {
    "Volta": (70, 72),
    "Turing": (75,),
    "Ampere": (80, 86, 87, 88),
    "Ada": (89,),
    "Hopper": (90,),
    "Blackwell": (100, 103, 110, 120, 121),
}
"""{generation: the numbers of its architectures}."""

NUMBERS = tuple(number for numbers in GENERATIONS.values() for number in numbers)
FAMILIES = ((100, 103), (110,), (120, 121))
"""Architectures that share what sm_100f, sm_110f and sm_120f name."""

_OTHERS = {
    101: "sm_101 is called sm_110 since PTX 9.0",
    107: "sm_107 is newer than PTX 9.2, which the catalogue follows",
}


@dataclass(frozen=True, slots=True, order=True)
class Architecture:
    """An architecture, by the compiler's name.

    >>> Architecture.of("sm_90a"), Architecture.of("8.9"), Architecture.of(120)
    (sm_90a, sm_89, sm_120)
    >>> Architecture.of("sm_101")
    Traceback (most recent call last):
        ...
    tilewise.LayoutError: TW601: the catalogue has no architecture sm_101
      hint: sm_101 is called sm_110 since PTX 9.0
    """

    number: int
    """Its compute capability times ten."""
    suffix: str = ""
    """`a` for code that may use every feature, `f` for code that may use its family's."""

    @classmethod
    def of(cls, word: Architecture | str | int) -> Architecture:
        """Return the architecture that a word such as sm_90a names."""
        if isinstance(word, Architecture):
            return word
        said = _WORD.fullmatch(str(word).lower())
        if said is None:
            raise LayoutError("TW601", f"{str(word)!r} is no architecture", hint=_named(str(word)))
        number = int(said[1] or f"{said[3]}{said[4]}")
        found = cls(number, said[2] or said[5] or "")
        if number not in NUMBERS:
            raise LayoutError("TW601", f"the catalogue has no architecture {found}", hint=_instead(number))
        if found.suffix and found not in KNOWN:
            raise LayoutError(
                "TW601", f"there is no architecture {found}", hint=f"sm_{number} has no suffix {found.suffix}"
            )
        return found

    @property
    def family(self) -> tuple[int, ...]:
        """Return the architectures of its family."""
        return next((family for family in FAMILIES if self.number in family), (self.number,))

    @property
    def generation(self) -> str:
        """Return the name of its generation."""
        return next(name for name, numbers in GENERATIONS.items() if self.number in numbers)

    def __str__(self) -> str:
        return f"sm_{self.number}{self.suffix}"

    __repr__ = __str__


def _suffixes(number: int) -> str:
    return "af" if number >= 100 else "a" if number == 90 else ""


KNOWN = tuple(Architecture(number, suffix) for number in NUMBERS for suffix in ("", *_suffixes(number)))
"""Every architecture that code can be compiled for."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The architectures that have a feature.

    >>> Needs(80)
    sm_80 and later
    >>> Needs(family=(120,)).met("sm_121f"), Needs(family=(120,)).met("sm_120")
    (True, False)
    >>> Needs(family=(100, 120))
    sm_100f and sm_120f, and the later ones of their families
    >>> Needs(alone=("sm_120a", "sm_121a"))
    sm_120a and sm_121a
    """

    since: int | None = None
    """The first number that has it: all later ones have it too."""
    family: tuple[int, ...] = ()
    """The first numbers of families whose members have it, where code is compiled for f or for a."""
    alone: tuple[str, ...] = ()
    """Architectures that have it, without later ones."""

    def met(self, architecture: Architecture | str | int) -> bool:
        """Return True if an architecture has the feature."""
        this = Architecture.of(architecture)
        if self.since is not None and this.number >= self.since:
            return True
        if str(this) in self.alone:
            return True
        return bool(this.suffix) and any(
            first in this.family and this.number >= first for first in self.family
        )

    @property
    def first(self) -> Architecture:
        """Return the first architecture that has it."""
        return next(this for this in KNOWN if self.met(this))

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """Return every architecture that has it."""
        return tuple(this for this in KNOWN if self.met(this))

    def __str__(self) -> str:
        words = [] if self.since is None else [f"sm_{self.since} and later"]
        words += [_listed([*self.alone])] if self.alone else []
        families = [f"sm_{first}f" for first in self.family]
        if families:
            whose = "its family" if len(families) == 1 else "their families"
            words.append(f"{_listed(families)}, and the later ones of {whose}")
        return "; ".join(words)

    __repr__ = __str__


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _named(word: str) -> str:
    """Return the architectures of a generation in words, or "" where the word names no generation."""
    for name, numbers in GENERATIONS.items():
        if name.lower() == word.lower():
            return f"{name} is {', '.join(f'sm_{number}' for number in numbers)}"
    return f"such as sm_80; {_known()}"


def _instead(number: int) -> str:
    if number in _OTHERS:
        return _OTHERS[number]
    near = min(NUMBERS, key=lambda known: abs(known - number))
    return f"did you mean sm_{near}? {_known()}"


def _known() -> str:
    return "known: " + " ".join(f"sm_{number}" for number in NUMBERS)
