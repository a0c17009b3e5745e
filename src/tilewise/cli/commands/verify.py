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

import argparse
import sys
from contextlib import contextmanager
from pathlib import Path

from tilewise import __version__
from tilewise.cli.answer import NO, YES, Answer, table_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilewise.gpu.verify.part import Part
    from tilewise.gpu.verify.run import Report


def arguments(parser: argparse.ArgumentParser) -> None:
    """[--list | --from DIR | --resume] [--state DIR] [--only PART] [--report DIR]."""
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--list", action="store_true", help="the parts, and ask no device")
    way.add_argument(
        "--from", type=Path, metavar="DIR", dest="source", help="a record's answers, and ask no device"
    )
    way.add_argument("--resume", action="store_true", help="keep the answers of an earlier, ended run")
    parser.add_argument("--state", type=Path, metavar="DIR", help="where answers are kept for --resume")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PART", help="this part or family alone; repeatable"
    )
    parser.add_argument("--report", type=Path, metavar="DIR", help="write report.txt, report.json")


def answer(args: argparse.Namespace) -> Answer:
    """The report; no where the device does something else than the catalogue says."""
    from tilewise.gpu.verify.parts import chosen

    parts = chosen(args.only)
    if args.list:
        return _listed(parts)
    report = _recorded(parts, args.source) if args.source else _verified(parts, args)
    if args.report:
        _write(report, args.report)
    return Answer(report.data(), report.text(), YES if report.right else NO)


def _listed(parts: list[Part]) -> Answer:
    rows = [
        {"name": part.name, "cases": len(part.cases()), "title": part.title, "confirms": list(part.confirms)}
        for part in parts
    ]
    lines = table_lines([(row["name"], f"{row['cases']:,} cases", row["title"]) for row in rows], "<>")
    return Answer({"parts": rows}, "\n".join(lines))


def _verified(parts: list[Part], args: argparse.Namespace) -> Report:
    from tilewise.gpu.compile import cache_folder
    from tilewise.gpu.device import HOPPER, find
    from tilewise.gpu.verify.run import Report, described, run

    device = described(find(capability=HOPPER)) | {"tilewise": __version__}
    state = args.state or cache_folder() / "verify"
    with _progress(quiet=args.json) as told:
        outcomes = list(run(parts, device, state=state, resume=args.resume, told=told))
    return Report(device, outcomes)


def _recorded(parts: list[Part], folder: Path) -> Report:
    from tilewise.gpu.verify.run import Report, recorded

    outcomes = list(recorded(parts, folder))
    return Report(outcomes[0].truth.device if outcomes[0].truth else {}, outcomes)


def _write(report: Report, folder: Path) -> None:
    import json

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.txt").write_text(report.text() + "\n", encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(report.data(), indent=1) + "\n", encoding="utf-8")


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Part, int, int], None]]:
    """A bar a part on standard error, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
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
