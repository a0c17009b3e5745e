"""Answers of CuTe's DSL, recorded: a text, a step, and the place of every element by that step."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tilewise.hardware.calls import reading

RECORD = Path(__file__).with_name("records") / "cute.json.gz"


def sampled(text: str, places: list[int]) -> list[Any]:
    """The places of some fifty elements."""
    step = max(1, len(places) // 50) | 1
    return [text, step, places[::step]]


def write_record(said: Mapping[str, list[int]]) -> None:
    text = json.dumps([sampled(*one) for one in said.items()])
    RECORD.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def record_of() -> list[list[Any]]:
    found: list[list[Any]] = json.loads(gzip.decompress(RECORD.read_bytes()))
    return found


def differences(said: Iterable[tuple[str, int, list[int]]]) -> Iterator[str]:
    """Yield the texts that are read as another layout than the places are of."""
    for text, step, places in said:
        layout = reading(text).layout
        if [layout.place(i)["m"] for i in range(0, layout.size, step)] != places:
            yield text
