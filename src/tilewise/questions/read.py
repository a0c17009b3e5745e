"""Read a kernel from the files that its compiler left: the cost of every access, and the repairs. No GPU.

  tilewise read kernel.cubin --grid 16,1,1 --block 256 --args 0x7f0000000000,0x7f0010000000,4096
  tilewise read kernel.ptx --kernel transpose --fail-on conflicts,uncoalesced
  tilewise read kernel.ttgir kernel.ptx --let M=4096
  tilewise read ~/.triton/cache/ABCDEF
  nvdisasm -gi kernel.cubin | tilewise read - --json
  tilewise read new.cubin --against old.cubin

FILE is machine code (a cubin, the text of nvdisasm or of cuobjdump -sass), PTX, Triton's TTGIR, or a folder
of Triton's cache; texts of one kernel are joined by its name. Machine code is what runs, so it is counted
where it is at hand; PTX alone is assembled if a ptxas is found (--arch), else counted as written.

The integers of the kernel are run for all threads of the launch: requests, wavefronts, sectors are those that
Nsight Compute counts. Without --grid one block is run. Arguments that nobody gives are addresses where they
have 64 bits, and unknown elsewhere. An access whose address hangs on loaded data is left out, and named.

A product of matrices has the descriptors of its operands, a bulk copy its places, where the run knows them.
`open` has the command that shows a layout in the explorer.

Findings come the worst first: conflicts, uncoalesced, narrow, conversion, local, atomics, divergence,
redundant, descriptor, operand. --fail-on makes those kinds exit with 1. --html writes a page with the source
beside the counts. A cubin takes nvdisasm: pip install 'tilewise[sass]'.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from tilewise.core.errors import LayoutError
from tilewise.questions.asking import asks
from tilewise.questions.report import Report
from tilewise.questions.texts import misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from tilewise.compiled.findings import KernelFinding
    from tilewise.compiled.kernel import ReadKernel
    from tilewise.pictures.kernel.source import SourceFiles
    from tilewise.pictures.terminal import Line
    from tilewise.questions.asking import Files


@asks(
    {
        "the launch": {
            "grid": "X,Y,Z: blocks of the grid (1)",
            "block": "X,Y,Z: threads of a block, where the file does not say them",
            "args": "A,B,...: the arguments in order; an empty one is left open",
            "let": "NAME=N: an argument by its name; repeatable",
            "shared": "BYTES: dynamic shared memory (0)",
            "steps": "N: instructions that are run at most (100000); turns that are alike are run at once",
        },
    },
    file="FILE: cubin, nvdisasm's text, PTX, TTGIR, a folder of Triton's cache, - for standard input",
    kernel="NAME: this kernel alone",
    arch="SM: what PTX is assembled for, such as sm_90",
    against="OLD: an older version, to show what became better or worse",
    fail_on="KINDS: exit with 1 if there are findings of these kinds, such as conflicts,local; any is all",
    html="PAGE: write one page, with the source beside the counts",
)
def read(
    file: Files,
    *,
    kernel: str | None = None,
    grid: str | Sequence[int] | int | None = None,
    block: str | Sequence[int] | int | None = None,
    args: str | Sequence[int | None] | None = None,
    let: Sequence[str] | Mapping[str, int] = (),
    shared: int = 0,
    steps: int | None = None,
    arch: str | None = None,
    against: str | None = None,
    fail_on: str | Sequence[str] = (),
    html: Path | str | None = None,
) -> Report:
    """Return the cost of every access of a kernel, and findings, the worst first.

    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry twice(.param .u64 twice_param_0)
    ... {
    ...   .reg .b32 %r<3>;
    ...   .reg .b64 %rd<4>;
    ...   ld.param.u64 %rd1, [twice_param_0];
    ...   mov.u32 %r1, %tid.x;
    ...   mul.wide.u32 %rd2, %r1, 8;
    ...   add.s64 %rd3, %rd1, %rd2;
    ...   ld.global.u32 %r2, [%rd3];
    ...   st.global.u32 [%rd3], %r2;
    ...   ret;
    ... }
    ... '''
    >>> report = read(text, block=32)
    >>> report.kernels[0]["totals"]["global"]["load"]["sectors"], report.kernels[0]["findings"][0]["kind"]
    (8, 'uncoalesced')
    """
    from tilewise.compiled.files import artifacts_of
    from tilewise.compiled.findings import KINDS, findings_of
    from tilewise.compiled.launch import MOST_STEPS
    from tilewise.compiled.reading import WantedLaunch, kernels_of
    from tilewise.pictures.kernel.source import SourceFiles, folders_of

    failing = _kinds(fail_on, KINDS)
    wanted = WantedLaunch(
        _extents(grid, "grid"),
        _extents(block, "block"),
        _arguments(args),
        _values(let),
        shared,
        arch,
        steps or MOST_STEPS,
    )
    given = [file] if isinstance(file, str | bytes | Mapping) or not isinstance(file, Sequence) else file
    with _progress() as told:
        kernels = kernels_of(artifacts_of(given), wanted, kernel, told)
        older = kernels_of(artifacts_of([against]), wanted, kernel) if against is not None else []
    found = {each.name: findings_of(each) for each in kernels}
    fields: dict[str, Any] = {
        "kernels": [
            each.as_dict() | {"findings": [one.as_dict() for one in found[each.name]]} for each in kernels
        ]
    }
    reason = ""
    bad = [one for findings in found.values() for one in findings if one.kind in failing]
    if bad:
        kinds = ", ".join(dict.fromkeys(one.kind for one in bad))
        reason = f"{len(bad)} finding{'s' * (len(bad) > 1)} that --fail-on names: {kinds}"
        fields["reason"] = reason
    if against is not None:
        from tilewise.compiled.versions import compared

        fields["against"] = compared(older, kernels)
    sources = SourceFiles(folders_of(given))
    if html is not None:
        from tilewise.pictures.kernel.page import written

        written(html, kernels, found, sources)

    def draw() -> None:
        from tilewise.pictures.kernel.lines import WIDTH
        from tilewise.pictures.terminal import print_out, size

        width = max(40, min(WIDTH, size(WIDTH, 40)[0]))
        print_out(_lines(kernels, found, sources, fields.get("against"), reason, width))

    return Report(fields, draw, not bad)


def _lines(
    kernels: Sequence[ReadKernel],
    found: Mapping[str, Sequence[KernelFinding]],
    sources: SourceFiles,
    against: Sequence[Mapping[str, Any]] | None,
    reason: str,
    width: int,
) -> Iterator[Line]:
    """Yield what became better or worse, each kernel, and why the answer is no."""
    from tilewise.pictures.kernel.lines import difference, lines_of
    from tilewise.pictures.terminal import Piece

    if against is not None:
        yield from difference(against, width)
        yield ()
    for number, kernel in enumerate(kernels):
        if number:
            yield ()
        yield from lines_of(kernel, found[kernel.name], sources, width)
    if reason:
        yield ()
        yield (Piece("no: ", "no"), Piece(reason))


# -- what was given --------------------------------------------------------------------------------------


def _extents(given: str | Sequence[int] | int | None, name: str) -> tuple[int, int, int] | None:
    if given is None:
        return None
    parts = given.replace("x", ",").split(",") if isinstance(given, str) else given
    try:
        numbers = [int(parts)] if isinstance(parts, int) else [int(part) for part in parts]
    except (TypeError, ValueError):
        numbers = []
    if not 1 <= len(numbers) <= 3:
        raise LayoutError("TW801", f"--{name} {given} is not one to three numbers", hint=f"--{name} 16,1,1")
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _arguments(given: str | Sequence[int | None] | None) -> list[int | None]:
    if given is None:
        return []
    try:
        if not isinstance(given, str):
            return [None if one is None else int(one) for one in given]
        return [int(part, 0) if part.strip() else None for part in given.split(",")]
    except (TypeError, ValueError):
        hint = "integers and addresses in order: --args 0x7f0000000000,,256"
        raise LayoutError("TW801", f"--args {given} are not all integers", hint=hint) from None


def _values(given: Sequence[str] | Mapping[str, int]) -> dict[str, int]:
    if isinstance(given, Mapping):
        return dict(given)
    values = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            values[name.strip()] = int(number, 0)
        except ValueError:
            raise LayoutError(
                "TW801", f"--let {text} gives no number to a name", hint="--let M=4096"
            ) from None
    return values


def _kinds(given: str | Sequence[str], known: Sequence[str]) -> set[str]:
    kinds = [one.strip() for one in (given.split(",") if isinstance(given, str) else given) if one.strip()]
    for one in kinds:
        if one not in (*known, "any"):
            raise misused(f"--fail-on {one} is no kind of finding", f"kinds: {' '.join(known)} any")
    return {*known} if "any" in kinds else {*kinds}


class _progress:  # noqa: N801
    """A line on standard error that says how many blocks have run, where that is a terminal."""

    def __enter__(self) -> Callable[[str, int, int], None] | None:
        from time import monotonic

        self.shown, begin = False, monotonic()
        if not sys.stderr.isatty():
            return None

        def told(name: str, done: int, blocks: int) -> None:
            if monotonic() - begin > 1:
                self.shown = True
                print(f"\r{name}: {done:,} of {blocks:,} blocks", end="", file=sys.stderr, flush=True)

        return told

    def __exit__(self, *exception: object) -> None:
        if self.shown:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
