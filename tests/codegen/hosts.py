"""Kernels with their hosts' parts: what the compiler of a host sees alone, and what nvcc compiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.codegen.mma_cases import layout_of

from tilewise.codegen.mma import kernel as of_mma
from tilewise.codegen.mma import planned


@dataclass(frozen=True)
class Host:
    """A plan, and its text with the launch."""

    plan: Any
    text: str

    @property
    def arch(self) -> str:
        """Return the architecture for which nvcc compiles it."""
        return str(self.plan.arch)

    @property
    def facts(self) -> dict[str, Any]:
        """Its name and its tile."""
        return {"name": self.plan.called, "m": self.plan.m, "n": self.plan.n, "k": self.plan.k}


def _mma(tile: tuple[int, int, int], dtype: str, **asked: Any) -> Host:
    layouts = [None if text is None else layout_of(text) for text in asked.pop("layouts", (None, None))]
    plan = planned(tile, dtype, layouts=tuple(layouts), **asked)
    return Host(plan, of_mma.host_source(plan))


_ASKED: dict[str, tuple[Callable[..., Host], tuple[int, int, int], str, dict[str, Any]]] = {
    "bf16": (_mma, (64, 64, 32), "bf16", {}),
    "f16 that is stored by stmatrix": (
        _mma,
        (128, 96, 64),
        "f16",
        {"out": "f16", "store": "stmatrix", "name": "gemm"},
    ),
    "f64": (_mma, (64, 64, 16), "f64", {}),
    "s8 from single bytes": (_mma, (64, 128, 64), "s8", {"majors": ("k", "mn")}),
    "f16 of sm_75, padded": (
        _mma,
        (64, 64, 32),
        "f16",
        {"arch": "sm_75", "layouts": ("S[(64, 32) : (40, 1)]", None)},
    ),
}
NAMES = tuple(_ASKED)


@cache
def host(name: str) -> Host:
    """Return a kernel by its name; the first call plans it."""
    made, tile, dtype, asked = _ASKED[name]
    return made(tile, dtype, **asked)
