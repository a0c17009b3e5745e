"""The record: what was compiled, and what was counted, as one file that is the same for the same content.

    PYTHONPATH=src:. python -m tests.compiled.corpus.pack FOLDER COUNTS

FOLDER is what `tests.compiled.corpus.compile` wrote, COUNTS what `tools.kernels` brought from a device.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from tilewise.gpu.verify.truth import put

RECORD = Path(__file__).with_name("record.zip")


def main(compiled: str, *counted: str) -> None:
    """Write the record."""
    files = {f"{path.parent.name}/{path.name}": path for path in Path(compiled).glob("*/*.*")}
    files |= {path.name: path for folder in counted for path in Path(folder).glob("*.json")}
    part = RECORD.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_LZMA) as record:
        for name, path in sorted(files.items()):
            put(record, name, path.read_bytes())
    part.replace(RECORD)
    print(f"{len(files)} files, {RECORD.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
