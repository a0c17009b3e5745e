"""The claims of Triton's layouts about the catalogue's instances.

It has B as PTX does, K x N, and counts the registers of a lane as the document does. Two neighbours of 4 bits
are a byte of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from tests.oracle.claims import Claim, Place, claim

SCRIPT = Path(__file__).with_name("triton_layouts.py")
RESULTS = {
    "m16n8k16": ("f16", "f32"),
    "m16n8k8": ("f32",),
    "m16n8k32": ("f16", "f32", "s32"),
    "m16n8k64": ("f32",),
}
"""Its one layout of results serves every shape."""


def missing() -> str | None:
    """Return why this machine cannot ask it, or None."""
    if find_spec("triton") is None:
        return "triton is not installed"
    tried = "from triton._C.libtriton import gluon_ir; gluon_ir.GluonOpBuilder.to_linear_layout"
    done = subprocess.run([sys.executable, "-c", tried], capture_output=True, check=False)
    return None if done.returncode == 0 else "triton tells its layouts since 3.7"


def layouts() -> list[dict[str, Any]]:
    """Return what the script prints; a process of its own, for two compilers do not get along in one."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def claims() -> Iterator[Claim]:
    """Of fragments and of block scales."""
    for said in layouts():
        what = said["what"]
        if what in ("A", "B"):
            of = f"dot operand {what} of {said['dtype']}"
            values = {"shape": said["shape"], "dtype": said["dtype"]}
            yield claim(of, f"mma.{what}", _places(said), **values)
        elif what == "C":
            for entry, (shape, dtypes) in product("CD", RESULTS.items()):
                for dtype in dtypes:
                    yield claim("mma result", f"mma.{entry}", _places(said), shape=shape, dtype=dtype)
        else:
            yield from _scales(said)


def _places(said: Mapping[str, Any]) -> Iterator[Place]:
    packed = said.get("packed", 1)
    for lane, register in product(range(32), range(1 << len(said["reg"]))):
        first, second = element(said, lane, register)
        row, column = (second, first) if said["what"] == "B" else (first, second)
        for part in range(packed):
            yield (row, packed * column + part), {"laneid": lane, "reg": packed * register + part}


def element(said: Mapping[str, Any], lane: int, register: int) -> tuple[int, ...]:
    """Where the element is that a lane has in a register: the XOR of the bases of their bits."""
    place = [0, 0]
    for bases, number in ((said["lane"], lane), (said["reg"], register)):
        for bit, basis in enumerate(bases):
            if number >> bit & 1:
                place = [a ^ b for a, b in zip(place, basis, strict=True)]
    return tuple(place)


def _scales(said: Mapping[str, Any]) -> Iterator[Claim]:
    """It gives a scale to each lane of four that could supply it; the instruction names the first of them."""
    assert said["selectors"] == ["{ 0, 0 }", "{ 0, 0 }"]
    words = re.search(r"kind::(\w+)\.block_scale\.scale_vec::(\dX).*\.(ue\dm\d)$", said["instruction"])
    assert words is not None
    kind, scale, dtype = words.groups()
    what = said["what"]
    supplying = 2 if what == "SFA" else 1
    places = [
        (element(said, lane, register), {"laneid": lane, "reg": register})
        for lane, register in product(range(32), range(1 << len(said["reg"])))
        if lane % 4 < supplying
    ]
    yield claim(f"scales {what} of {kind}", f"mma.{what}", places, kind=kind, scale=scale, dtype=dtype)
