"""The claims of Triton's layouts about mfma's instances of the catalogue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from tests.oracle.claims import Claim, Place, claim
from tests.oracle.triton_claims import element

SCRIPT = Path(__file__).with_name("triton_mfma.py")
RESULTS = {"s8": "s32", "f64": "f64"}
"""{a type of A: that of D}, where it is not f32."""


def claims() -> Iterator[Claim]:
    """Of the operands of every shape that Triton's products become."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    for said in json.loads(done.stdout):
        of_result = said["what"] == "D"
        dtype = RESULTS.get(said["dtype"], "f32") if of_result else said["dtype"]
        values = {"shape": said["shape"], "dtype": dtype, "blocks": said["blocks"]}
        for operand in ("C", "D") if of_result else said["what"]:
            yield claim(f"mfma of {said['dtype']}", f"mfma.{operand}", _places(said), **values)


def _places(said: Mapping[str, Any]) -> Iterator[Place]:
    """Blocks are side by side in the columns of B, which is K x N, and of D."""
    for lane, register in product(range(64), range(1 << len(said["reg"]))):
        first, second = element(said, lane, register)
        place = {"laneid": lane, "reg": register}
        if said["blocks"] == 1:
            yield (second, first) if said["what"] == "B" else (first, second), place
            continue
        block, column = divmod(second, 64 // said["blocks"])
        yield (block, column, first) if said["what"] == "B" else (block, first, column), place
