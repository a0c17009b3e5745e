"""Behaviour that only a process of its own shows: imports, pipes, encodings, shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

FRAGMENT = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]"


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tilewise", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )


@pytest.mark.parametrize(
    "words",
    [
        ("at", FRAGMENT, "47"),
        ("who", FRAGMENT, "laneid=5"),
        ("info", FRAGMENT),
        ("same", FRAGMENT, FRAGMENT),
        ("explain", FRAGMENT, "47"),
    ],
)
def test_questions_import_neither_numpy_nor_rich(words):
    program = (
        "import sys; from tilewise.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'numpy', 'rich', 'typing'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_stops_reading_is_no_error():
    words = [sys.executable, "-m", "tilewise", "table", "S[(512, 512) : (512, 1)]"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_terminal_without_unicode_gets_a_question_mark():
    done = run("at", "S[4 : 1@ä]", "1", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 -> 1@?\n", "")


def test_colour_appears_where_it_is_asked_for_and_not_under_no_color():
    assert "\x1b[4" not in run("show", FRAGMENT, FORCE_COLOR="1", TERM="xterm-256color").stdout
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    done = subprocess.run(
        [sys.executable, "-m", "tilewise", "show", FRAGMENT],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, "FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color"},
    )
    assert "\x1b[" in done.stdout


def test_version_and_help():
    from tilewise import __version__

    assert run("--version").stdout == f"tilewise {__version__}\n"
    assert "who" in run("--help").stdout
    assert run().returncode == 0
    assert "examples" not in run("at", "--help").stderr
    assert "tilewise at 'S[" in run("at", "--help").stdout


def test_bash_completes_commands_and_options(tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash on this machine")
    script = tmp_path / "completion"
    script.write_text(run("completion", "bash").stdout)
    asked = (
        f"source {script}; COMP_WORDS=(tilewise ex); COMP_CWORD=1; _tilewise; echo ${{COMPREPLY[@]}};"
        "COMP_WORDS=(tilewise who --ba); COMP_CWORD=2; _tilewise; echo ${COMPREPLY[@]};"
        "COMP_WORDS=(tilewise at L --dtype bf); COMP_CWORD=4; _tilewise; echo ${COMPREPLY[@]};"
        "COMP_WORDS=(tilewise completion z); COMP_CWORD=2; _tilewise; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run([bash, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["explain", "explore", "--base", "bf16", "zsh"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_with_every_command(shell):
    from tilewise.questions import SUMMARIES

    out = run("completion", shell).stdout
    assert all(name in out for name in SUMMARIES)
