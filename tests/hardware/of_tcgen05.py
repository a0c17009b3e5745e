"""tcgen05 as its tests ask it: what a descriptor reads of an operand."""

from __future__ import annotations

from tilewise.core.errors import of_kind
from tilewise.hardware.operands.stepping import Stages, placements
from tilewise.hardware.tcgen05.engine import ENGINE
from tilewise.hardware.tcgen05.operand import Operand

__all__ = ["Stages", "placements"]

feeding, pieces_of, unread_of = ENGINE.feeding, ENGINE.read, ENGINE.unread
ignored, masked, remarks, words = ENGINE.ignored, ENGINE.masked, ENGINE.remarks, ENGINE.words


def _of(of):
    return of_kind(of, Operand, "an operand", 'such as Operand("bf16", operand="A", m=128)')


def reads(descriptor, of):
    return _of(of).reads(descriptor)


def pieces(descriptor, of):
    return _of(of).pieces(descriptor)


def byte_of(descriptor, row, k, of):
    return _of(of).byte_of(descriptor, row, k)


def addresses(descriptor, of):
    return _of(of).addresses(descriptor)


def unread(descriptor, of):
    return _of(of).unread(descriptor)


def extremes(descriptor, of):
    return _of(of).extremes(descriptor)
