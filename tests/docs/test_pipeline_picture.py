"""The picture of a product's schedule: its parts do not overlap, and keep what the barriers say."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tilewise.codegen.gemm import planned

pytest.importorskip("docutils", reason="the packages of the documentation are not installed")
sys.path.insert(0, str(Path(__file__).parents[2] / "docs/extensions"))

from pipeline import figure, spans


def test_no_part_does_two_things_at_once_and_stages_come_before_their_products() -> None:
    plan = planned((128, 256), "bf16", out="bf16")
    every = list(spans(plan, steps=6, tiles=3))
    rows: dict[str, list] = {}
    for span in every:
        rows.setdefault(span.row, []).append(span)
    assert list(rows) == ["loader", "multiply 1", "multiply 2", "stores"]
    assert all(one.end <= after.begin for own in rows.values() for one, after in pairwise(own))
    chains = [span for span in rows["multiply 1"] if span.text]
    assert len(chains) == len(rows["loader"]) == 18
    assert all(load.end <= chain.begin for load, chain in zip(rows["loader"], chains, strict=True))
    reused = zip(chains, rows["loader"][plan.stages :], strict=False)
    assert all(chain.end <= load.begin for chain, load in reused)
    assert [span.text for span in rows["stores"][:4]] == ["0", "1", "2", "3"]


def test_the_caption_is_text() -> None:
    html = figure(planned((64, 64), "bf16", cluster=(1, 1)), 3, 1, "one & only")
    assert "one &amp; only" in html
    assert html.count("<rect") == 3 * 2 + 2 + 2
