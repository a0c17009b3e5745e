"""What `tilewise match` prints of reasons and of near layouts, whatever engine was asked."""

from __future__ import annotations

from tilewise.cli.answer import NO, Answer, witness_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tilewise.check.feeding import Feed
    from tilewise.check.match import Mismatch
    from tilewise.check.operand import Near, Reason


def near_data(near: Near) -> dict[str, Any]:
    """A near layout for programs."""
    return {
        "layout": str(near.layout),
        "cost": near.cost,
        "message": near.message,
        "moved": near.moved,
    }


def refused(
    found: Mismatch, asked: dict[str, Any], words: str, near: Callable[[Near], dict[str, Any]] = near_data
) -> Answer:
    """No, with the reasons and the nearest layouts; `words` say what is not done."""
    first = found.reasons[0]
    data = {
        "legal": False,
        **asked,
        "code": "TW605",
        "reason": first.message,
        "witness": witness_data(first.witness),
        "reasons": reasons_data(found.reasons),
        "nearest": [near(one) for one in found.nearest],
    }
    return Answer(data, "\n".join([f"no: {words}", *reason_lines(found.reasons), *near_lines(found)]), NO)


def reasons_data(reasons: Sequence[Reason]) -> list[dict[str, Any]]:
    """Reasons for programs."""
    return [
        {
            "rule": reason.rule,
            "message": reason.message,
            "witness": witness_data(reason.witness),
            "hint": reason.hint,
        }
        for reason in reasons
    ]


def reason_lines(reasons: Sequence[Reason]) -> Iterator[str]:
    """Reasons for people."""
    for reason in reasons:
        yield f"  {reason.rule}: {reason.message}"
        if reason.hint:
            yield f"    {reason.hint}"


def near_lines(found: Mismatch | Feed) -> Iterator[str]:
    """Near layouts for people; it is said where their addresses do not count from the tile's own."""
    if found.nearest:
        yield f"nearest, in elements{' from address 0' if found.folded else ''}:"
    for near in found.nearest:
        yield f"  {near.layout}"
        yield f"    {near.cost}: {near.message}"
