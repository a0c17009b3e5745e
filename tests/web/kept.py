"""Golden answers in a file: JSON in gzip, the same bytes for the same answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def load(path: Path) -> dict[str, Any]:
    """Return the contents of a file."""
    loaded: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return loaded


def answers(request: pytest.FixtureRequest, module: ModuleType) -> dict[str, Any]:
    """Return the contents of a module's file; with --update-goldens it is written anew first."""
    if request.config.getoption("--update-goldens"):
        save(module.GOLDEN, module.golden())
    return load(module.GOLDEN)


def save(path: Path, data: Mapping[str, Any]) -> None:
    """Keep it."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(data, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
