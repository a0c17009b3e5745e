"""Kernels that public threads found slow: the first finding is the cause that the thread arrived at.

The kernels and their causes were written down before the reader existed; `build.py` compiles them anew.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

from tilewise.compiled.files import Artifact, kind_of
from tilewise.compiled.findings import findings_of
from tilewise.compiled.reading import WantedLaunch, kernels_of

HERE = Path(__file__).parent / "slow"
CAUSES = json.loads((HERE / "causes.json").read_text(encoding="utf-8"))
POINTERS = 0x7F0000000000


@cache
def texts() -> dict[str, str]:
    with ZipFile(HERE / "artifacts.zip") as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def first_finding(case):
    launch = case["launch"]
    args = [POINTERS + (at << 32) if isinstance(one, str) else one for at, one in enumerate(launch["args"])]
    wanted = WantedLaunch(
        tuple([*launch["grid"], 1, 1][:3]),
        tuple([*launch["block"], 1, 1][:3]),
        [one if isinstance(one, int) else None for one in args],
        shared=launch.get("shared", 0),
    )
    found = [texts()[name] for name in (f"{case['name']}.sass", f"{case['name']}.ttgir") if name in texts()]
    artifacts = [Artifact(kind_of(text), text) for text in found]
    (kernel,) = kernels_of(artifacts, wanted, case["kernel"])
    return next(iter(findings_of(kernel)), None)


@pytest.mark.parametrize("case", CAUSES, ids=lambda case: case["name"])
def test_first_finding_is_the_cause(case):
    finding = first_finding(case)
    assert finding is not None
    assert finding.kind == case["cause"]
    assert finding.line is not None
    assert finding.line.number in (case["line"], *case.get("also", ()))
