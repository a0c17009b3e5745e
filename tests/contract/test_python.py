"""Every question gives in Python what it gives in a shell: the contract's commands as calls of functions.

Layouts go in as layouts where their text tells nothing else, numbers and sizes as Python has them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from tests.contract import record

import tilewise
from tilewise.cli.arguments import call_of
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.questions import SUMMARIES
from tilewise.questions.asking import inputs, question

NOT_ASKED = {"algebra", "catalog", "emit", "completion", "tour", "mcp", "verify", "explore"}
"""Commands with words of their own before their arguments, and those that are no questions."""


def arguments_of(command: record.Command) -> dict[str, Any] | None:
    """Return the arguments of a call, or None where the command lacks the words."""
    name, *words = command.words
    if "-" in words or name not in SUMMARIES or name in NOT_ASKED or command.stdin:
        return None
    try:
        name, given = call_of(command.words)
    except (LayoutError, SystemExit):
        return None
    kinds = {parameter.name: parameter.kind for parameter in inputs(name)}
    return {each: in_python(value, kinds.get(each, ""), given) for each, value in given.items()}


def in_python(value: Any, kind: str, given: dict[str, Any]) -> Any:
    """A value as Python has it, where that is the same."""
    if kind == "LayoutText" and not {"let", "part", "unit", "storage", "dialect", "triton"} & given.keys():
        return layout_in(value)
    if kind == "Number" and isinstance(value, str) and value.isdecimal():
        return int(value)
    return value


def layout_in(text: str) -> Any:
    """A layout that its text tells in full, else the text."""
    from tilewise.hardware.calls import reading

    try:
        found = reading(text)
    except LayoutError:
        return text
    whole = str(found.layout) == text and not (
        found.dtype or found.box or found.notes or found.layout.swizzles
    )
    return found.layout if whole else text


def answered(name: str, arguments: dict[str, Any]) -> list[Any]:
    """The exit code and the data that a call gives."""
    function = question(name) if name == "plan" else getattr(tilewise, name)
    if name == "show":
        arguments = {**arguments, "json": True}  # a picture has the width of the terminal otherwise
    try:
        report = function(**arguments)
    except NotDecided as error:
        return [3, {"schema": 1, "answer": None, "reason": error.message}]
    except LayoutError as error:
        return [2, error.code]
    code = 3 if report.answer is None else 0 if report.answer else 1
    return [code, json.loads(json.dumps(report.data()))]


def differing(commands: list[record.Command], kept: dict[record.Command, list]) -> Iterator[str]:
    """The answers in which a call differs from its command."""
    for command in commands:
        arguments = arguments_of(command)
        if arguments is None:
            continue
        code, data = answered(command.words[0], arguments)
        before = kept[command]
        if code == 2:
            now = [code, data]
            before = (
                [before[0], before[1].get("error", {}).get("code")] if isinstance(before[1], dict) else before
            )
        else:
            now = [code, record.shortened(record.as_data(data))]
        if now != before:
            yield "\n".join([command.spelled, *record.parted(before, now)])


@pytest.fixture
def settled(monkeypatch):
    monkeypatch.chdir(record.ROOT)
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", str(record.COLUMNS)), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)


def test_a_sample_of_questions_is_answered_alike(settled):
    kept = record.load()
    seed = int(os.environ.get("TILEWISE_SEED", "1"))
    assert not [*differing(Random(seed).sample(sorted(kept), 300), kept)]


@pytest.mark.slow
def test_every_question_is_answered_alike(settled):
    kept = record.load()
    asked = [command for command in kept if arguments_of(command) is not None]
    assert len(asked) > 2_000
    assert len({command.words[0] for command in asked}) >= len(SUMMARIES) - len(NOT_ASKED)
    assert not [*differing(asked, kept)]


def test_modules_do_not_stand_in_the_way_of_functions():
    """Every module is imported, and the questions are functions still."""
    import pkgutil
    from importlib import import_module

    for module in pkgutil.walk_packages(tilewise.__path__, "tilewise."):
        if not module.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):  # some packages are optional
                import_module(module.name)
    assert sys.modules["tilewise.questions.at"]
    assert [name for name in SUMMARIES if name != "algebra" and not callable(getattr(tilewise, name))] == []
    assert tilewise.show("S[(2, 2) : (2, 1)]", ascii=True).answer
    assert tilewise.algebra.compose
