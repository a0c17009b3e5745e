"""Coverage-guided fuzzing of everything that reads text: `fuzz_parser.py --runs 100000`.

Beyond the bytes that it is given, a text is also derived from them as a layout with typing errors, so
that the fuzzer is past the first brackets from the start.
"""

from __future__ import annotations

import gc
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import FunctionType
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.notation import writing  # noqa: E402  # after the path to it

from tilewise import Layout, LayoutError  # noqa: E402
from tilewise.core.errors import CODES  # noqa: E402
from tilewise.notation import (  # noqa: E402
    parse,
    parse_index,
    parse_place,
    parse_region,
    parse_shape,
    parse_window,
)

ASKS = (parse_index, parse_place, parse_region, parse_shape, parse_window)


def examine(text: str) -> bool:
    """Return whether the text is a layout; whatever this raises is a fault of the parser."""
    layout = answered(read, text)
    if layout is not None:
        assert isinstance(layout, Layout)
        again = str(layout)
        storage = [axis.name for axis in layout.axes if axis.kind == "storage"]
        assert len(again) > 10_000 or parse(again, storage=storage) == layout, again
    if len(text) < 1_000:
        for ask in ASKS:
            answered(ask, text)
    return layout is not None


def read(text: str) -> Layout:
    return parse(text, let=writing.LET, storage=writing.STORAGE)


def answered(reader: Callable[[str], Any], text: str) -> Any:
    """Return what a reader makes of the text, or None where it refuses in good order."""
    try:
        return reader(text)
    except LayoutError as error:
        check(error, text)
        return None


def check(error: LayoutError, text: str) -> None:
    """Every refusal has a known code, a span in the text, and lines that fit a screen or two."""
    assert error.code in CODES, error.code
    assert error.span is not None, str(error)
    start, end = error.span
    assert 0 <= start <= end <= len(text), (error.span, len(text))
    assert error.source == text
    assert all(len(line) < 400 for line in str(error).splitlines())


def fuzz_one(data: bytes) -> None:
    examine(data.decode("utf-8", errors="replace"))
    rng = Random(data)
    examine(writing.mutated(rng, writing.text(rng)))


def functions() -> list[FunctionType]:
    """Those of tilewise: coverage of what it imports says nothing of the parser, and takes half a minute."""
    every = [own for own in gc.get_objects() if isinstance(own, FunctionType)]
    return [own for own in every if own.__module__ and own.__module__.partition(".")[0] == "tilewise"]


def main() -> None:
    options = ArgumentParser(description="Fuzz the parser with atheris.")
    options.add_argument("--runs", type=int, default=200_000, help="how many inputs to try")
    options.add_argument("--max-length", type=int, default=200, help="of an input, in bytes")
    given = options.parse_args()

    import atheris  # type: ignore[import-not-found]

    for own in functions():
        atheris.instrument_func(own)
    atheris.Setup([sys.argv[0], f"-runs={given.runs}", f"-max_len={given.max_length}"], fuzz_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
