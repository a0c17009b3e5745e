"""Loops whose turns are alike are counted at once.

A turn is run once with registers that move by a constant from turn to turn. It shows that a turn leaves each
register where the next one was supposed to find it, and on which turn a branch goes another way first. So all
turns before that one take the same steps, and their registers are known. Nothing is believed: where a step
has no rule for moving numbers, the loop goes on turn by turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tilewise.compiled.lanes import Bools, Lanes, Value
from tilewise.compiled.launch import MOST_COUNTED
from tilewise.compiled.moving import I64, NotAlike, TooFew, Turns, begin_of, made, moving_of
from tilewise.hardware.limits import LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.compiled.machine import Called, Event, Front, Trace

MOST_TURNS = 1 << 62

HISTORY = 17
"""Turns whose registers are compared: up to eight of them may have to pass until all moved by a constant."""
FIRST = 24
"""Turns that are run before the first try."""
TRY = 32
"""Work of an instruction whose registers move, where that of a usual one is 1."""


@dataclass(slots=True)
class Loop:
    """The turns of a loop that were run."""

    back: int
    """The last instruction that jumps back to the begin of the loop."""
    came: int = 0
    due: int = FIRST
    period: int = 1
    """The turns that are tried next, after which registers are to move by a constant."""
    seen: list[dict[str, Value]] = field(default_factory=list)
    """The registers at the begin of the last turns."""
    counted: int = 0
    nested: bool = False
    """True if turns of another loop were counted at once in the last turn, which would have to be run."""

    def arrive(self, trace: Trace) -> bool:
        """Note the registers at the begin of a turn; return True if the turns to come may be tried."""
        self.came += 1
        self.nested, self.counted = trace.counted != self.counted, trace.counted
        if self.came + HISTORY > self.due:
            self.seen = [*self.seen[1 - HISTORY :], dict(trace.lanes.registers)]
        return self.came >= self.due

    def wait(self, turns: int) -> None:
        """Try again after some more turns."""
        self.due, self.seen = self.came + turns, []


class Guesses(dict[str, Value]):
    """Registers at the begin of any turn to come, each as the turns before let it be expected."""

    def __init__(self, seen: Sequence[dict[str, Value]], turns: Turns, live: Bools) -> None:
        super().__init__()
        self.seen, self.turns, self.live = seen, turns, live
        self.asked: dict[str, Value | None] = {}
        self.gone: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        """Return a register; one that is read before it is written is guessed."""
        if name not in self and name not in self.gone and name not in self.asked:
            self.asked[name] = guess = self._guess(*(registers.get(name) for registers in self.seen))
            if guess is not None:
                dict.__setitem__(self, name, guess)
        return super().get(name, default)

    def __setitem__(self, name: str, value: Value) -> None:
        self.gone.discard(name)
        super().__setitem__(name, value)

    def pop(self, name: str, *default: Any) -> Any:
        """Forget a register."""
        self.gone.add(name)
        return super().pop(name, *default)

    def _guess(self, older: Value | None, before: Value | None, now: Value | None) -> Value | None:
        if now is not None and now.near is not None:
            now = Value(now.bits, now.unknown)
        elif now is before is older:
            return now
        if now is None or before is None or older is None:
            raise NotAlike
        known = _known(now, self.live)
        if not all(np.array_equal(known, _known(one, self.live)) for one in (before, older)):
            raise NotAlike
        a, b, c = np.broadcast_arrays(now.bits, before.bits, older.bits)
        if not a.dtype == b.dtype == c.dtype:
            raise NotAlike
        if not ((a != b) & known).any():
            return now
        if a.dtype == np.bool_ or ((a - b != b - c) & known).any():
            raise NotAlike
        step = (a - b).astype(I64) if now.unknown is None else np.where(known, a - b, 0).astype(I64)
        return Value(made(np.broadcast_to(a, step.shape), step, self.turns), now.unknown)

    def proved(self) -> None:
        """Raise `NotAlike` unless a turn leaves what it read as the next one was supposed to find it."""
        for name, guess in self.asked.items():
            left = dict.get(self, name)
            if left is guess and (guess is None or moving_of(guess.bits) is None):
                continue
            if guess is None or left is None or guess.bits.dtype != left.bits.dtype:
                raise NotAlike
            known, moving = _known(guess, self.live), moving_of(guess.bits)
            wanted = guess.bits if moving is None else moving.at(1)
            (_, step), (found, by) = begin_of(guess.bits), begin_of(left.bits)
            wrong = (wanted != found) | (step != by)
            if (wrong & known).any() or not np.array_equal(known, _known(left, self.live)):
                raise NotAlike

    def after(self, registers: dict[str, Value]) -> dict[str, Value]:
        """Return the registers behind the last of the turns."""
        moved = {name: value for name, value in registers.items() if name not in self.gone}
        for name, value in self.items():
            moving = moving_of(value.bits)
            last = value if moving is None else Value(moving.at(self.turns.most - 1), value.unknown)
            moved[name] = last
        return moved


def _known(value: Value, live: Bools) -> Bools:
    return live if value.unknown is None else live & ~value.unknown


def jump(trace: Trace, loop: Loop, front: Front) -> Iterator[Event]:
    """Yield the events of all turns that are alike, and let the lanes stand behind them; else do nothing."""
    others = list(trace.fronts)
    later = max(HISTORY, loop.came)
    if trace.waiting or loop.nested or any(one.at <= loop.back for one in others):
        loop.wait(later)
        return
    for period in range(loop.period, (len(loop.seen) + 1) // 2):
        loop.period, began = period, trace.steps
        if 2 * trace.tried > began:
            loop.wait(HISTORY)
            return
        trace.fronts = [*others, front]
        try:
            events = _tried(trace, loop, front)
        except NotAlike as reason:
            trace.fronts = others
            trace.tried += trace.steps - began
            later = HISTORY if isinstance(reason, TooFew) else later
            continue
        trace.fronts = others
        loop.wait(2 * period + 1)
        loop.counted = trace.counted
        yield from events
        return
    loop.period = 1
    loop.wait(later)


def _tried(trace: Trace, loop: Loop, front: Front) -> list[Event]:
    """Return the events of the turns that are alike, each for all of them, and move the registers on."""
    lanes, began = trace.lanes, trace.steps
    registers, live, kept = lanes.registers, lanes.live, (trace.noted, trace.passed, trace.guessed)
    trace.turns = turns = Turns(MOST_TURNS, live)
    trace.noted, trace.passed, trace.guessed = dict(kept[0]), dict(kept[1]), dict(kept[2])
    lanes.registers = guesses = Guesses(loop.seen[:: -loop.period][2::-1], turns, live)
    try:
        events = [_alone(event) for _ in range(loop.period) for event in _turn(trace, loop, front)]
        guesses.proved()
        if not (np.array_equal(lanes.live, live) and _same(trace.noted, kept[0])):
            raise NotAlike
        if not (_same(trace.passed, kept[1]) and all(_goes_along(event, lanes) for event in events)):
            raise NotAlike
    except NotAlike:
        lanes.registers, lanes.live = registers, live
        trace.noted, trace.passed, trace.guessed = kept
        trace.cut = None
        raise
    finally:
        trace.turns = None
    lanes.registers = guesses.after(registers)
    for number, times in trace.guessed.items():
        before = kept[2].get(number, 0)
        trace.guessed[number] = before + (times - before) * turns.most
    spent = trace.steps - began
    trace.tried += max(0, spent - spent // TRY * turns.most)
    trace.counted += spent // TRY * turns.most
    if trace.counted > MOST_COUNTED:
        trace.cut, trace.endless = trace.program.instructions[loop.back], True
        return []
    return [replace(event, turns=turns.most) for event in events]


def _alone(event: Event | Called) -> Any:
    """Return an event whose turns may be counted at once."""
    if not event.alone:
        raise NotAlike
    return event


def _turn(trace: Trace, loop: Loop, front: Front) -> Iterator[Event | Called]:
    """Yield the events of one turn, after which the same lanes stand at the begin of the loop."""
    others = len(trace.fronts) - 1
    most = 2 * trace.steps
    while True:
        yield from trace.advance()
        inside = trace.fronts[others:]
        if not inside or trace.cut or trace.steps > most:
            raise NotAlike
        if any(not front.at <= one.at <= loop.back for one in inside):
            raise NotAlike
        if any(one.at == front.at for one in inside):
            break
    mask = np.logical_or.reduce([one.mask for one in inside])
    if trace.waiting or any(one.at != front.at for one in inside) or not np.array_equal(mask, front.mask):
        raise NotAlike
    trace.fronts[others:] = [front]


def _same(some: Mapping[Any, Bools], others: Mapping[Any, Bools]) -> bool:
    return some.keys() == others.keys() and all(np.array_equal(some[name], others[name]) for name in some)


def _goes_along(event: Event, lanes: Lanes) -> bool:
    """Return True if the lanes of each warp move by one step: its requests cost what shifted ones do."""
    active = event.active.reshape(-1, LANES)
    steps = lanes.by_warp(begin_of(event.address.bits)[1])
    low = np.where(active, steps, np.iinfo(np.int64).max).min(axis=1)
    high = np.where(active, steps, np.iinfo(np.int64).min).max(axis=1)
    return bool((low >= high).all())
