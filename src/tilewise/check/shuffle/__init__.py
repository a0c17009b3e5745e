"""Moves inside a warp: which shuffles turn one layout of a warp's registers into another.

from tilewise.check.shuffle import shuffle

question    the way in: two layouts and a dtype; the plan
reading     which element of TO each element of FROM is
transfer    what every lane has to get, as a table of 32 lanes by positions
linear      the table as an affine map over GF(2), where it is one
rounds      which lane offers what, and which it reads, round by round
gather      registers out of registers of one lane: select, prmt, rotate, merge
steps       steps as data, and what they do
programs    shuffles, movmatrix, votes: the best of them
cost        cycles of a multiprocessor, and of the same move through shared memory
bound       how few exchanges there can be
reorder     a mode in another order, by which nothing leaves its lane
lanes       maps from lanes to lanes, and the modes of shfl
"""

from __future__ import annotations

from tilewise.check.shuffle.question import OPTIONAL, WarpPlan, shuffle

__all__ = ["OPTIONAL", "WarpPlan", "shuffle"]
