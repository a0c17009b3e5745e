"""A device's answers, kept: the cases of a part as JSON, and the answers as arrays.

A record is a zip of some parts, compressed with LZMA. Each part has `cases.json`, with the device that
answered, and its arrays as `.npy`. The arrays hold neighbours' differences, which compress ten times better
than addresses. A record holds nothing of the catalogue: it has answers, not agreements.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError
from tilewise.gpu.launch import Array

VERSION = 1
_DAY = (1980, 1, 1, 0, 0, 0)  # the same truth gives the same file


@dataclass(frozen=True, eq=False)
class Truth:
    """The answers of a device to the cases of one part.

    >>> truth = Truth("a.b", [{"length": 2}, {"length": 1}], {"bytes": np.array([7, 8, 9])})
    >>> [part.tolist() for part in truth.parted("bytes")]
    [[7, 8], [9]]
    """

    part: str
    cases: Sequence[Mapping[str, Any]]
    """Each as JSON; `length` is the number of its elements in each array."""
    arrays: Mapping[str, Array]
    """Whole numbers, case after case."""
    device: Mapping[str, Any] = field(default_factory=dict)
    """Name, driver, versions, date."""

    def parted(self, name: str) -> Iterator[Array]:
        """Yield the parts of an array, one a case."""
        array, at = self.arrays[name], 0
        for case in self.cases:
            length = int(case["length"])
            yield array[at : at + length]
            at += length
        if at != len(array):
            raise LayoutError("TW402", f"{self.part}: {len(array)} numbers of {name} for cases of {at}")


def save(path: Path, truths: Sequence[Truth]) -> None:
    """Write some parts to one record, whole or not at all."""
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_LZMA) as record:
        for truth in truths:
            head = {"version": VERSION, "device": dict(truth.device), "cases": list(truth.cases)}
            put(record, f"{truth.part}/cases.json", json.dumps(head, separators=(",", ":")).encode())
            for name, array in truth.arrays.items():
                put(record, f"{truth.part}/{name}.npy", _packed(array))
    part.replace(path)


def load(path: Path, part: str | None = None) -> list[Truth]:
    """Return every part of a record, or only the part of that name."""
    try:
        with zipfile.ZipFile(path) as record:
            names = record.namelist()
            parts = [name.removesuffix("/cases.json") for name in names if name.endswith("/cases.json")]
            return [_part(record, name, names) for name in parts if part in (None, name)]
    except FileNotFoundError as error:
        raise LayoutError(
            "TW402", f"there is no record {path}", hint="--from DIR of a record's files"
        ) from error
    except (OSError, zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise LayoutError("TW402", f"{path.name} is no record of a device: {error}") from error


def _part(record: zipfile.ZipFile, part: str, names: Sequence[str]) -> Truth:
    head = json.loads(record.read(f"{part}/cases.json"))
    if head["version"] != VERSION:
        raise LayoutError("TW402", f"{part} is a record of version {head['version']}, not {VERSION}")
    arrays = {
        name.removeprefix(f"{part}/").removesuffix(".npy"): _unpacked(record.read(name))
        for name in names
        if name.startswith(f"{part}/") and name.endswith(".npy")
    }
    return Truth(part, head["cases"], arrays, head["device"])


def put(record: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Write a file of a record, compressed, and independent of the day."""
    info = zipfile.ZipInfo(name, _DAY)
    info.compress_type = zipfile.ZIP_LZMA
    record.writestr(info, data)


def _packed(array: Array) -> bytes:
    """Return the differences of neighbours, with the bytes of equal weight together."""
    given = np.ascontiguousarray(array)
    flat = given.astype(np.int32)
    if not np.array_equal(flat, given):  # the NaN of a double has 64 bits
        flat = given.astype(np.int64)
    deltas = np.diff(flat, prepend=flat.dtype.type(0))  # wraps around, and so does the sum
    out = io.BytesIO()
    np.save(out, deltas.view(np.uint8).reshape(-1, flat.itemsize).T.copy())
    return out.getvalue()


def _unpacked(data: bytes) -> Array:
    planes = np.load(io.BytesIO(data), allow_pickle=False)
    deltas = np.ascontiguousarray(planes.T).view(f"<i{len(planes)}").ravel()
    return np.cumsum(deltas, dtype=deltas.dtype)
