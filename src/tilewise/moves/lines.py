"""A plan in lines of text, as the command line prints it and `str` gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.core.integers import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.exchange import Exchange
    from tilewise.moves.plan import Plan

_IN_MEMORY = {
    "copy": "one copy of memory",
    "tile": "by way of shared memory",
    "gather": "element by element",
}
_IN_REGISTERS = {
    "registers": "inside each thread",
    "shuffles": "inside each warp, from lane to lane",
    "shared": "through shared memory",
}


def lines_of_memory(plan: Plan) -> Iterator[str]:
    """What is moved, in what time, how."""
    if plan.kind == "view":
        yield f"view: {plan.steps[0]}"
        return
    yield f"{plan.kind}: {_IN_MEMORY[plan.kind]}{_rate(plan)}"
    copied = f"a copy of as much {_time(plan.copy_seconds)}"
    launch = "; most of it is the launch" if plan.is_mostly_launch else ""
    expected = "" if plan.seconds is None else f"{_time(plan.seconds)} expected on an {plan.device.upper()}, "
    yield f"  bytes  {plan.bytes} read and written"
    yield f"  time   {expected}{copied}{launch}"
    yield from _numbered(plan.steps)
    if plan.together > 1:
        yield f"  {plan.together} {plan.dtype} that stay neighbours are one element there"


def lines_of_registers(plan: Exchange) -> Iterator[str]:
    """What a warp does, and what it takes."""
    from tilewise.moves.exchange.plan import FIRST

    if plan.kind == "view":
        yield f"view: {plan.steps[0]}"
        return
    cycles = counted(max(1, round(plan.cycles)), "cycle")
    needs = f", for {plan.needs}" if plan.needs != FIRST else ""
    yield f"{plan.kind}: {_IN_REGISTERS[plan.kind]}, about {cycles} for a warp{needs}"
    if plan.shared_bytes:
        own = " for each warp" if plan.asked.scope == "warp" else ""
        swizzle = _swizzled(plan.swizzle) if plan.swizzle else ""
        rounds = f"{plan.rounds} rounds, " if plan.rounds > 1 else ""
        waits = rounds + (counted(plan.barriers, "barrier") if plan.barriers else "no barrier")
        yield f"  shared memory  {plan.shared_bytes} bytes{own}{swizzle}, {waits}"
    yield from _numbered(plan.steps)


def _swizzled(bits: Sequence[int]) -> str:
    """Which bits of addresses are XORs.

    >>> _swizzled([5, 6])
    ', address bits 5, 6 swizzled'
    """
    return f", address bit{'s' * (len(bits) > 1)} {', '.join(map(str, bits))} swizzled"


def _numbered(steps: Sequence[str]) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield f"  {number}  {step}" if len(steps) > 1 else f"  {step}"


def _rate(plan: Plan) -> str:
    if plan.kind == "copy":
        return ""
    if plan.copy_fraction is None:
        return "; no rate of such moves was measured"
    return f", about {plan.copy_fraction:.2f} of a copy's rate"


def _time(seconds: float) -> str:
    """A time as people say it.

    >>> _time(7.118e-05), _time(0.0123), _time(12.3)
    ('71.2 us', '12.3 ms', '12.3 s')
    """
    for unit, name in ((1e-6, "us"), (1e-3, "ms")):
        if seconds < 1000 * unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} s"
