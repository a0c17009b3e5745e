"""Claims that Triton and the catalogue mean the same by ldmatrix and stmatrix.

Triton compiles copies whose registers are laid out as a form of ours says. If it takes that form's
instruction for them, and the copy that it compiles is one where the instruction does what ours says, the two
mean the same: its addresses and its order of registers come from tables of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.oracle.claims import Claim
from tests.oracle.ptx_lanes import run

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instance_of
from tilewise.hardware.matrices.forms import Form, forms, short

SCRIPT = Path(__file__).with_name("triton_copies.py")


def compiled() -> dict[Form, str]:
    """{form: the copy for it as Triton writes it in PTX}; it has none that unpack."""
    asked = [form for form in forms() if not form.kind.padding]
    given = json.dumps([_case(form) for form in asked])
    done = subprocess.run([sys.executable, SCRIPT], input=given, capture_output=True, text=True, check=True)
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def _case(form: Form) -> dict[str, object]:
    held = form.layout.span("reg")
    return {
        "way": form.instruction,
        "target": 120 if form.kind.special else 90,
        "type": f"i{form.bits}",
        "shape": [form.count * form.rows, form.columns],
        "reg": [_element(form, 0, 1 << bit) for bit in range(held.bit_length() - 1)],
        "lane": [_element(form, 1 << bit, 0) for bit in range(5)],
    }


def _element(form: Form, lane: int, register: int) -> list[int]:
    ((matrix, row, column),) = form.layout.who(laneid=lane, reg=register)
    return [matrix * form.rows + row, column]


def copies(ptx: str, form: Form, meant: Form | None = None) -> bool:
    """Return whether the kernel copies; its one move of matrices is `form`, and does what `meant` does."""
    size = form.count * form.rows * form.columns * form.bits // 8
    for seed in range(3):
        given = Random(seed).randbytes(size)
        left, moves = run(ptx, given, meant or form)
        assert moves == [str(form)], f"{moves}, and {form} is its layout"
        if left != given:
            return False
    return True


def claims() -> Iterator[Claim]:
    """Of each form that it has."""
    for form, ptx in compiled().items():
        entry = find(form.instruction)
        words = short(form).replace(".trans", "")
        instance = instance_of(entry, entry.bind(named={"form": words, "trans": form.trans}))
        different = "" if copies(ptx, form) else "what it copies is not what it was given"
        yield Claim(form.instruction, instance, "a copy through shared memory", different)
