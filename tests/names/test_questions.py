"""A sample of generated questions with names; the command of the module asks as many as are wanted."""

from __future__ import annotations

from tests.names.questions import COMMANDS, run


def test_answers_filled_in_are_the_answers_for_numbers() -> None:
    counts, faults = run(range(5000, 5120))
    assert faults == []
    assert {command for command, _, _ in counts} == {*COMMANDS}
    open_ones = sum(count for (_, _, state), count in counts.items() if state == "open")
    assert open_ones < 0.25 * sum(counts.values())
