"""The neighbours, as far as they are installed."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

NAMES = {
    "pycute": "nvidia-cutlass",
    "tensor_layouts": "tensor-layouts",
    "tvm.tirx.layout": "apache-tvm",
}
"""Module: the distribution that has it."""

APART = {"triton": "triton"}
"""Those that answer in a process of their own."""


def imported() -> dict[str, ModuleType]:
    """{module name: module} of those that can be imported."""
    found = {}
    for name in NAMES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = import_module(name)
        except ImportError:
            continue
    return found


def spelled(name: str) -> str:
    """Return a neighbour and its version, or that it was skipped."""
    distribution = (NAMES | APART)[name]
    try:
        return f"{name} ({distribution} {version(distribution)})"
    except PackageNotFoundError:
        return f"{name} (skipped: {distribution} is not installed)"
