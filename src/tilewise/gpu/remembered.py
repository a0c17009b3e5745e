"""Numbers measured on a GPU, by device and class of problems, in a file beside the kernels."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tilewise.gpu.compile import cache_folder, keep

VERSION = 1
Numbers = tuple[int, ...]


def remembered(file: str, device: str, own: str) -> Numbers | None:
    """Return the numbers that were kept for a class of problems on a device, or None."""
    return known(file).get(device, {}).get(own)


def remember(file: str, device: str, own: str, numbers: Numbers) -> None:
    """Add numbers to those that any process kept. If the folder is read-only, the process forgets."""
    import json

    known.cache_clear()
    every = known(file)
    every.setdefault(device, {})[own] = numbers
    keep(_path(file), json.dumps({"version": VERSION, "devices": every}, indent=1).encode())


@lru_cache(maxsize=8)
def known(file: str) -> dict[str, dict[str, Numbers]]:
    """Return the numbers by device and class; read once. Without a file of ours the dictionary is empty."""
    try:
        text = _path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    import json  # who never tunes has no use for it

    try:
        said = json.loads(text)
        if said["version"] != VERSION:
            return {}
        return {
            str(device): {str(own): tuple(map(int, found)) for own, found in classes.items()}
            for device, classes in said["devices"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return {}


def _path(file: str) -> Path:
    return cache_folder() / file
