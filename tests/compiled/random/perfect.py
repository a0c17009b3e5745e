"""A reader that knows the answer, with faults on request: what the comparison itself is tested with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from tests.compiled.random.compare import Case, Instruction, Issue, Row

from tilewise.compiled.lines import Line


def issues(case: Case, base: int = 1024) -> Iterator[Issue]:
    """Yield an issue for each line, warp and turn of a case, as a reader without a fault does."""
    threads = case.block[0] * case.block[1] * case.block[2]
    lines = {site: line for line, site in case.lines.items()}
    turns: dict[tuple[int, int], int] = {}
    marked = []
    for row in case.rows:
        turn = turns[row.site, row.thread] = turns.get((row.site, row.thread), -1) + 1
        marked.append(((row.site, row.thread // 32, turn), row))
    marked.sort(key=lambda it: it[0])
    for (site, _, _), group in groupby(marked, key=lambda it: it[0]):
        rows: list[Row] = [row for _, row in group]
        who = np.array([row.thread for row in rows])
        shift = base if rows[0].space == "shared" else 0
        yield Issue(
            Instruction(Line("program.cu", lines[site]), rows[0].kind, rows[0].space, rows[0].bytes),
            who // threads,
            who % threads,
            np.array([row.address + shift for row in rows], np.int64),
            np.ones(len(rows), bool),
        )
