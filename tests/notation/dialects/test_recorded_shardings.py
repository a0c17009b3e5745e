"""Shardings held to what JAX and torch said of them; tests/oracle/test_shardings.py asks them anew."""

from __future__ import annotations

import pytest
from tests.notation.dialects.recorded import differ_from_jax, differ_from_torch, record_of

from tilewise import parse
from tilewise.core.shapes import extents_of


@pytest.mark.parametrize("dialect", ["hlo", "shardy", "jax"])
def test_shardings_are_what_jax_said(dialect):
    cases = record_of("jax")["cases"]
    assert len(cases) == 200
    assert [text for case in cases for text in differ_from_jax(case, dialect)] == []


def test_uneven_shards_are_as_large_as_xla_made_them():
    padded = record_of("jax")["padded"]
    assert len(padded) == 5
    for extent, shards, shard in padded:
        layout = parse(f"{{devices=[{shards}]<=[{shards}]}}", shape=(extent,))
        assert extents_of(layout.shape) == (shards * shard,)


def test_placements_are_what_torch_said():
    said = [differ_from_torch(case) for case in record_of("dtensor")["cases"]]
    assert len(said) == 320
    assert [text for wrong, _ in said for text in wrong] == []
    assert sum(not refused for _, refused in said) >= 200
