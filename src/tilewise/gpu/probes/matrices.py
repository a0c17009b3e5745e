"""ldmatrix, stmatrix and movmatrix on a device: which 16 bits of shared memory each half of a register meets.

A half is 16 bits of a register: half E lane + element, where a lane has E of them. Shared memory, or the
registers, hold the number of every 16 bits of theirs, so that one launch tells all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import Kernels
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form

BYTES = 32 * 1024
"""Shared memory that addresses count from; every 16 bits of it have a number."""

UNTOUCHED = 0xFFFF
NOWHERE = -1
"""A half that is found at no single place."""

MOVMATRIX = None
"""The probe that has no form: every program has its kernel."""


class Matrices(Kernels[Form | None]):
    """The kernels of some forms, ready on a device."""

    shared = BYTES

    @classmethod
    def programs(cls, wanted: Iterable[Form | None]) -> list[tuple[Form | None, ...]]:
        """Return the probes of one program."""
        return [tuple(wanted)]

    @staticmethod
    def source(group: Iterable[Form | None]) -> str:
        """Return CUDA C++ of a kernel for each of the forms, and of movmatrix's."""
        shared = Path(__file__).with_name("matrices.cu").read_text(encoding="utf-8")
        return "\n".join([shared, *(_kernel(form) for form in group if form)])

    @staticmethod
    def name(probe: Form | None) -> str:
        """Return the name of a form's kernel, or movmatrix's."""
        return "probe_" + re.sub(r"\W+", "_", str(probe or "movmatrix"))

    def meets(self, form: Form, addresses: Array) -> tuple[Array, Array]:
        """Return [case, half]: the byte of shared memory of each half; and how many more are written."""
        count, words = LANES * form.registers * 2, BYTES // 2
        loads = form.instruction == "ldmatrix"
        content = np.arange(words if loads else count, dtype=np.uint16)
        given = [np.asarray(addresses, np.uint32), content, np.int32(BYTES // 4)]
        shape = (len(addresses), count if loads else words)
        out = self.reply(form, len(addresses), LANES, given, "<u2", shape)
        if loads:
            return 2 * out.astype(np.int64), np.zeros(len(addresses), np.int64)
        halves = np.stack([placed(window, count) for window in out])
        return halves, (out != UNTOUCHED).sum(axis=1) - (halves != NOWHERE).sum(axis=1)

    def moves(self, given: Array) -> Array:
        """Return [case, half]: what movmatrix makes of what each half held."""
        return self.reply(MOVMATRIX, len(given), LANES, [np.asarray(given, np.uint16)], "<u2", given.shape)


def placed(window: Array, count: int) -> Array:
    """Return the byte at which each number below `count` stands; NOWHERE if it is not at one alone."""
    spots = np.flatnonzero(window < count)
    numbers = window[spots]
    bytes_of = np.full(count, NOWHERE, np.int64)
    bytes_of[numbers] = 2 * spots
    bytes_of[np.bincount(numbers, minlength=count) != 1] = NOWHERE
    return bytes_of


def _kernel(form: Form) -> str:
    name, count = Matrices.name(form), form.registers
    registers = "{" + ", ".join(f"%{i}" for i in range(count)) + "}"
    if form.instruction == "ldmatrix":
        what, operands, kind = "load", f"{registers}, [%{count}]", "=r"
        outputs, inputs = _held(count, kind), '"r"(address)'
    else:
        what, operands = "store", f"[%{count}], {registers}"
        outputs, inputs = "", f'{_held(count, "r")}, "r"(address)'
    return (
        f"struct {name}_move {{\n"
        f"    static constexpr int registers = {count};\n"
        f"    static __device__ void go(unsigned* held, unsigned address) {{\n"
        f'        asm volatile("{form} {operands};" : {outputs} : {inputs} : "memory");\n'
        "    }\n};\n"
        f'extern "C" __global__ void __launch_bounds__(LANES) {name}(const unsigned* addresses,\n'
        "    const unsigned* content, int words, unsigned* out) {\n"
        f"    {what}<{name}_move>(addresses, content, words, out);\n}}\n"
    )


def _held(count: int, kind: str) -> str:
    return ", ".join(f'"{kind}"(held[{i}])' for i in range(count))
