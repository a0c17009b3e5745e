"""The questions of `tilewise verify`: drawn here, kept in the package as data, asked of every device alike.

    python -m tools.questions

writes `src/tilewise/gpu/verify/questions.zip` anew: of each part its cases as JSON, and the entries of the
catalogue, or single instances, that a right answer to all of them confirms.

descriptors  wgmma: every instruction, and descriptors that are legal, odd, and at the end of shared memory
boxes        TMA: boxes to load, tensor maps at the bounds of the driver's rules, copies that may fault
products     mma.sync and mma.sp: every instruction, and words of metadata
matrices     ldmatrix, stmatrix, movmatrix: addresses, and those that fault
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of


def confirming(entry: str, asked: Callable[[Mapping[str, Any]], bool]) -> tuple[str, ...]:
    """Return the words for `Questions.confirms`: the instances of an entry for whose values `asked` holds.

    >>> confirming("mma.A", lambda values: values["dtype"] == "f64" and values["shape"].endswith("k4"))
    ('mma.A m8n8k4 f64', 'mma.A m16n8k4 f64')
    """
    every = instances_of(find(entry)).items()
    return tuple(f"{entry} {name}".strip() for name, values in every if asked(values))
