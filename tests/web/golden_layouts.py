"""Python's answers to 2,000 layouts and 600 faulty texts, for the page's own reader and evaluator.

The file has the texts and the answers. A test asks Python again, and a page asks its evaluator.

    PYTHONPATH=src:. python -m tests.web.golden_layouts     writes it anew
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.notation import writing
from tests.notation.malformed import GROUPS
from tests.web.kept import save

from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.text import layout_python
from tilewise.core.vectors import Vector
from tilewise.notation.cute import to_cute
from tilewise.notation.dialects import dialect_of
from tilewise.notation.read import parse
from tilewise.testing.generate import nested, random_layout

GOLDEN = Path(__file__).with_name("golden") / "layouts.json.gz"
SEED = 20261121
LAYOUTS, FAULTY = 2_000, 600
LET = {**writing.LET, "名": 3}
STORAGE = writing.STORAGE
MAX_ASKED, MAX_LISTED = 10, 80
"""The most indices of a layout in the file, and the most places of all copies of them."""


def golden() -> dict[str, Any]:
    """The texts with their answers, as JSON has them."""
    rng = Random(SEED)
    return {
        "let": LET,
        "storage": list(STORAGE),
        "layouts": [answers(text, asked(rng, text)) for text in layout_texts(rng)],
        "faulty": [refusal(text) for text in faulty_texts(rng)],
    }


def read(text: str) -> Layout:
    """The layout as the page reads it: with values for names, and no catalogue."""
    return parse(text, let=LET, storage=STORAGE)


def answers(text: str, flats: list[int]) -> dict[str, Any]:
    """Return Python's facts of a layout, and the places of some flat indices."""
    layout = read(text)
    return {
        "text": text,
        "canonical": str(layout),
        "cute": _or_none(lambda: to_cute(layout)),
        "python": layout_python(layout),
        "shape": _plain(layout.shape),
        "size": _plain(layout.size),
        "copies": _or_none(lambda: len(layout.copy_steps)),
        "axes": [[axis.name, axis.kind] for axis in layout.axes],
        "extremes": [_or_none(lambda axis=axis: _plain(layout.extremes(axis))) for axis in layout.axes],
        "flats": _plain(flats),
        "points": _plain([layout.points(flat) for flat in flats]),
    }


def refusal(text: str) -> dict[str, Any]:
    """Return Python's refusal of a text, with the span in the units of JavaScript's strings."""
    try:
        layout = read(text)
    except LayoutError as error:
        span = None if error.span is None else [_units(text, at) for at in error.span]
        return {
            "text": text,
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "span": span,
        }
    raise AssertionError(f"{text!r} is read as {layout}")


def asked(rng: Random, text: str) -> list[int]:
    """The first, the last and some other indices; fewer where elements have many copies, none for more."""
    layout = read(text)
    copies = _or_none(lambda: len(layout.copy_steps))
    if copies is None or copies > MAX_LISTED:
        return []
    some = [rng.randrange(layout.size) for _ in range(min(MAX_ASKED, MAX_LISTED // copies) - 2)]
    return sorted({0, layout.size - 1, *some})


# -- layouts ---------------------------------------------------------------------------------------


def layout_texts(rng: Random) -> list[str]:
    """Texts of layouts in both dialects: small and full of corners, written by hand, and huge."""
    texts = [str(replace(random_layout(rng), unit="element")) for _ in range(900)]
    texts += [str(huge_layout(rng)) for _ in range(300)]
    written = (writing.text(rng) for _ in range(100_000))
    texts += list(_first(800, (text for text in written if not _is_refused(text))))
    assert len(texts) == LAYOUTS
    return texts


def huge_layout(rng: Random) -> Layout:
    """Extents, strides, offsets and swizzles far beyond what a double holds, on few axes or on many."""
    names = ("m", "m", "reg", "laneid", "__proto__", "constructor", "toString", "名前", "e0", "e17", "own")
    axes = [Axis(name) for name in rng.sample(names, rng.choice((1, 2, 3)))]
    if rng.random() < 0.1:
        axes = [Axis(f"axis_{n}") for n in range(20)]
    extents = [rng.choice((1, 2, 3, 8, 10**6 + 3, 2**20, 2**40, 3**15)) for _ in range(rng.randint(1, 6))]
    shift = rng.choice((-1, 1, 1)) * rng.randint(3, 12)
    chain = (
        [Swizzle(rng.randint(0, 3), rng.randint(0, 60), shift)] if m in axes and rng.random() < 0.6 else []
    )
    return Layout(
        shape=nested(rng, extents),
        strides=tuple(_far(rng, axes) for _ in extents),
        replica=tuple(Iter(rng.choice((1, 2, 3)), _far(rng, axes)) for _ in range(rng.choice((0, 0, 1, 2)))),
        offset=_far(rng, axes) if rng.random() < 0.5 else Vector(),
        swizzles=tuple(chain),
        outer=Vector(
            (
                (
                    m,
                    rng.choice((1, -(2**54), 3)),
                ),
            )
        )
        if chain and rng.random() < 0.3
        else Vector(),
    )


def _far(rng: Random, axes: list[Axis]) -> Vector:
    steps = (0, 1, -1, 2**20, 2**52 + 1, -(2**53), 2**53 + 1, 10**20 + 7, rng.randrange(2**62))
    return Vector(tuple((rng.choice(axes), rng.choice(steps)) for _ in range(rng.choice((1, 1, 1, 2)))))


# -- texts that are no layouts ---------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script>",
    "S[8 : 1]<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "S[8 : 1@__proto__] + constructor",
    "__proto__",
    "S[__proto__ : 1]",
    "S[hasOwnProperty : 1]",
    "Swizzle<1,0,1>@constructor o S[8]",
    "toString[8 : 1]",
    "S[8 : 1@\U0001d54d] + \U0001f600",
    "\U0001f600 S[8 : 1]",
    "S[8 : 1]\ud800",
    "S[\u0661 : 1]",
    "S[8 : 1\u2028\u2029 2]",
    "S[8 : 1\x85\x1c2]",
    "S[" + "9" * 1_000 + " : 1]",
    "S[(" + ", ".join(["9" * 900] * 2) + ")]",
    "S[8 : " + "\U0001d54d" * 50 + "]",
    "SWIZZLE_128B(" + "b" * 5_000 + ") o S[8]",
    "S" + "[" * 5_000,
    "S[8] o " * 5_000,
    "Swizzle<" + "1" * 900 + ",0,1> o S[8]",
    "Swizzle<0," + "1" * 900 + ",1> o S[8]",
    "S[(" * 70 + "8" + ",)" * 70 + "]",
    "S[8 : 1] + " * 30_000,
    "S[K*K*K : NN_2]",
    "S[8 : 1@e\u0301]",
    "S[8 : ﬁ]",
    "S[½ : 1]",
    "S[8 : 1@\u2160]",
)


def faulty_texts(rng: Random) -> list[str]:
    """Texts that Python refuses: each kind of fault, hostile ones, and what typing errors leave."""
    listed = [text for group in GROUPS.values() for text in group] + list(HOSTILE)
    mistyped = (writing.mutated(rng, writing.text(rng)) for _ in range(100_000))
    texts = [text for text in dict.fromkeys(listed) if _is_refused(text)]
    texts += list(_first(FAULTY - len(texts), (text for text in mistyped if _is_refused(text))))
    return texts


# -- small things ----------------------------------------------------------------------------------


def _is_refused(text: str) -> bool:
    """Return whether Python refuses a text of the notation; the page's server reads other systems' texts."""
    if dialect_of(text) is not None:
        return False
    try:
        read(text)
    except LayoutError:
        return True
    return False


def _first(count: int, texts: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    while len(seen) < count:
        text = next(texts)
        if text not in seen:
            seen.add(text)
            yield text


def _or_none(ask: Any) -> Any:
    """An answer, or None where Python has none."""
    try:
        return ask()
    except LayoutError:
        return None


def _plain(value: Any) -> Any:
    """Numbers in lists, those beyond a double's exact integers as text."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if abs(value) < 2**53 else str(value)


def _units(text: str, at: int) -> int:
    return len(text[:at].encode("utf-16-le", "surrogatepass")) // 2


if __name__ == "__main__":
    save(GOLDEN, golden())
