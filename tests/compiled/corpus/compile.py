"""All kernels of the corpus, compiled: PTX, machine code, its text, and the table of launches.

    PYTHONPATH=src:. python -m tests.compiled.corpus.compile FOLDER
    PYTHONPATH=src:. python -m tests.compiled.corpus.compile FOLDER --only cuda --only triton

It takes the compilers, and no GPU. The texts go to FOLDER, and the table of launches to `launches.json`
there; `--table` writes that file of this folder as well.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from tests.compiled.corpus.unit import ran, tool

HERE = Path(__file__).parent
COMPILERS = ("cuda", "triton", "gluon", "cute", "tilelang")


def main() -> None:
    """Compile all kernels, or those that the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=COMPILERS, action="append")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="the program that writes machine code as text")
    parser.add_argument("--table", action="store_true", help="write launches.json of this folder too")
    args = parser.parse_args()
    launches, versions = [], {"nvdisasm": ran(args.nvdisasm, "--version").strip().splitlines()[-1]}
    versions["ptxas"] = ran(tool("ptxas"), "--version").strip().splitlines()[-1]
    for compiler in args.only or COMPILERS:
        module = importlib.import_module(f"tests.compiled.corpus.{compiler}.compile")
        versions[compiler] = module.version()
        for unit in module.units():
            launches += unit.write(args.folder, args.nvdisasm)
            print(unit.stem, len(unit.launches), "launches", flush=True)
    names = [launch["name"] for launch in launches]
    assert len(set(names)) == len(names), "each launch has its own name"
    table = '{\n"compilers": ' + json.dumps(versions) + ',\n"launches": [\n'
    table += ",\n".join(json.dumps(launch) for launch in launches) + "\n]\n}\n"
    for folder in [args.folder, *([HERE] if args.table else [])]:
        (folder / "launches.json").write_text(table, encoding="utf-8")
    kernels = {(launch["files"]["cubin"], launch["kernel"]) for launch in launches}
    print(f"{len(launches)} launches of {len(kernels)} kernels")


if __name__ == "__main__":
    main()
