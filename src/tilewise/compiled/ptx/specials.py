"""Special registers of PTX: who a lane is, and how it was launched."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tilewise.compiled.lanes import UNKNOWN, Lanes, Value
from tilewise.compiled.sass.warps import lane_mask
from tilewise.hardware.limits import LANES

ThreeExtents = tuple[int, int, int]

NAMES = re.compile(
    r"%(?:(n?tid|n?ctaid|cluster_n?ctaid|n?clusterid)\.([xyz])|(laneid|warpid|lanemask_[egl][qte]|dynamic_smem_size|"
    r"cluster_n?ctarank|is_explicit_cluster)|(?:nwarpid|smid|nsmid|gridid|clock|clock64|clock_hi|globaltimer|"
    r"globaltimer_lo|globaltimer_hi|total_smem_size|aggr_smem_size|pm\d+|pm\d+_64|envreg\d+|current_graph_exec|"
    r"reserved_smem_\w+))"
)


def special(name: str, cluster: ThreeExtents) -> Callable[[Lanes], Value] | None:
    """Return the reader of a special register, or None if the name is no such register's."""
    match = NAMES.fullmatch(name)
    if match is None:
        return None
    indexed, axis, plain = match.groups()
    if indexed:
        place = "xyz".index(axis)
        return lambda lanes: _indexed(lanes, indexed, place, cluster[place])
    if plain:
        return lambda lanes: _plain(lanes, plain, cluster)
    return lambda lanes: UNKNOWN


def _indexed(lanes: Lanes, name: str, place: int, size: int) -> Value:
    """Return an index or an extent along one axis; `size` blocks are a cluster there."""
    count = np.uint32(size)
    match name:
        case "tid":
            return Value(lanes.thread_index[place])
        case "ntid":
            return Value.of(lanes.launch.block[place])
        case "ctaid":
            return Value(lanes.block_index[place])
        case "nctaid":
            return Value.of(lanes.launch.grid[place])
        case "cluster_ctaid":
            return Value(lanes.block_index[place] % count)
        case "cluster_nctaid":
            return Value.of(size)
        case "clusterid":
            return Value(lanes.block_index[place] // count)
    return Value.of(-(-lanes.launch.grid[place] // size))


def _plain(lanes: Lanes, name: str, cluster: ThreeExtents) -> Value:
    x, y, z = cluster
    match name:
        case "laneid":
            return Value(lanes.lane)
        case "warpid":
            return Value((lanes.threads // LANES).astype(np.uint32))
        case "dynamic_smem_size":
            return Value.of(lanes.launch.shared)
        case "cluster_ctarank":
            index = [part % np.uint32(size) for part, size in zip(lanes.block_index, cluster, strict=True)]
            return Value(index[0] + np.uint32(x) * (index[1] + np.uint32(y) * index[2]))
        case "cluster_nctarank":
            return Value.of(x * y * z)
        case "is_explicit_cluster":
            return Value.of(int(x * y * z > 1))
    return Value(lane_mask(lanes, name[-2:]))
