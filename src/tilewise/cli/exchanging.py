"""What `plan` and `emit move` say of a move between registers."""

from __future__ import annotations

import argparse

from tilewise.cli.answer import Answer
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tilewise.core.layout import Layout
    from tilewise.moves.exchange import Exchange

_OF_MEMORY = {"shape": None, "fill": None, "aligned": 256, "tune": False, "device": "h200"}
"""What is asked of memory alone, and what it is where nobody asks."""

_HOW = {
    "registers": "inside each thread",
    "shuffles": "inside each warp, from lane to lane",
    "shared": "through shared memory",
}


def exchanged(source: Layout, target: Layout, args: argparse.Namespace) -> Exchange | None:
    """The plan between two layouts of registers; None where one is of memory."""
    from tilewise.moves.exchange import exchange, of_registers

    if not (of_registers(source) and of_registers(target)):
        return None
    for option, usual in _OF_MEMORY.items():
        if getattr(args, option, usual) != usual:
            raise LayoutError(
                "TW401", f"--{option} is for moves of memory, and both layouts are of registers"
            )
    return exchange(source, target, args.dtype)


def exchange_data(plan: Exchange) -> dict[str, Any]:
    """A plan as JSON, with what was asked."""
    asked = {"source": str(plan.source), "target": str(plan.target), "dtype": str(plan.dtype)}
    return plan.data() | asked


def exchange_answer(plan: Exchange) -> Answer:
    """The plan in lines."""
    return Answer(exchange_data(plan), "\n  ".join(_lines(plan)))


def _lines(plan: Exchange) -> Iterator[str]:
    if plan.kind == "view":
        yield f"view: {plan.steps[0]}"
        return
    yield f"{plan.kind}: {_HOW[plan.kind]}, about {plan.cycles:.0f} cycles for a warp"
    if plan.bytes:
        own = " for each warp" if plan.asked.scope == "warp" else ""
        yield f"shared memory  {plan.bytes} bytes{own}{_swizzle(plan)}, {_waits(plan)}"
    for number, step in enumerate(plan.steps, 1):
        yield f"{number}  {step}" if len(plan.steps) > 1 else step


def _waits(plan: Exchange) -> str:
    return counted(plan.barriers, "barrier") if plan.barriers else "no barrier"


def _swizzle(plan: Exchange) -> str:
    bits = plan.data()["swizzle"]
    return f", address bits {', '.join(map(str, bits))} swizzled" if bits else ""


def exchange_code(plan: Exchange, args: argparse.Namespace) -> Answer:
    """The device function."""
    from tilewise.moves.exchange.source import NAME, function

    for option in ("host", "checked"):
        if getattr(args, option, False):
            raise LayoutError(
                "TW401", f"--{option} is for kernels, and registers are moved by a device function"
            )
    name = args.name or NAME
    code = function(plan, name)
    data = {"engine": "move", "style": "device function", "name": name}
    return Answer(data | exchange_data(plan) | {"code": code}, code)
