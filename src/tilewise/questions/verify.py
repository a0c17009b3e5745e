"""The catalogue held against the GPU of this machine: the hardware says what it does.

  tilewise verify --list
  tilewise verify
  tilewise verify --only tma --report report
  tilewise verify --resume --state answers
  tilewise verify --from tests/hardware/truth

Kernels spell out which thread and register owns each element, which elements mma.sync multiplies, which byte
of shared memory a descriptor or ldmatrix reads, and where TMA puts a box; the driver says which tensor maps
it takes. All of it is compared with the catalogue. Exit 0: no difference. Exit 1: the differences. It takes a
GPU of the Hopper generation, and pip install 'tilewise[gpu]'; --from takes neither.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path

from tilewise import __version__
from tilewise.questions.asking import asks
from tilewise.questions.report import Report, table_lines
from tilewise.questions.texts import misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tilewise.gpu.verify.part import Part
    from tilewise.gpu.verify.run import Verification


@asks(
    list="the parts, and ask no device",
    from_="DIR: a record's answers, and ask no device",
    resume="keep the answers of an earlier, ended run",
    state="DIR: where answers are kept for --resume",
    only="PART: this part or family alone; repeatable",
    report="DIR: write report.txt, report.json",
)
def verify(
    *,
    list: bool = False,
    from_: Path | str | None = None,
    resume: bool = False,
    state: Path | str | None = None,
    only: Sequence[str] = (),
    report: Path | str | None = None,
) -> Report:
    """Return what the GPU answers beside what the catalogue says; no where the two differ.

    >>> [part["name"] for part in verify(list=True, only=["tma.rules"]).parts]
    ['tma.rules']
    """
    from tilewise.gpu.verify.parts import chosen

    if (list, from_ is not None, resume).count(True) > 1:
        raise misused("--list, --from and --resume exclude one another", "one of them at a time")
    parts = chosen(only)
    if list:
        return _listed(parts)
    found = _verified(parts, state, resume) if from_ is None else _recorded(parts, Path(from_))
    if report is not None:
        _write(found, Path(report))
    return Report(found.data(), found.text(), found.right)


def _listed(parts: list[Part]) -> Report:
    rows = [
        {"name": part.name, "cases": len(part.cases()), "title": part.title, "confirms": list(part.confirms)}
        for part in parts
    ]
    lines = table_lines([(row["name"], f"{row['cases']:,} cases", row["title"]) for row in rows], "<>")
    return Report({"parts": rows}, "\n".join(lines))


def _verified(parts: list[Part], state: Path | str | None, resume: bool) -> Verification:
    from tilewise.gpu.compile import cache_folder
    from tilewise.gpu.device import HOPPER, find
    from tilewise.gpu.verify.run import Verification, described, run

    device = described(find(capability=HOPPER)) | {"tilewise": __version__}
    folder = cache_folder() / "verify" if state is None else Path(state)
    with _progress() as told:
        return Verification(device, [*run(parts, device, state=folder, resume=resume, told=told)])


def _recorded(parts: list[Part], folder: Path) -> Verification:
    from tilewise.gpu.verify.run import Verification, recorded

    outcomes = [*recorded(parts, folder)]
    return Verification(outcomes[0].truth.device if outcomes[0].truth else {}, outcomes)


def _write(report: Verification, folder: Path) -> None:
    import json

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.txt").write_text(report.text() + "\n", encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(report.data(), indent=1) + "\n", encoding="utf-8")


@contextmanager
def _progress() -> Iterator[Callable[[Part, int, int], None]]:
    """Yield what shows a bar for each part on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda part, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars: dict[str, int] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def told(part: Part, done: int, total: int) -> None:
            if part.name not in bars:
                bars[part.name] = progress.add_task(part.name, total=total)
            progress.update(bars[part.name], completed=done, total=total)  # type: ignore[arg-type]

        yield told
