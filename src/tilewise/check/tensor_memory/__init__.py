"""Tensor memory and registers: the loads that bring an accumulator to a warp, and the stores that bring it
back.

from tilewise.check.tensor_memory import plan

question    the way in: what lies in tensor memory, and the fragment that is wanted; the answer
words       where elements lie: warp, lane of the warp, column of 32 bits, part of it; warpgroups that share
            elements, and where each begins
ways        a form of tcgen05.ld or .st over all of it: its instructions, and the fragment that results
wanted      the fragment that is wanted; whether a way's is that one, but for the registers' names
"""

from __future__ import annotations

from tilewise.check.tensor_memory.question import Plan, plan

__all__ = ["Plan", "plan"]
