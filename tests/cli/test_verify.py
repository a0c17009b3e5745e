"""`tilewise verify` where there is no GPU, and with a device that is made up."""

import io
import json
import sys

import numpy as np
from tests.gpu.parts import DEVICE

import tilewise
from tilewise.cli.main import main
from tilewise.gpu.verify import parts as registry
from tilewise.gpu.verify.truth import Truth, load, save


def json_of(capsys, *words):
    code = main(["verify", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_parts_are_listed_without_a_device(capsys):
    code, data = json_of(capsys, "--list")
    assert code == 0
    names = [part["name"] for part in data["parts"]]
    assert names == list(registry.PARTS)
    assert all(part["cases"] > 10 and part["confirms"] for part in data["parts"])
    assert main(["verify", "--list", "--only", "tma.rules"]) == 0
    assert capsys.readouterr().out.startswith("tma.rules")


def test_without_the_packages_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    code, data = json_of(capsys)
    assert code == 2
    assert data["error"]["code"] == "TW608"
    assert data["error"]["hint"] == "pip install 'tilewise[gpu]'"


def test_an_unknown_part_is_not_understood(capsys):
    code, data = json_of(capsys, "--only", "tam")
    assert (code, data["error"]["code"]) == (2, "TW601")


def test_a_device_that_is_right_is_a_yes(capsys, toys):
    code, data = json_of(capsys, "--only", "toy.right")
    assert code == 0
    assert data["schema"] == 1
    assert (data["answer"], data["different"], data["device"]["name"]) == (True, 0, "NVIDIA H200")


def test_a_difference_is_a_no_with_its_witness(capsys, toys):
    code, data = json_of(capsys)
    assert code == 1
    assert data["reason"] == "toy.wrong: x = 5: 26"
    assert data["witness"] == {"x": 5, "found": 26}
    assert main(["verify"]) == 1
    assert capsys.readouterr().out.endswith("1 difference in 20 cases and 20 answers\n")


def recorded(folder, *words):
    """Save the answers of a run as a record in a folder."""
    main(["verify", *words, "--state", str(folder / "state")])
    truths = [truth for path in (folder / "state").glob("*.zip") for truth in load(path)]
    save(folder / "toy.zip", truths)


def test_reports_are_written(capsys, toys, tmp_path):
    main(["verify", "--report", str(tmp_path / "out")])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "report.txt",
        "report.json",
    }
    assert (tmp_path / "out" / "report.txt").read_text() == capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "report.json").read_text())["different"] == 1


def test_a_run_is_resumed_from_where_its_state_is(capsys, toys, tmp_path):
    state = ("--state", str(tmp_path / "state"))
    main(["verify", *state])
    capsys.readouterr()
    code, data = json_of(capsys, *state, "--resume")
    assert code == 1
    assert [part["resumed"] for part in data["parts"]] == [True, True]


def test_a_record_takes_the_place_of_a_device(capsys, toys, tmp_path):
    recorded(tmp_path)
    capsys.readouterr()
    code, data = json_of(capsys, "--from", str(tmp_path))
    assert code == 1
    assert data["device"] == DEVICE | {"tilewise": tilewise.__version__}
    assert data["reason"] == "toy.wrong: x = 5: 26"


def test_a_record_that_is_missing_is_not_understood(capsys, toys, tmp_path):
    code, data = json_of(capsys, "--from", str(tmp_path / "nowhere"))
    assert (code, data["error"]["code"]) == (2, "TW402")


def test_a_record_without_a_part_is_not_understood(capsys, toys, tmp_path):
    recorded(tmp_path, "--only", "toy.right")
    capsys.readouterr()
    code, data = json_of(capsys, "--from", str(tmp_path))
    assert (code, data["error"]["message"]) == (2, "toy.zip has no answers to toy.wrong")


def test_a_record_of_other_cases_is_not_understood(capsys, toys, tmp_path):
    part = registry.PARTS["toy.right"]
    save(tmp_path / "toy.zip", [Truth(part.name, [{"length": 1}], {"answers": np.array([1])}, DEVICE)])
    code, data = json_of(capsys, "--from", str(tmp_path), "--only", "toy.right")
    assert code == 2
    assert data["error"]["message"] == "the record of toy.right is an old one: 'x'"


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self):
        return True


def test_a_terminal_shows_how_far_each_part_is(capsys, toys, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    main(["verify"])
    shown = sys.stderr.getvalue()
    assert "toy.right" in shown
    assert "toy.wrong" in shown
    assert "10/10" in shown


def test_nothing_is_shown_where_there_is_no_terminal(capsys, toys):
    main(["verify"])
    assert capsys.readouterr().err == ""
