"""The records beside this file, which Triton made (record.py writes them)."""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any


@cache
def recorded(name: str) -> Any:
    """Return `dumps`, {"kernel, target": {ttgir, ptx, shared}}, or `conversions`, a list of facts."""
    with zipfile.ZipFile(Path(__file__).with_name(f"{name}.zip")) as archive:
        return json.loads(archive.read(f"{name}.json"))
