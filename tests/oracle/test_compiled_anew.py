"""The recorded products of tcgen05, compiled anew: the compilers write what stands in the record."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from tests.hardware.compiled_products import recorded
from tests.oracle.compiled import compiled

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

NEEDS = {"gluon": "triton", "cute": "nvidia_cutlass_dsl"}


@pytest.mark.parametrize("compiler", NEEDS)
def test_a_compiler_writes_what_is_recorded(compiler: str) -> None:
    if find_spec(NEEDS[compiler]) is None:
        pytest.skip(f"{NEEDS[compiler]} is not installed")
    for kernel, known in zip(compiled(compiler), recorded(compiler), strict=True):
        assert kernel == known
