"""Claims about kernels, out of what their compiler left: a failure shows the findings.

from tilewise.testing import assert_reads
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewise.core.errors import NotDecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.questions.report import Report

USUAL = ("conflicts", "uncoalesced", "local")
"""The kinds of findings that a kernel should not have, where nobody says others."""


def assert_reads(
    file: Any,
    *,
    no: str | Sequence[str] = USUAL,
    kernel: str | None = None,
    grid: Sequence[int] | int | str | None = None,
    block: Sequence[int] | int | str | None = None,
    args: Sequence[int | None] | str | None = None,
    let: Mapping[str, int] | Sequence[str] = (),
    shared: int = 0,
    arch: str | None = None,
) -> Report:
    """Claim that a kernel has no findings of some kinds; return what was read.

    The arguments and the result are those of `tilewise.read`. A kernel of which no access could be counted is
    a `NotDecided`: such as one whose addresses all hang on an argument that is not given.

    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry twice(.param .u64 to)
    ... {
    ...   .reg .b32 %r<2>;
    ...   .reg .b64 %rd<4>;
    ...   ld.param.u64 %rd1, [to];
    ...   mov.u32 %r1, %tid.x;
    ...   mul.wide.u32 %rd2, %r1, 16;
    ...   add.s64 %rd3, %rd1, %rd2;
    ...   st.global.u32 [%rd3], %r1;
    ...   ret;
    ... }
    ... '''
    >>> assert_reads(text, block=32, no="conflicts").kernels[0]["name"]
    'twice'
    """
    __tracebackhide__ = True
    from tilewise.questions.read import read

    report = read(
        file, kernel=kernel, grid=grid, block=block, args=args, let=let, shared=shared, arch=arch, fail_on=no
    )
    for one in report.kernels:
        if _counts(one, "unknown") and not _counts(one, "ideal"):
            hint = "give its arguments by args= or let="
            raise NotDecided(f"no access of {one['name']} could be counted: {hint}")
    if not report.answer:
        raise AssertionError("\n".join(_failed(report, no)))
    return report


def _counts(kernel: Mapping[str, Any], name: str) -> int:
    """Return one count of a kernel, over all its accesses."""
    return sum(sums[name] for kinds in kernel["totals"].values() for sums in kinds.values())


def _failed(report: Report, no: str | Sequence[str]) -> Iterator[str]:
    """Yield the message: each finding that should not be there."""
    from tilewise.compiled.words import cost_words, place_of

    unwanted = no.split(",") if isinstance(no, str) else no
    for kernel in report.kernels:
        found = [one for one in kernel["findings"] if one["kind"] in unwanted or "any" in unwanted]
        if found:
            yield f"{kernel['name']} has {', '.join(dict.fromkeys(one['kind'] for one in found))}"
        for one in found:
            where = f"{place_of(one['line'])}: " if one["line"] else ""
            yield f"  {where}{one['cause']}"
            yield f"    {cost_words(one['cost'])}"
            yield f"    repair: {one['repair']}"
            if one["command"]:
                yield f"    {one['command']}"
