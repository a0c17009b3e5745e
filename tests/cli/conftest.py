"""`tilewise(...)`: a command run inside the test, with its answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tilewise.cli.main import main
from tilewise.pictures.server import Server


@dataclass(frozen=True)
class Run:
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer in JSON, without its schema, which is checked here."""
        data = json.loads(self.out)
        assert data.pop("schema") == 1
        return data


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were to be opened in a browser; servers end as soon as they would serve."""
    urls: list[str] = []

    def ended(server: Server, opened: str, quiet: bool) -> None:
        urls.extend([opened] if opened else [])
        server.server_close()

    monkeypatch.setattr("tilewise.questions.explore._serve", ended)
    return urls


@pytest.fixture
def tilewise(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """A function that runs the command line with the given words and standard input."""
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*words: str, stdin: str | None = None) -> Run:
        if stdin is not None:
            import io

            monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as stop:  # argparse ends --help and --version so
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return Run(code, out, err)

    return run


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two parts of a device that is made up, in place of the real ones."""
    from tests.gpu.parts import DEVICE, Squares

    from tilewise.gpu import device as gpus
    from tilewise.gpu.verify import parts as registry
    from tilewise.gpu.verify import run as runs

    found = [Squares("toy.right").part, Squares("toy.wrong", wrong=(5,)).part]
    monkeypatch.setattr(registry, "PARTS", {part.name: part for part in found})
    monkeypatch.setattr(gpus, "find", lambda **asked: None)
    monkeypatch.setattr(runs, "described", lambda gpu: DEVICE)
    monkeypatch.setenv("TILEWISE_CACHE", str(tmp_path / "cache"))
