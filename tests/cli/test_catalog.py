"""`tilewise catalog`: what it imports for an answer, and that nothing of it is missed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tilewise.cli.arguments import parser_for
from tilewise.cli.main import main
from tilewise.hardware.catalog import entries
from tilewise.hardware.catalog.registry import ENGINES

# -- what is imported ------------------------------------------------------------------------------

_IMPORTED = "import sys; from tilewise.cli.main import main; main({words!r});print(*sys.modules)"


def engines_of(*words: str) -> list[str]:
    """The engines whose entries are imported for an answer."""
    code = _IMPORTED.format(words=["catalog", *words])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = done.stdout.splitlines()[-1].split()
    return sorted({module.split(".")[2] for module in ENGINES.values() if module in imported})


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        (["wgmma.D", "--n", "64", "--dtype", "f32"], "wgmma"),
        (["--n", "64", "wgmma.D", "--dtype=f32", "--at", "9,3"], "wgmma"),
        (["wgmma.D(f32, n=N)", "--let", "N=64"], "wgmma"),
        (["wgmma.smem"], "wgmma"),
        (["ldmatrix.x4"], "matrices"),
        (["tcgen05.D", "--m", "128", "--n", "64", "--dtype", "f32", "--cta-group", "1"], "tcgen05"),
    ],
)
def test_an_entry_imports_its_engine_alone(words, engine):
    assert engines_of(*words) == [engine]


def test_what_asks_for_all_imports_all():
    every = sorted({module.split(".")[2] for module in ENGINES.values()})
    for words in ([], ["fragment"], ["wgmma.d"], ["wgmma.D", "--confirmed"]):
        assert engines_of(*words) == every


# -- and nothing is missed -------------------------------------------------------------------------


def test_the_help_has_the_parameters_of_all(capsys):
    said = parser_for("catalog").format_help()
    for entry in entries().values():
        for parameter in entry.parameters:
            assert f"--{parameter.name.replace('_', '-')}" in said
    for words in (["--help"], ["wgmma.D", "--help"], ["--help", "wgmma.D"]):
        with pytest.raises(SystemExit):
            main(["catalog", *words])
        assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("wgmma.D --dtype f32 --n 64 --slab 1", "TW601", "wgmma.D has no parameter slab"),
        ("wgmma.D --dtype f32 --cta_group=1", "TW601", "wgmma.D has no parameter cta_group"),
        ("mma fragment --slab 1", "TW401", "values were given, and no entry"),
        ("wgmma.D tcgen05.D --slab 1", "TW401", "wgmma.D and more words: tcgen05.D"),
        ("--slab 1", "TW401", "values were given, and no entry"),
    ],
)
def test_options_of_other_engines_are_known(capsys, words, code, message):
    assert main(["catalog", *words.split(), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["message"]) == (code, message)
