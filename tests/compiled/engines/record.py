"""Record what Triton makes of the kernels: TTGIR, PTX and machine code, in record.zip beside this file.

    PYTHONPATH=src:. python -m tests.compiled.engines.record          writes the record
    PYTHONPATH=src:. python -m tests.compiled.engines.record NAME     prints the texts of one kernel as JSON

No GPU is needed. The texts are one file, for they are much alike.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import zipfile
from pathlib import Path

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # else it warns

import triton
from tests.compiled.engines.kernels import FUNCTIONS, Case, cases
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tilewise.compiled.files import disassembled
from tilewise.gpu.verify.truth import put

RECORD = Path(__file__).with_name("record.zip")


def texts_of(case: Case) -> dict[str, str]:
    """Return {kind: text} of a kernel; of lines the name of the file alone is kept."""
    function, signature = FUNCTIONS[case.source], case.signature
    whole = dict.fromkeys(function.arg_names, "constexpr") | signature
    divided = {
        (function.arg_names.index(name),): [["tt.divisibility", 16]]
        for name, kind in signature.items()
        if not kind.startswith("tensordesc")
    }
    source = ASTSource(fn=function, signature=whole, constexprs=case.constants, attrs=divided)
    options = {"num_warps": case.warps, "num_stages": 3}
    made = triton.compile(source, target=GPUTarget("cuda", case.capability, 32), options=options).asm
    found = {"ttgir": made["ttgir"], "ptx": made["ptx"], "sass": disassembled(made["cubin"])}
    return {kind: _bare(text) for kind, text in found.items()}


def _bare(text: str) -> str:
    """Return a text without folders, and without the tables of debuggers."""
    text = re.sub(r'"[^"\n]*/([^"/\n]+\.py)"', r'"\1"', text)
    text = re.sub(r'^(\s*\.file\s+\d+\s+")[^"]*/', r"\1", text, flags=re.MULTILINE)
    parts = re.split(r"^(?=//-+ \.|\t\.section\t\.debug)", text, flags=re.MULTILINE)
    return "".join(part for part in parts if "debug" not in part.partition("\n")[0])


def main() -> None:
    """Write the record, or print one kernel."""
    if len(sys.argv) > 1:
        (case,) = [one for one in cases() if one.name == sys.argv[1]]
        print(json.dumps(texts_of(case)))
        return
    found = {}
    for case in cases():
        try:
            found[case.name] = texts_of(case)
        except Exception as error:  # Triton raises what it likes
            print(f"{case.name}: {str(error)[:200]}")
    with zipfile.ZipFile(RECORD, "w", zipfile.ZIP_LZMA) as record:
        put(record, "texts.json", json.dumps(found).encode())
    print(f"triton {triton.__version__}: {len(found)} kernels, {RECORD.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
