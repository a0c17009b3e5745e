"""The lines of a kernel's source, where its file is at hand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tilewise.compiled.lines import Line

MOST_BYTES = 1 << 22
SUFFIXES = (
    ".cu",
    ".cuh",
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".h",
    ".hh",
    ".hpp",
    ".inl",
    ".py",
    ".rs",
    ".jl",
    ".ptx",
)
"""Files that are sources. A kernel may name any file of the machine, and the page shows what it names."""


class SourceFiles:
    """The files of the source, looked for at their recorded paths and beside the files that were read."""

    def __init__(self, folders: Iterable[Path | str] = ()) -> None:
        self.folders = [Path(folder) for folder in folders]
        self.lines = cache(self._lines)

    def line(self, line: Line | None) -> str:
        """Return the text of a line, without its indent; empty where the file or the line is not there."""
        if line is None:
            return ""
        lines = self.lines(line.file)
        return lines[line.number - 1].strip() if 1 <= line.number <= len(lines) else ""

    def _lines(self, file: str) -> tuple[str, ...]:
        """Return all lines of a file; none where it is not found."""
        if not file.lower().endswith(SUFFIXES):
            return ()
        recorded = Path(file)
        for place in (recorded, *(folder / recorded.name for folder in self.folders)):
            try:
                if place.is_file() and place.stat().st_size <= MOST_BYTES:
                    return tuple(place.read_text("utf-8", "replace").splitlines())
            except (OSError, ValueError):
                continue
        return ()


def folders_of(given: Iterable[object]) -> list[Path]:
    """Return the folders beside which a source may lie: those of the files that were read.

    >>> folders_of(["a/b.cubin", b"...", "-"])
    [PosixPath('a')]
    """
    paths = [
        Path(one) for one in given if isinstance(one, str | Path) and "\n" not in str(one) and one != "-"
    ]
    return list(dict.fromkeys(path if path.is_dir() else path.parent for path in paths))
