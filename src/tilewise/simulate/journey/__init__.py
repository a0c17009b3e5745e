"""A kernel's tile on its way: from global memory through shared memory and registers, and back.

journey   the script of what a block does; every call is a leg
stops     a tile where it stands; what one leg did; both as plain data
copies    boxes of TMA
warps     what warps load and store, by the instructions that `check.feeding` chooses
products  wgmma by the descriptors that `check.match` finds, and mma.sync
rooms     parts of memory, and the layouts of tiles in them
"""

from __future__ import annotations

from tilewise.simulate.journey.journey import Journey
from tilewise.simulate.journey.stops import Issue, Leg, Stop, Wrong

__all__ = ["Issue", "Journey", "Leg", "Stop", "Wrong"]
