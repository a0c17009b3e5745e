"""A report in Python: its fields are attributes, it is an answer in an `if`, it is copied and sent."""

from __future__ import annotations

import copy
import pickle
from random import Random

import pytest
from tests.contract import record
from tests.contract.test_python import arguments_of

import tilewise
from tilewise import LayoutError, NotDecided, S
from tilewise.questions.asking import question
from tilewise.questions.report import Report

TILE = S[64, 64]


def reports(count: int):
    """Reports of a sample of the contract's commands."""
    for command in Random(3).sample(sorted(record.load()), count):
        arguments = arguments_of(command)
        if arguments is None:
            continue
        try:
            yield command.words[0], question(command.words[0])(**arguments)
        except LayoutError:
            continue


def test_every_field_is_an_attribute_whatever_its_name():
    """Also those named text, notes, fields and class."""
    assert tilewise.say(TILE).text["cute"] == "(64,64):(64,1)"
    assert tilewise.info(TILE).text["cute"] == "(64,64):(64,1)"
    assert tilewise.descriptor(0x4000004000010000).fields["sbo"]
    assert tilewise.idesc(0x8200490, kind="f16").fields["n"]
    assert isinstance(tilewise.suggest("wgmma", "bf16", operand="A", tile=(128, 64)).notes, list | tuple)
    assert tilewise.relation(TILE, TILE.T).class_ == "view"
    for name, report in reports(300):
        for field, value in report.contents.items():
            assert getattr(report, field) is value, (name, field)


def test_fields_are_completed():
    assert {"wavefronts", "ideal", "accesses"} <= {*dir(tilewise.banks(TILE, "bf16", access="row"))}
    assert "class_" in dir(tilewise.relation(TILE, TILE))


def test_a_report_lacks_other_names_and_says_which_it_has():
    with pytest.raises(AttributeError, match="no field wavefront; it has layout, dtype"):
        _ = tilewise.banks(TILE, "bf16", access="row").wavefront


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda report: pickle.loads(pickle.dumps(report))]
)
@pytest.mark.parametrize(
    "ask",
    [
        lambda: tilewise.at(TILE, 5),
        lambda: tilewise.table(S[4, 4]),
        lambda: tilewise.show(S[4, 4], ascii=True),
        lambda: tilewise.banks(TILE, "bf16", access="col", phases=True),
        lambda: tilewise.same(TILE, TILE.T),
    ],
)
def test_a_report_is_copied_and_sent_with_its_text(ask, copied):
    report = ask()
    other = copied(report)
    assert (other, str(other), other.data(), other.answer) == (
        report,
        str(report),
        report.data(),
        report.answer,
    )


def test_a_report_of_any_question_is_sent():
    for name, report in reports(150):
        assert pickle.loads(pickle.dumps(report)).data() == report.data(), name


def test_a_printed_report_speaks_of_arguments_and_its_data_of_options():
    """The data is that of a shell; commands in a text stay commands, and source code stays as it is."""
    shown = str(tilewise.show(S[64, 64], ascii=True, json=True))
    assert 'see others with window="0:16,0:16"' in shown
    related = tilewise.relation(TILE, TILE.T)
    assert "permute=(0, 1) asks what moves" in str(related)
    assert "--permute 0,1 asks what moves" in related.shown()
    refused = tilewise.banks(TILE, "bf16", access="row:16B", base=2)
    assert refused.hint == refused.data()["hint"]
    report = tilewise.code(TILE)
    assert str(report) == report.code


def test_a_report_that_is_not_decided_is_no_answer():
    report = Report({"reason": "the search ended"}, "not decided", None)
    with pytest.raises(NotDecided, match="the search ended"):
        bool(report)
    assert report.data() == {"schema": 1, "reason": "the search ended"}
