"""Two palettes of eight colours, those of `web/src/view/palette.ts`; a test holds them together."""

from __future__ import annotations

from dataclasses import dataclass

FADE = 0.2
"""How much of its colour a faded cell keeps."""


@dataclass(frozen=True, slots=True)
class Palette:
    """What a colour's name means in a theme."""

    name: str
    paper: str
    ink: str
    quiet: str
    rule: str
    empty: str
    fills: tuple[str, ...]

    @property
    def roles(self) -> dict[str, str]:
        """{name: colour}: c0 to c7 are the fills, f0 to f7 the same faded.

        >>> LIGHT.roles["c1"], LIGHT.roles["f1"]
        ('#75b28f', '#e3f0e9')
        """
        roles = {"paper": self.paper, "ink": self.ink, "quiet": self.quiet}
        roles |= {"rule": self.rule, "empty": self.empty}
        roles |= {f"c{number}": fill for number, fill in enumerate(self.fills)}
        return roles | {f"f{number}": _mixed(fill, self.paper) for number, fill in enumerate(self.fills)}


def _mixed(fill: str, paper: str) -> str:
    pairs = zip(bytes.fromhex(fill[1:]), bytes.fromhex(paper[1:]), strict=True)
    return "#" + "".join(f"{int(own * FADE + other * (1 - FADE) + 0.5):02x}" for own, other in pairs)


LIGHT = Palette(
    name="light",
    paper="#ffffff",
    ink="#16191f",
    quiet="#5c6370",
    rule="#d9dce1",
    empty="#f4f5f7",
    fills=("#fbc267", "#75b28f", "#c9efff", "#84baf6", "#fff2a0", "#d97d42", "#cdc8bf", "#d8a3c8"),
)
DARK = Palette(
    name="dark",
    paper="#14161a",
    ink="#f5f6f8",
    quiet="#9aa1ad",
    rule="#343941",
    empty="#1c1f24",
    fills=("#723d00", "#3b664c", "#0576b5", "#1f366c", "#6e7610", "#6a1d19", "#444b55", "#844684"),
)
PALETTES = {"light": LIGHT, "dark": DARK}
THEMES = ("auto", "light", "dark")
"""auto: as the reader prefers."""
