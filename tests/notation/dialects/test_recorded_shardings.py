"""Shardings held to what JAX and torch said of them; tests/oracle/test_shardings.py asks them anew."""

from __future__ import annotations

import pytest
from tests.notation.dialects.recorded import differ_from_jax, differ_from_torch, record_of


@pytest.mark.parametrize("dialect", ["hlo", "shardy", "jax"])
def test_shardings_are_what_jax_said(dialect):
    cases = record_of("jax")["cases"]
    assert len(cases) == 200
    assert [text for case in cases for text in differ_from_jax(case, dialect)] == []


def test_placements_are_what_torch_said():
    said = [differ_from_torch(case) for case in record_of("dtensor")["cases"]]
    assert len(said) == 320
    assert [text for wrong, _ in said for text in wrong] == []
    assert sum(not refused for _, refused in said) >= 200
