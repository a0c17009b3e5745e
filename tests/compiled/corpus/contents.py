"""The contents of the memory behind the arguments of the corpus: the same bytes on every machine.

A word of an argument comes from its number, the argument's place and the launch's name, through the mixing
function of SplitMix64; no generator of a library is needed, whose stream might change.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

BYTES = {"u8": 1, "i8": 1, "i16": 2, "f16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "f64": 8}

WHOLE = {"u8": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "u32": "u4", "i64": "i8"}
REAL = {"f16": "f2", "f32": "f4", "f64": "f8"}


def contents(argument: Mapping[str, Any], launch: str, place: int) -> np.ndarray:
    """Return the elements that a pointer of a launch points to.

    Floating-point numbers are from -1 to 1. Whole numbers have any value, or the argument says their bound.

    >>> contents({"type": "ptr", "dtype": "u8", "elements": 4}, "copy_bytes", 0).tolist()
    [25, 91, 162, 93]
    """
    words = mixed(argument["elements"], seed=zlib.crc32(f"{launch} {place}".encode()))
    if argument["dtype"] in REAL:
        return ((words >> np.uint64(40)) / 2**23 - 1).astype("<" + REAL[argument["dtype"]])
    if "below" in argument:
        words %= np.uint64(argument["below"])
    found = words.astype("<" + WHOLE[argument["dtype"]])
    return np.sort(found) if argument.get("sorted") else found


def mixed(count: int, seed: int) -> np.ndarray:
    """Return so many words of 64 bits."""
    words = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)
    words *= np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
