"""Attention's kernel: its own lines on simulated engines and barriers, its text, its refusals."""

from __future__ import annotations

import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.codegen.attention_on_paper import Paper
from tests.codegen.test_c import tool

from tilewise import LayoutError, Refused, same
from tilewise.codegen.attention import kernel_source, planned
from tilewise.codegen.attention.host import host_source
from tilewise.codegen.attention.plan import REGISTERS
from tilewise.hardware import limits
from tilewise.simulate import Memory

KINDS = [(head, dtype, causal) for head in (64, 128) for dtype in ("bf16", "f16") for causal in (False, True)]
WIDTH = {"bf16": 2.0**-8, "f16": 2.0**-11}


def attention(q: Any, k: Any, v: Any, scale: float, causal: bool) -> Any:
    """Return attention by its definition, [batches, heads, rows, columns]."""
    sharing = q.shape[1] // k.shape[1]
    k, v = k.repeat(sharing, 1), v.repeat(sharing, 1)
    scores = scale * q @ np.swapaxes(k, -1, -2)
    if causal:
        row, key = np.indices(scores.shape[-2:])
        scores = np.where(key <= row, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def on_paper(
    plan: Any, extents: tuple[int, int, int, int, int], block: tuple[int, int, int], seed: int, text: str = ""
) -> tuple[Any, Any]:
    """Return the rows that a block of threads leaves in O, and what they have to be."""
    batches, heads, sharing, m, n = extents
    rng = np.random.default_rng(seed)
    tensors, memories = {}, {}
    for name, rows, count in (("q", m, heads), ("k", n, heads // sharing), ("v", n, heads // sharing)):
        given = rng.normal(size=(batches, count, rows, plan.head))
        memories[name] = Memory(2 * given.size, name=name)
        memories[name].put(given, plan.dtype)
        tensors[name] = memories[name].take(plan.dtype, given.shape)
    paper = Paper(plan, extents, seed, text)
    scale = plan.head**-0.5
    paper.run(memories, block, scale)
    turn = -(-m // plan.rows) - 1 - block[0] if plan.causal else block[0]
    rows = slice(turn * plan.rows, min(m, (turn + 1) * plan.rows))
    where = block[2], block[1], rows
    found = np.stack([paper.out.take(plan.dtype, plan.head, at=at) for at in _lines(paper, where)])
    return found, attention(*tensors.values(), scale, plan.causal)[where]


def _lines(paper: Paper, where: tuple[int, int, slice]) -> list[int]:
    """Return the addresses of rows of O."""
    batch, head, rows = where
    first = (batch * paper.heads + head) * paper.m
    return [2 * paper.plan.head * (first + row) for row in range(rows.start, rows.stop)]


@pytest.mark.parametrize(
    ("head", "dtype", "causal"),
    [(64, "bf16", False), (64, "f16", True), (128, "bf16", True), (128, "f16", False)],
)
def test_a_block_computes_its_rows_on_simulated_engines(head: int, dtype: str, causal: bool) -> None:
    """Loads, descriptors, both products, the softmax, the mask and the stores are those of the text."""
    plan = planned(head, dtype, causal=causal, keys=64, workers=2)
    extents = 2, 4, 2, 150, 170
    for seed, block in enumerate(((0, 3, 1), (1, 0, 0))):
        found, wanted = on_paper(plan, extents, block, seed)
        assert np.abs(found - wanted).max() < 4 * WIDTH[dtype]


@pytest.mark.parametrize(
    ("head", "workers", "n", "keys"),
    [(64, 3, 90, 128), (128, 2, 1, 128), (128, 2, 130, 128), (64, 2, 40, 16)],
)
def test_other_tiles_and_few_keys(head: int, workers: int, n: int, keys: int) -> None:
    plan = planned(head, causal=n > 100, workers=workers, keys=keys)
    found, wanted = on_paper(plan, (1, 1, 1, 70, n), (0, 0, 0), 3)
    assert np.abs(found - wanted).max() < 4 * WIDTH["bf16"]


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("of_v.next(), of_v.next();", "of_v.next();"),
        ("release(of_v.stage);", "release(of_k.stage);"),
        ("wait(empty + 8 * ring.stage, ring.parity ^ 1);", "wait(empty + 8 * ring.stage, ring.parity);"),
        ("init(empty + 8 * s, 2);", "init(empty + 8 * s, 3);"),
        ("o[r] *= shrink[r / 2 % 2];", "o[r] *= shrink[r % 2];"),
        (
            "p[x / 4][x % 4] = packed(s[2 * x], s[2 * x + 1]);",
            "p[x / 4][x % 4] = packed(s[2 * x + 1], s[2 * x]);",
        ),
        ("min(first + (int)at.i + 1, N)", "min(first + (int)at.i, N)"),
        ("head / sharing", "head % 2"),
        ("v + 128 * step", "v + 64 * step"),
        ("wait(q_full, 0);", ""),
        ("wait(full + 8 * of_v.stage, of_v.parity);", ""),
        ("wait_for<1>(s);", ""),
        ("wait_for<1>(s);", "wait_for<2>(s);"),
        (
            "wait_for<0>(o);\n            release(of_v.stage);",
            "release(of_v.stage);\n            wait_for<0>(o);",
        ),
    ],
)
def test_a_wrong_line_is_noticed(line: str, other: str) -> None:
    """In one of several random orders at least."""
    plan = planned(64, causal=True, keys=64, workers=2)
    text = kernel_source(plan)
    assert line in text
    for seed in range(12):
        try:
            found, wanted = on_paper(plan, (1, 4, 2, 190, 200), (0, 1, 0), seed, text.replace(line, other))
        except (AssertionError, LayoutError, TypeError):
            return
        if not np.abs(found - wanted).max() < 4 * WIDTH["bf16"]:
            return
    raise AssertionError("no order of events shows it")


@pytest.mark.parametrize(("head", "dtype", "causal"), KINDS)
def test_texts_are_readable(head: int, dtype: str, causal: bool) -> None:
    plan = planned(head, dtype, causal=causal)
    text = kernel_source(plan)
    assert "$" not in text
    assert "#include" not in text
    assert len(text.splitlines()) <= 350
    assert max(map(len, text.splitlines())) <= 110
    for own in (plan.q, plan.k, plan.v, plan.values.a):
        assert str(own.tile) in text
    host = host_source(plan)
    assert host.count("!describe(&map_") == 4
    assert max(map(len, host.splitlines())) <= 110


def test_p_lies_where_s_was() -> None:
    """A of an instruction has the registers that its D has: the kernel relies on it."""
    for kind in ("bf16", "f16"):
        assert same("wgmma.D(f32, n=16)", f"wgmma.A({kind})").same


@pytest.mark.parametrize("workers", sorted(REGISTERS))
def test_warpgroups_share_the_registers_that_a_block_begins_with(workers: int) -> None:
    loader, worker = REGISTERS[workers]
    threads = 128 * (workers + 1)
    assert 128 * (loader + workers * worker) <= threads * (limits.REGISTERS // threads // 8 * 8)


@pytest.mark.parametrize(
    ("head", "dtype", "asked", "words"),
    [
        (96, "bf16", {}, "heads of 96 columns have no kernel here"),
        (128, "e4m3", {}, "attention of e4m3 has no kernel here"),
        (128, "bf16", {"workers": 1}, "1 warpgroups do not share a block"),
        (128, "f32", {}, "attention of f32 has no kernel here"),
        (128, "bf16", {"keys": 24}, "a block of 24 keys is no number of products with P"),
        (128, "bf16", {"keys": 0}, "a block of 0 keys"),
        (128, "bf16", {"keys": 272}, "n272"),
        (128, "bf16", {"keys": 256}, "a thread holds 288 registers, and has 240"),
        (128, "bf16", {"workers": 3}, "a thread holds 192 registers, and has 160"),
        (128, "bf16", {"stages": 4}, "bytes of shared memory"),
    ],
)
def test_what_is_refused_and_why(head: int, dtype: str, asked: Any, words: str) -> None:
    with pytest.raises(Refused) as no:
        planned(head, dtype, **asked)
    assert no.value.code == "TW602"
    assert words in no.value.reason


def test_an_unchanged_maximum_leaves_sums_as_they_are() -> None:
    """The factor of what was added up before is 1 then, also where a product is not rounded before a sum."""
    text = kernel_source(planned(128))
    exponents = re.findall(r"shrink\[h\] = power\((.*)\);", text)
    assert len(exponents) == 1
    for top, scale in ((70.3, 0.09), (-1234.5, 0.127), (3.0e4, 1.4427)):
        largest, factor = (Fraction(float(np.float32(number))) for number in (top, scale))
        rounded = Fraction(float(np.float32(float(largest * factor))))
        names = {"most": [largest], "h": 0, "seen": largest, "scale_2": factor, "high": rounded}
        assert eval(exponents[0], names) == 0
        assert eval("most[h] * scale_2 - high", names) != 0  # as a product and a sum in one would be


def test_what_is_not_understood() -> None:
    with pytest.raises(LayoutError, match="0 stages hold no tile"):
        planned(128, stages=0)
    with pytest.raises(LayoutError, match="its own text uses the word"):
        kernel_source(planned(128, name="base"))
    with pytest.raises(LayoutError, match="its own text uses the word"):
        host_source(planned(128, name="grid"))


@pytest.mark.slow
def test_the_host_is_compiled(tmp_path: Path) -> None:
    nvcc = tool("nvcc")
    for head in (64, 128):
        path = tmp_path / f"attention{head}.cu"
        path.write_text(host_source(planned(head, causal=True)))
        command = [nvcc, "-gencode", "arch=compute_90a,code=sm_90a", "-std=c++17", "-cubin", path.name]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr) == (0, "")
