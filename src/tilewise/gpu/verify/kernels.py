"""Kernels of many probes on a device: compiled in parallel, launched on arrays, alone if they may fault.

A probe is one instruction in the form of a kernel. A kind of probe is a class of `Kernels`: its CUDA text and
its questions.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import prod
from multiprocessing import get_context
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.gpu.compile import Source, cubins
from tilewise.gpu.device import HOPPER, find
from tilewise.gpu.launch import Array, LoadedKernel, Session
from tilewise.hardware.limits import LANES
from tilewise.tables import table

Progress = Callable[[int, int], None]
"""A function of the number done and the total."""

Probe = TypeVar("Probe")
AloneCase = TypeVar("AloneCase")
Reply = TypeVar("Reply")

ONE = {
    "f16": 0x3C00,
    "bf16": 0x3F80,
    "f32": 0x3F800000,
    "tf32": 0x3F800000,
    "f64": 0x3FF0000000000000,
    "e4m3": 0x38,
    "e5m2": 0x3C,
    "s8": 0x01,
    "u8": 0x01,
    "s32": 0x1,
    "b1": 0x1,
}
"""The bits of the number one."""


class Kernels(ABC, Generic[Probe]):
    """Kernels of some probes, ready on a device."""

    shared: ClassVar[int] = 0
    """Bytes of dynamic shared memory of each."""

    def __init__(self, session: Session, kernels: Mapping[Probe, LoadedKernel]) -> None:
        self._session, self._kernels = session, kernels

    together: ClassVar[int] = 1
    """Kernels of one program: few enough to use all cores, enough to be worth a start."""

    @classmethod
    def programs(cls, wanted: Iterable[Probe]) -> list[tuple[Probe, ...]]:
        """Return the probes in groups of one program each, in the order of their names."""
        every = sorted(set(wanted), key=cls.name)
        return [tuple(every[first : first + cls.together]) for first in range(0, len(every), cls.together)]

    @staticmethod
    @abstractmethod
    def source(group: Sequence[Probe]) -> str:
        """Return CUDA C++ of a kernel for each probe of a group."""

    @staticmethod
    @abstractmethod
    def name(probe: Probe) -> str:
        """Return the name of a probe's kernel."""

    @classmethod
    def of(cls, wanted: Iterable[Probe], *, told: Progress) -> Self:
        """Compile for Hopper, load, and return the kernels; `told` gets the count of compiled programs."""
        session = Session(find(capability=HOPPER))
        groups = cls.programs(wanted)
        count = iter(range(1, len(groups) + 1))
        codes = cubins(
            [Source(cls.name(group[0]), cls.source(group)) for group in groups],
            done=lambda name: told(next(count), len(groups)),
        )
        cls.check(session, codes[0])
        kernels: dict[Probe, LoadedKernel] = {}
        for group, code in zip(groups, codes, strict=True):
            names = [cls.name(probe) for probe in group]
            kernels |= zip(group, session.kernels(code, names, shared=cls.shared), strict=True)
        return cls(session, kernels)

    @classmethod
    def check(cls, session: Session, code: bytes) -> None:
        """Raise RuntimeError if the device lacks something that the kernels of that code rely on."""

    def reply(
        self, probe: Probe, blocks: int, threads: int, given: Sequence[Any], dtype: str, shape: Sequence[int]
    ) -> Array:
        """Launch a probe's kernel on arrays and NumPy scalars; return the array that it writes."""
        session = self._session
        arguments = [session.upload(one) if isinstance(one, np.ndarray) else one for one in given]
        out = session.empty(np.dtype(dtype).itemsize * prod(shape))
        self._kernels[probe](blocks, threads, *arguments, out)
        return session.download(out, dtype, tuple(shape))


# -- contents of elements --------------------------------------------------------------------------


def planes(count: int) -> Array:
    """Return [plane, number]: the bits of the numbers below `count`, then a plane that has every number.

    >>> planes(3).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    """
    number = np.arange(count)
    bits = range((count - 1).bit_length())
    return np.stack([*(number >> bit & 1 == 1 for bit in bits), number >= 0])


def packed(ones: Array, bits: int, value: int) -> Array:
    """Return rows of elements, each `value` or zero, as 32-bit words, from the low bits on.

    >>> [hex(word) for word in packed(np.array([True, False, True, False]), 8, 0xFE)]
    ['0xfe00fe']
    """
    each, kind = max(1, 8 // bits), np.dtype(f"<u{max(bits, 8) // 8}")
    numbers = ones.reshape(*ones.shape[:-1], -1, each) * kind.type(value)
    shifts = (bits * np.arange(each)).astype(kind)
    words: Array = np.ascontiguousarray((numbers << shifts).sum(axis=-1, dtype=kind)).view("<u4")
    return words


def places(fragment: Layout, each: int | None = None) -> Array:
    """Return the place of every element, in the shape of the fragment: E thread + register.

    A thread has E elements: those of the fragment, or `each` of them.
    """
    columns = table(fragment).columns
    warps = columns.get("wid_in_wg")
    threads = LANES if warps is None else 4 * LANES
    thread = columns["laneid"] if warps is None else LANES * warps + columns["laneid"]
    place: Array = thread * (each or fragment.size // threads) + columns["reg"]
    return place.reshape(extents_of(fragment.shape))


# -- questions that may end in a fault -------------------------------------------------------------

TOGETHER = 4
"""Processes at a time."""

MISALIGNED = 716
FAULTS = {
    700: "ILLEGAL_ADDRESS",
    715: "ILLEGAL_INSTRUCTION",
    MISALIGNED: "MISALIGNED_ADDRESS",
    717: "INVALID_ADDRESS_SPACE",
    719: "LAUNCH_FAILED",
}
"""The driver's names for the errors of a kernel, by their CUresult."""


def result_name(result: int) -> str:
    """Return a CUresult in words.

    >>> result_name(0), result_name(716), result_name(2)
    ('done', 'misaligned address', 'CUresult 2')
    """
    words = {0: "done"} | {number: name.lower().replace("_", " ") for number, name in FAULTS.items()}
    return words.get(result, f"CUresult {result}")


def alone(
    ask: Callable[[AloneCase], Reply], every: Sequence[AloneCase], told: Progress
) -> list[tuple[int, Reply | None]]:
    """Ask each case in a separate process, which a fault ends; return CUresult and reply in order."""
    workers = ProcessPoolExecutor(TOGETHER, get_context("spawn"), initializer=_quiet, max_tasks_per_child=1)
    with workers as pool:
        futures = [pool.submit(survived, ask, case) for case in every]
        for done, _ in enumerate(as_completed(futures)):
            told(done + 1, len(every))
        return [future.result() for future in futures]


def survived(ask: Callable[[AloneCase], Reply], case: AloneCase) -> tuple[int, Reply | None]:
    """Return 0 and the reply, or the CUresult of the fault that the question ends with.

        refused  RuntimeError with the error's text if it is no fault

    The bindings raise their own exceptions: only the name in the text tells which fault it is.
    """
    try:
        return 0, ask(case)
    except Exception as error:
        for result, name in FAULTS.items():
            if name in str(error):
                return result, None
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _quiet() -> None:
    """Close standard error: a lost context writes a line there for each of its buffers."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
