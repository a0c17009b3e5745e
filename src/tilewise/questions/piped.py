"""The answer of one command in JSON, as the next one reads it.

A layout, as `algebra`, `catalog` and others answer it, is read as its text, in the dialect in which it is
written; one that its text does not tell in full, as a document; bases and tables as JSON.
"""

from __future__ import annotations

import json

from tilewise.core.errors import LayoutError, NotDecided
from tilewise.questions.report import ask_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def result_in(text: str, let: Mapping[str, int]) -> str:
    """Return what an answer in JSON holds, as a word: a layout, a table, the nearest tile; any other JSON as
    it is.

    Of an answer for each case of names, it is that for the values in `let`, which may be names that the
    question knows.

    >>> result_in('{"schema": 1, "op": "compose", "result": "S[4 : 9]"}', {})
    'S[4 : 9]'
    >>> result_in('{"schema": 1, "shape": [2, 2], "axes": ["m"], "places": [[[0]], [[1]], [[2]], [[3]]]}', {})
    '[[0, 1], [2, 3]]'
    """
    try:
        return _result_in(text, let)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        if isinstance(error, LayoutError):
            raise
        raise LayoutError("TW108", f"an answer in JSON that does not hold together: {error!r}") from None


def _result_in(text: str, let: Mapping[str, int]) -> str:
    whole = _answer_in(text)
    answer = _at_hand(whole, let)
    if "op" in answer and "result" in answer:
        return _result(answer, let)
    for name in ("layout", "tile"):
        if isinstance(answer.get(name), str):
            return _written(answer[name], answer, let)
    if answer.get("legal") is False and answer.get("nearest"):
        return str(answer["nearest"][0]["layout"])
    if answer.keys() >= {"shape", "axes", "places"}:
        return json.dumps(_table(answer))
    return text if answer is whole else json.dumps({"schema": 1, **answer})


def told_in(text: str) -> dict[str, str]:
    """Return the other facts of an answer in JSON, as options are spelled: the operand, the type,
    M, N, K.

    A flag that is raised is True, and one that is not is left out.

    >>> told_in('{"schema": 1, "operand": "B", "value": "0x10", "instruction": {"m": 64, "n": 96, "k": 16}}')
    {'operand': 'B', 'value': '0x10', 'm': '64', 'n': '96', 'k': '16'}
    """
    answer = _answer_in(text)
    parameters, instruction = (answer.get(name) for name in ("parameters", "instruction"))
    told = {**(parameters if isinstance(parameters, dict) else {}), **answer}
    if isinstance(instruction, dict):
        told |= {size: instruction.get(size) for size in "mnk"}
    return {
        name: str(value)
        for name, value in told.items()
        if name != "schema" and isinstance(value, str | int) and value is not False
    }


def _answer_in(text: str) -> dict[str, Any]:
    """Return the answer of a command that a text is; nothing of any other text."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) and "schema" in answer else {}


def _at_hand(answer: Mapping[str, Any], let: Mapping[str, int]) -> Mapping[str, Any]:
    """Return the answer for the values of names; ask for names without values, and for facts about them.

    not decided  TW303 an answer that was not decided for these values
    """
    if "where" in answer:
        from tilewise.notation.document import where_of

        ask_for(where_of(answer), let)
    if answer.keys().isdisjoint(("if", "cases", "values")):
        return _decided(answer)
    from tilewise.notation.facts import is_so

    def holds(case: Mapping[str, Any]) -> bool:
        return case["if"] == "else" or is_so(case["if"], let)

    cases: list[Mapping[str, Any]] = answer.get("cases", [answer] if "if" in answer else [])
    if not (isinstance(cases, list) and all(map(_has_condition, cases))):
        raise LayoutError("TW108", "an answer by cases has a list of them, each with its condition")
    for case in cases:
        if holds(case):
            return _decided(case)
    left = answer.get("open")
    if left and holds(left):
        raise NotDecided("; ".join(map(str, left["reasons"])), hint="say more about the names")
    values = ", ".join(f"{name} = {value}" for name, value in answer.get("values", {}).items())
    reason = answer.get("otherwise", {}).get("reason")
    such = f"; it is no for {values}" * bool(values) + f": {reason}" * bool(reason)
    raise LayoutError("TW108", f"the answer holds no layout for these values{such}")


def _decided(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer, or raise that it was not decided, or was an error."""
    if "answer" in answer and answer["answer"] is None:
        raise NotDecided(str(answer.get("reason", "not decided")), hint="say more about the names")
    if isinstance(answer.get("error"), dict):
        raise LayoutError("TW108", f"the answer is an error: {answer['error'].get('message')}")
    return answer


def _has_condition(case: Any) -> bool:
    return isinstance(case, dict) and isinstance(case.get("if"), str)


def _result(answer: Mapping[str, Any], let: Mapping[str, int]) -> str:
    result = answer["result"]
    if result is None or isinstance(result, bool):
        reason = f": {answer['reason']}" if "reason" in answer else ""
        raise LayoutError("TW108", f"the answer of {answer['op']} holds no layout{reason}")
    if isinstance(result, list) and any(isinstance(part, str | dict) for part in result):
        raise LayoutError(
            "TW108", f"the answer of {answer['op']} is {len(result)} layouts", hint="pass on one of them"
        )
    if not isinstance(result, str):
        return json.dumps(result)
    return _written(result, answer, let)


def _written(text: str, answer: Mapping[str, Any], let: Mapping[str, int]) -> str:
    """Return the text of a layout, or a document where the answer says more than the text does."""
    if "unit" not in answer and "storage" not in answer:
        return text
    from tilewise.notation import parse, to_json

    read = parse(text, unit=answer.get("unit", "element"), storage=answer.get("storage", ()), let=let)
    return json.dumps(to_json(read))


def _table(answer: Mapping[str, Any]) -> Any:
    if any(len(copies) != 1 for copies in answer["places"]):
        raise LayoutError(
            "TW108", "the table has several places an index", hint="list the layout without its copies"
        )
    by_axis = {
        axis: _nested([place[number] for (place,) in answer["places"]], answer["shape"])
        for number, axis in enumerate(answer["axes"])
    }
    return by_axis["m"] if [*by_axis] == ["m"] else by_axis


def _nested(numbers: list[int], shape: Sequence[int]) -> Any:
    if len(shape) < 2:
        return numbers
    rows = len(numbers) // shape[0]
    return [_nested(numbers[i : i + rows], shape[1:]) for i in range(0, len(numbers), rows)]
