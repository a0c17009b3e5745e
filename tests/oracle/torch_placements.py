"""Random placements of DTensor as torch prints them, and the elements that each rank holds.

`python tests/oracle/torch_placements.py` prints them as JSON. A process group that only pretends makes the
meshes. A rank holds what torch's own cuts leave of a tensor that counts its elements, and torch's shape and
offset of the shard are recorded beside.
"""

from __future__ import annotations

import json
from itertools import product
from math import prod
from random import Random

CASES, RANKS = 320, 8


def main() -> None:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard
    from torch.distributed.tensor._utils import _compute_local_shape_and_global_offset
    from torch.distributed.tensor.placement_types import _StridedShard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    rng, cases = Random("torch"), []
    for case in range(CASES):
        extents = rng.choice([(8,), (2, 4), (4, 2), (2, 2, 2)])
        names = rng.sample(["dp", "tp", "pp"], len(extents)) if rng.random() < 0.6 else None
        mesh = init_device_mesh("cpu", extents, mesh_dim_names=names and tuple(names))
        rank = rng.randint(1, 3)
        placements, counts, uneven = [], [1] * rank, case % 3 == 0
        for many in extents:
            if rng.random() < 0.25:
                placements.append(Replicate())
                continue
            dim, pieces = rng.randrange(rank), rng.choice([1, 1, 2, 3])
            counts[dim] *= many * pieces
            placements.append(_StridedShard(dim, split_factor=pieces) if pieces > 1 else Shard(dim))
        shape = [rng.randint(1, 2 * n + 2) if uneven else n * rng.choice([1, 1, 2]) for n in counts]
        while prod(shape) > 3000:
            shape[shape.index(max(shape))] //= 2
        whole = torch.arange(prod(shape)).reshape(shape)
        held, stated = [], []
        for at in product(*map(range, extents)):
            mine = whole
            for i, many, placement in zip(at, extents, placements, strict=True):
                if not isinstance(placement, Replicate):
                    mine = placement._split_tensor(mine, many, with_padding=False)[0][i]
            held.append(mine.flatten().tolist())
            stated.append(_compute_local_shape_and_global_offset(shape, extents, list(at), placements))
            local, offset = stated[-1]
            assert tuple(local) == tuple(mine.shape)
            first = mine.flatten()[:1].tolist()
            assert not first or first == whole[tuple(offset)].flatten().tolist()
        tensor = DTensor.from_local(
            torch.empty(stated[0][0]),
            mesh,
            placements,
            run_check=False,
            shape=whole.shape,
            stride=whole.stride(),
        )
        short = "".join(map(str, placements))
        texts = [
            f"{tuple(placements)!r} on {mesh!r}",
            f"{short} on {extents}" if names is None else f"{short} on {mesh!r}",
            f"DTensor(local_tensor=..., device_mesh={mesh!r}, placements={tensor.placements!r})",
            f"{tensor._spec} on {mesh!r}",
        ]
        cases.append(
            {
                "texts": texts,
                "shape": shape,
                "names": names,
                "extents": extents,
                "held": held,
                "stated": stated,
            }
        )
    print(json.dumps({"version": torch.__version__, "cases": cases}))


if __name__ == "__main__":
    main()
