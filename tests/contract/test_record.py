"""The contract holds: every answer of the record is that of now, and a change in one is found."""

from __future__ import annotations

import json
import os
from random import Random

import pytest
from tests.contract import record


def planted(kept: dict[record.Command, list]) -> tuple[dict[record.Command, list], record.Command]:
    """Some answers, one of them changed."""
    some = dict(Random(1).sample(sorted(kept.items()), 20))
    changed = next(command for command, (code, _) in some.items() if code == 0)
    code, data = some[changed]
    return some | {changed: [code, data | {"schema": 2}]}, changed


@pytest.fixture
def settled(monkeypatch):
    monkeypatch.chdir(record.ROOT)
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", str(record.COLUMNS)), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)


def test_a_sample_of_answers_is_that_of_the_record(settled):
    kept = record.load()
    seed = int(os.environ.get("TILEWISE_SEED", "1"))
    for command in Random(seed).sample(sorted(kept), 120):
        now = record.answer(command)
        assert now == kept[command], "\n".join([command.spelled, *record.parted(kept[command], now)])


@pytest.mark.slow
def test_every_answer_is_that_of_the_record():
    kept = record.load()
    assert len(kept) > 6_000
    found = [
        "\n".join([command.spelled, *record.parted(before, now)])
        for command, before, now in record.compared(kept)
    ]
    assert not found, "\n".join([*found, "if they are right: python -m tests.contract.record --write"])


def test_a_planted_change_in_one_answer_is_found():
    kept, changed = planted(record.load())
    (found,) = record.compared(kept)
    assert found[0] == changed
    assert [*record.parted(found[1], found[2])] == ["  answer[1].schema: 2 is now 1"]


def test_the_record_has_yes_no_errors_and_open_questions():
    codes = [code for code, _ in record.load().values()]
    assert all(codes.count(code) > least for code, least in ((0, 3_000), (1, 500), (2, 800), (3, 3)))


def test_sentences_are_no_part_of_an_answer():
    said = {"reason": "it is so", "text": "no two words alike", "layout": "S[(8, 4) : (4@laneid, 1@laneid)]"}
    assert record.as_data(said) == {"reason": "...", "text": "...", "layout": said["layout"]}
    code = "// what it does\nint f(int x)\n{\n    return x; // at once\n}\n"
    assert record.as_data({"code": code}) == {"code": "int f(int x)\n{\n    return x;\n}"}


def test_commands_are_read_from_lines():
    lines = ["$ tilewise at 'S[8 : 1]' 3 --json", "same A B", "", "# a comment", "tilewise at - 3 | cat"]
    assert [command.words for command in record.commands_in(lines)] == [
        ("at", "S[8 : 1]", "3"),
        ("same", "A", "B"),
    ]


def test_the_file_is_the_same_bytes_for_the_same_answers(tmp_path, monkeypatch):
    kept = record.load()
    monkeypatch.setattr(record, "RECORD", tmp_path / "record.json.gz")
    record.save(dict(reversed(kept.items())))
    assert record.load() == kept
    assert json.dumps(kept[next(iter(kept))])
