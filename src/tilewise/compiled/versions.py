"""Two versions of a kernel side by side: what became better, what worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewise.compiled.findings import findings_of
from tilewise.compiled.kernel import ReadKernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def compared(older: Iterable[ReadKernel], newer: Iterable[ReadKernel]) -> list[dict[str, Any]]:
    """Return {kernel, what, old, new, verdict} of every sum, and of the findings by kind.

    Kernels are joined by their names; where either side has one alone, those two are.
    """
    old, new = list(older), list(newer)
    pairs = [(a, b) for a in old for b in new if a.name == b.name]
    if not pairs and len(old) == len(new) == 1:
        pairs = [(old[0], new[0])]
    return [row for a, b in pairs for row in _rows(a, b)]


def _rows(a: ReadKernel, b: ReadKernel) -> Iterator[dict[str, Any]]:
    before, after = _sums(a), _sums(b)
    for what in dict.fromkeys((*before, *after)):
        old, new = before.get(what, 0), after.get(what, 0)
        verdict = "same" if old == new else "better" if new < old else "worse"
        yield {"kernel": b.name, "what": what, "old": old, "new": new, "verdict": verdict}


def _sums(kernel: ReadKernel) -> dict[str, int]:
    sums = {
        f"{space} {kind} {name}": count
        for space, kinds in kernel.totals.items()
        for kind, row in kinds.items()
        for name, count in row.items()
        if name not in ("ideal", "unknown")
    }
    for finding in findings_of(kernel):
        name = f"findings: {finding.kind}"
        sums[name] = sums.get(name, 0) + 1
    return sums
