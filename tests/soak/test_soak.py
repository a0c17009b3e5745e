"""The soak, as one sample that every run of the tests takes; and that it notices a fault."""

from dataclasses import replace

import pytest
from tests.soak import soak

from tilewise import Layout

SAMPLE_SIZE = 1_000


def test_a_sample_has_no_fault(capsys, times):
    assert soak.main(["--count", str(times(SAMPLE_SIZE)), "--seed", "20"]) == 0
    printed = capsys.readouterr().out
    assert "0 wrong" in printed
    for check in soak.CHECKS:
        assert f"{check.__name__:20} {times(SAMPLE_SIZE):9} asked" in printed


def test_hardly_anything_is_undecided(times):
    report = soak.check_chunk((21, range(times(500))))
    assert not report.fault
    assert report.undecided.total() <= report.asked.total() // 1_000


def test_several_processes_share_the_work(capsys, monkeypatch):
    monkeypatch.setattr(soak, "CHUNK", 50)
    assert soak.main(["--count", "110", "--seed", "22", "--jobs", "2"]) == 0
    assert "evaluation                 110 asked" in capsys.readouterr().out


def one_more(method):
    def wrong(layout, *arguments, **named):
        return method(layout + 1 @ layout.axes[0], *arguments, **named)

    return wrong


@pytest.mark.parametrize(
    ("method", "check"),
    [
        ("points", "evaluation"),
        ("who", "who_of_taken_places"),
        ("extremes", "extremes"),
        ("same", "same_respelled"),
    ],
)
def test_a_wrong_answer_is_a_fault_with_its_seed_and_layout(monkeypatch, capsys, method, check):
    monkeypatch.setattr(Layout, method, one_more(getattr(Layout, method)))
    assert soak.main(["--count", "200", "--seed", "3"]) == 1
    printed = capsys.readouterr().out
    assert f"{check} is wrong: --seed 3 --first " in printed
    assert "S[" in printed


def test_a_wrong_reader_is_a_fault(monkeypatch, capsys):
    monkeypatch.setattr(soak, "parse", lambda text, **_: soak.random_layout(soak.Random(text)))
    assert soak.main(["--count", "20"]) == 1
    assert "text is wrong" in capsys.readouterr().out


def test_a_wrong_canonical_form_is_a_fault(monkeypatch, capsys):
    monkeypatch.setattr(Layout, "canonical", lambda layout: replace(layout, replica=()))
    assert soak.main(["--count", "200"]) == 1
    assert "canonical is wrong" in capsys.readouterr().out


def test_a_fault_is_met_again_by_its_number(monkeypatch, capsys):
    monkeypatch.setattr(Layout, "points", one_more(Layout.points))
    soak.main(["--count", "200", "--seed", "3"])
    first_line, layout, *_ = capsys.readouterr().out.strip().splitlines()
    arguments = first_line.split(": ")[1].split()
    assert soak.main(arguments) == 1
    assert layout in capsys.readouterr().out
