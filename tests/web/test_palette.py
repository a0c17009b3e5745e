"""The colours of the component, as its source has them: contrast, and eyes with two kinds of cones."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "web/src/view/palette.ts"
BLACK, WHITE = "#000000", "#ffffff"
FADE = 0.2
TEXT = 4.5
APART = 6.5

EYES = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as it is seen."""

LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
"""OKLab (Ottosson 2020): linear RGB to cones, their cube roots to lightness and two opponents."""


def palettes() -> dict[str, dict[str, list[str]]]:
    """{theme: {name: colours}}, as the source has them."""
    found = {}
    for theme, body in re.findall(
        r"const (LIGHT|DARK) = \{(.*?)\};", SOURCE.read_text(encoding="utf-8"), re.S
    ):
        fields = re.findall(r"(\w+): (\[.*?\]|\"#\w+\")", body)
        found[theme.lower()] = {name: re.findall(r"#[0-9a-f]{6}", value) for name, value in fields}
    return found


PALETTES = palettes()


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(a: str, b: str) -> float:
    dark, light = sorted(
        sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (a, b)
    )
    return (light + 0.05) / (dark + 0.05)


def times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def seen(colour: str, eyes: str) -> list[float]:
    cones = times(LMS, [max(0.0, part) for part in times(EYES[eyes], linear(colour))])
    return times(LAB, [max(0.0, cone) ** (1 / 3) for cone in cones])


def apart(a: str, b: str, eyes: str) -> float:
    return 100 * sum((x - y) ** 2 for x, y in zip(seen(a, eyes), seen(b, eyes), strict=True)) ** 0.5


def lightness(colour: str) -> float:
    """0 to 100, of what is left in grey."""
    return 100 * (0.05 * contrast(colour, BLACK) - 0.05) ** (1 / 3)


def faded(colour: str, paper: str) -> str:
    pairs = [(int(colour[at : at + 2], 16), int(paper[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a * FADE + b * (1 - FADE)):02x}" for a, b in pairs)


def test_there_are_two_palettes_of_eight():
    assert {
        theme: {name: len(colours) for name, colours in one.items()} for theme, one in PALETTES.items()
    } == {
        theme: {"paper": 1, "ink": 1, "quiet": 1, "rule": 1, "empty": 1, "fills": 8, "strong": 8}
        for theme in ("light", "dark")
    }


def test_the_oracle_knows_black_from_white():
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert (lightness(BLACK), lightness(WHITE)) == pytest.approx((0, 100))
    assert apart(BLACK, WHITE, "all") == pytest.approx(100, abs=0.1)
    assert apart("#00aa00", "#bb7700", "no green") < apart("#00aa00", "#bb7700", "all")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read(theme: str):
    """On the paper, in cells, in cells that are pinned, and in those that are faded."""
    palette = PALETTES[theme]
    (paper,), (ink,), (quiet,) = palette["paper"], palette["ink"], palette["quiet"]
    pairs = [(paper, ink), (paper, quiet), *((fill, ink) for fill in palette["fills"])]
    pairs += [(faded(fill, paper), quiet) for fill in palette["fills"]]
    pairs += [
        (fill, max((BLACK, WHITE), key=lambda text: contrast(fill, text))) for fill in palette["strong"]
    ]
    assert {pair: contrast(*pair) for pair in pairs if contrast(*pair) < TEXT} == {}


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("row", ["fills", "strong"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_two_colours_are_told_apart(theme: str, row: str, eyes: str):
    pairs = {(a, b): apart(a, b, eyes) for a, b in combinations(PALETTES[theme][row], 2)}
    assert {pair: distance for pair, distance in pairs.items() if distance < APART} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_that_meet_are_told_apart_in_grey(theme: str):
    """Bands follow one another; a swizzle has those side by side whose numbers differ by 1, 3 or 7 in XOR."""
    fills = PALETTES[theme]["fills"]
    pairs = [(a, b) for a, b in combinations(range(8), 2) if a ^ b in (1, 3, 7)]
    assert {(at, (at + 1) % 8) for at in range(8)} <= {pair for a, b in pairs for pair in ((a, b), (b, a))}
    apart = {(a, b): abs(lightness(fills[a]) - lightness(fills[b])) for a, b in pairs}
    assert {pair: distance for pair, distance in apart.items() if distance < APART} == {}
