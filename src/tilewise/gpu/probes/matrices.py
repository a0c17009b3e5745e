"""ldmatrix, stmatrix and movmatrix on a device: which 16 bits of shared memory each half of a register meets.

A half is 16 bits of a register: half E lane + element, where a lane has E of them. Shared memory, or the
registers, hold the number of every 16 bits of theirs, so that one launch tells all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewise.gpu.compile import Source, cubin
from tilewise.gpu.device import HOPPER, Gpu, find
from tilewise.gpu.launch import Session
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form

Array = np.ndarray[Any, Any]

BYTES = 32 * 1024
"""Shared memory that addresses count from; every 16 bits of it have a number."""

UNTOUCHED = 0xFFFF
NOWHERE = -1
"""A half that is found at no single place."""


class Matrices:
    """The kernels of some forms, ready on a device."""

    def __init__(self, session: Any, kernels: dict[Form | None, Any]) -> None:
        self._session, self._kernels = session, kernels

    @classmethod
    def of(cls, wanted: Sequence[Form], *, gpu: Gpu | None = None) -> Matrices:
        """Compile for Hopper and load."""
        session = Session(gpu or find(capability=HOPPER))
        code = cubin(Source("tilewise_matrices", source(wanted)))
        kernels: dict[Form | None, Any] = {None: session.kernel(code, "probe_movmatrix")}
        names = [kernel_of(form) for form in wanted]
        kernels |= zip(wanted, session.kernels(code, names, shared=BYTES), strict=True)
        return cls(session, kernels)

    def loads(self, form: Form, addresses: Array) -> Array:
        """[case, half]: the byte of shared memory that each half of the registers got."""
        content = np.arange(BYTES // 2, dtype=np.uint16)
        shape = (len(addresses), LANES * form.registers * 2)
        found = self._launch(form, addresses, content, shape)
        return 2 * found.astype(np.int64)

    def stores(self, form: Form, addresses: Array) -> tuple[Array, Array]:
        """[case, half]: the byte of shared memory where each half was put; and how many more were written."""
        content = np.arange(LANES * form.registers * 2, dtype=np.uint16)
        windows = self._launch(form, addresses, content, (len(addresses), BYTES // 2))
        found = np.stack([placed(window, content.size) for window in windows])
        written = (windows != UNTOUCHED).sum(axis=1)
        return found, written - (found != NOWHERE).sum(axis=1)

    def moves(self, given: Array) -> Array:
        """[case, half]: what movmatrix makes of what each half held."""
        buffer, out = self._session.upload(np.asarray(given, np.uint16)), self._session.empty(given.size * 2)
        self._kernels[None](len(given), LANES, buffer, out)
        moved: Array = self._session.download(out, "<u2", given.shape)
        return moved

    def _launch(self, form: Form, addresses: Array, content: Array, shape: tuple[int, ...]) -> Array:
        session = self._session
        buffers = [session.upload(np.asarray(addresses, np.uint32)), session.upload(content)]
        out = session.empty(2 * int(np.prod(shape)))
        self._kernels[form](len(addresses), LANES, *buffers, np.int32(BYTES // 4), out)
        found: Array = session.download(out, "<u2", shape)
        return found


def placed(window: Array, count: int) -> Array:
    """The byte at which each number below `count` stands in shared memory; NOWHERE if not at one alone."""
    at = np.flatnonzero(window < count)
    numbers = window[at]
    found = np.full(count, NOWHERE, np.int64)
    found[numbers] = 2 * at
    found[np.bincount(numbers, minlength=count) != 1] = NOWHERE
    return found


def kernel_of(form: Form) -> str:
    """The name of a form's kernel."""
    return "probe_" + re.sub(r"\W+", "_", str(form))


def source(wanted: Iterable[Form]) -> str:
    """CUDA C++ of a kernel for each of the forms, and of movmatrix's."""
    shared = Path(__file__).with_name("matrices.cu").read_text(encoding="utf-8")
    return "\n".join([shared, *map(_kernel, wanted)])


def _kernel(form: Form) -> str:
    name, count = kernel_of(form), form.registers
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
