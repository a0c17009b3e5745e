"""wgmma as its tests ask it: what a descriptor reads, by the keywords of its operand."""

from __future__ import annotations

from tilewise.hardware.operands.stepping import Stages, placements
from tilewise.hardware.wgmma.engine import ENGINE, Operand

__all__ = ["Operand", "Stages", "placements"]

feeding = ENGINE.feeding
ignored, masked, remarks, words = ENGINE.ignored, ENGINE.masked, ENGINE.remarks, ENGINE.words


def reads(descriptor, **asked):
    return Operand(**asked).reads(descriptor)


def pieces(descriptor, **asked):
    return Operand(**asked).pieces(descriptor)


def byte_of(descriptor, row, k, **asked):
    return Operand(**asked).byte_of(descriptor, row, k)


def addresses(descriptor, **asked):
    return Operand(**asked).addresses(descriptor)


def unread(descriptor, **asked):
    return Operand(**asked).unread(descriptor)


def extremes(descriptor, **asked):
    return Operand(**asked).extremes(descriptor)
