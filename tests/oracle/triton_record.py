"""Record what Tritons say of types: tests/notation/dialects/records/triton.json.gz.

Every argument is DUMPS=PYTHON: what triton_kernels.py printed under some version of Triton, and a Python
whose Triton answers. From 3.6 on that is the same version. Older ones have no binding that tells a layout:
there 3.8 answers, in whose words their types are put (triton_respelled.py). To 3.8 and later random types are
put as well. A virtual environment holds each version:

    3.9.0/bin/python tests/oracle/triton_kernels.py >3.9.0.json
    3.0.0/bin/python tests/oracle/triton_kernels.py cuda:75 cuda:80 cuda:90 gfx90a gfx942 >3.0.0.json
    python tests/oracle/triton_record.py 3.9.0.json=3.9.0/bin/python 3.0.0.json=3.8.0/bin/python
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the tests are a package of this folder

from tests.oracle.triton_drawn import KINDS, drawn  # noqa: E402
from tests.oracle.triton_respelled import respelled  # noqa: E402
from tests.oracle.triton_texts import types_in  # noqa: E402

RECORD = ROOT / "tests/notation/dialects/records/triton.json.gz"
ASK = ROOT / "tests/oracle/triton_types.py"
DUMPED, DRAWN = 120, 16
"""Types of a version's dumps, and random ones of every kind."""


def main() -> None:
    recorded = {}
    for argument in sys.argv[1:]:
        dumps, _, python = argument.partition("=")
        told = json.loads(Path(dumps).read_text())
        version = told["triton"]
        own = version == _answer(python, "import json, triton; print(json.dumps(triton.__version__))")
        texts = sorted({text for dump in told["dumps"].values() for text in types_in(dump)})
        asked = {text: text if own else respelled(text) for text in texts}
        if own and version >= "3.8":
            asked |= {text: text for kind in KINDS for text in drawn(kind, DRAWN, seed=version)}
        answers = json.loads(_run([python, str(ASK)], json.dumps(list(asked.values()))))
        known = [{**a, "text": text} for text, a in zip(asked, answers, strict=True) if "untold" not in a]
        dumped = [answer for answer in known if answer["text"] in texts]
        kept = Random(version).sample(dumped, min(DUMPED, len(dumped)))
        kept += [answer for answer in known if answer["text"] not in texts]
        recorded[version] = {"told by": "itself" if own else "Triton 3.8", "answers": kept}
        print(f"Triton {version}: {len(kept)} of {len(asked)} types")
    text = json.dumps(dict(sorted(recorded.items())), separators=(",", ":"))
    RECORD.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _answer(python: str, code: str) -> Any:
    return json.loads(_run([python, "-c", code], ""))


def _run(command: list[str], given: str) -> str:
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
