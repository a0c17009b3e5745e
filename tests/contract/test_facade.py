"""The facade in Python: its names are completed, its functions documented, and each does its work alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

import tilewise
from tilewise import LayoutError, S, m
from tilewise.questions import FORMS, OF_THE_SHELL, SUMMARIES
from tilewise.questions.asking import HIDDEN, inputs

TILE = S[64, 64]
ASKED = sorted({*SUMMARIES, *FORMS["emit"].values()} - {*OF_THE_SHELL, "algebra", "plan"})

HEAVY = ("numpy", "rich", "argparse", "json", "tilewise.notation", "tilewise.hardware", "tilewise.moves")


def test_every_public_name_is_completed():
    assert {*tilewise.__all__, "__version__"} <= {*dir(tilewise)}
    assert [
        name for name in dir(tilewise) if not name.startswith("__") and name not in tilewise.__all__
    ] == []


def test_a_name_that_is_near_is_offered():
    done = subprocess.run(
        [sys.executable, "-c", "import tilewise; tilewise.bank"], capture_output=True, text=True, check=False
    )
    assert "has no attribute 'bank'" in done.stderr
    if sys.version_info >= (3, 12):
        assert "Did you mean: 'banks'" in done.stderr


def test_importing_and_completing_stays_light():
    script = f"import sys, tilewise; dir(tilewise); print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ASKED)
def test_help_has_every_argument_in_pythons_spelling(name):
    text = getattr(tilewise, name).__doc__
    told = [each.name for each in inputs(name) if each.help and each.help != HIDDEN]
    assert [each for each in told if f":param {each}: " not in text] == []
    assert re.findall(r" --[a-z][\w-]*", text) == []


def test_a_kernel_that_moves_a_tensor_is_emitted():
    report = tilewise.emit_move(TILE, TILE.T, "bf16", name="turn")
    assert report.name == "turn"
    assert "__global__" in report.code
    with pytest.raises(LayoutError) as caught:
        tilewise.emit("move", tile=(64, 64))
    assert "emit_move(source, target, dtype)" in caught.value.hint


def test_the_explorer_is_served_beside_the_process(monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr("tilewise.questions.explore._open", opened.append)
    report = tilewise.explore(S[8, 8], port=0, open=True)
    with urlopen(report.url.partition("#")[0], timeout=5) as answer:
        assert answer.status == 200
    assert "Ctrl-C" not in str(report)
    assert opened == [report.url]


def test_a_layout_asks_with_the_options_of_the_question():
    assert TILE.info(dtype="bf16").data() == tilewise.info(TILE, "bf16").data()
    assert TILE.table(window=((0, 1), (0, 4))).data() == tilewise.table(TILE, window="0:1,0:4").data()
    assert TILE.explain(3, 4).data() == tilewise.explain(TILE, "3,4").data()


def test_files_are_paths_and_colours_axes(tmp_path):
    file = tmp_path / "tile.svg"
    assert tilewise.show(S[4, 4], svg=file).files[0]["file"] == str(file)
    assert file.read_text().startswith("<svg")
    assert tilewise.table(S[4, 4], npy=Path(tmp_path / "tile.npy")).data()["file"].endswith("tile.npy")
    assert str(tilewise.show(S[4, 4], colour=m)) == str(tilewise.show(S[4, 4], colour="m"))
