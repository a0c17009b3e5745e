"""PTX touches the bytes that the machine code which ptxas made of it touches, thread by thread."""

from __future__ import annotations

import pytest
from tests.compiled.ptx.agreement import EXPLAINED, LONG, cases, differences

CASES = {case.name: case for case in cases() if case.name not in LONG}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parts(4)
def test_same_bytes_as_machine_code(name):
    lines = differences(CASES[name], 2 if name in EXPLAINED else 1)
    if name in EXPLAINED:
        assert lines, "the bytes are the same: it needs no explanation"
        assert all("not read: wmma." in line for line in lines if "not read" in line)
    else:
        assert lines == []


def test_what_is_explained_is_there():
    names = {case.name for case in cases()}
    assert names >= {*EXPLAINED, *LONG}
