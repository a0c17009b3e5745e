"""Random shardings on eight devices of the host, as JAX prints them and as it says who holds what.

`python tests/oracle/jax_shardings.py` prints them as JSON: texts of a sharding for HLO, Shardy and JAX, and
the range of indices that each device of the mesh holds, by the mesh's row-major order.
"""

from __future__ import annotations

import json
import os
import re
from math import prod
from random import Random

CASES, DEVICES = 200, 8


def main() -> None:
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    rng, cases = Random("jax"), []
    for _ in range(CASES):
        extents = rng.choice([(8,), (2, 4), (4, 2), (2, 2, 2), (2, 1, 4), (4,), (2, 3), (3, 2), (6,), (2, 2)])
        names = rng.sample(["x", "y", "z", "data", "model"], len(extents))
        devices = rng.sample(jax.devices(), prod(extents))
        mesh = Mesh(np.array(devices).reshape(extents), tuple(names))
        rank = rng.randint(1, 3)
        cuts: list[list[str]] = [[] for _ in range(rank)]
        for name in rng.sample(names, rng.randint(0, len(names))):
            rng.choice(cuts).append(name)
        spec = [tuple(cut) if len(cut) > 1 else cut[0] if cut else None for cut in cuts]
        shape = tuple(prod(mesh.shape[name] for name in cut) * rng.randint(1, 2) for cut in cuts)
        sharding = NamedSharding(mesh, PartitionSpec(*spec))
        types = (jax.sharding.AxisType.Explicit,) * len(names)
        abstract = NamedSharding(mesh.abstract_mesh.update(axis_types=types), PartitionSpec(*spec))
        explicit = jax.core.ShapedArray(shape, np.dtype("float32"), sharding=abstract)
        held = sharding.devices_indices_map(shape)
        array = jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)
        lowered = jax.jit(lambda x: x, in_shardings=sharding).lower(array).as_text()
        ranges = [
            [[part.start or 0, extent if part.stop is None else part.stop] for part, extent in parts]
            for parts in (zip(held[device], shape, strict=True) for device in mesh.devices.flat)
        ]
        texts = {
            "jax": [
                repr(sharding),
                str(array),
                f"{sharding.spec} on {mesh!r}",
                f"{sharding.spec} on {mesh}",
                f"{explicit.str_short()} on {abstract.mesh}",
            ],
            "hlo": [str(sharding._to_xla_hlo_sharding(rank))],
            "shardy": [lowered],
        }
        cases.append({"texts": texts, "shape": shape, "names": names, "extents": extents, "held": ranges})
    print(json.dumps({"version": jax.__version__, "cases": cases, "padded": padded(jax)}))


def padded(jax) -> list[list[int]]:
    """[extent, shards, extent of a shard] where XLA's shards are not even, as it compiles a sine of them."""
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((DEVICES,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    whole, cut = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), ("x",)))
    found = []
    for extent in (3, 9, 15, 17, 23):
        sine = jax.jit(lambda x: jax.numpy.sin(jax.lax.with_sharding_constraint(x, cut)), out_shardings=whole)
        text = sine.lower(jax.ShapeDtypeStruct((extent,), "float32", sharding=whole)).compile().as_text()
        (shard,) = set(re.findall(r"f32\[(\d+)\]\S* sine\(", text))
        found.append([extent, DEVICES, int(shard)])
    return found


if __name__ == "__main__":
    main()
