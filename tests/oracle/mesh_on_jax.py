"""Moves by JAX on eight pretend devices: against `device_put`, and against the plain definition.

It is a program of its own, since the number of devices is fixed when JAX starts. It prints a line for each
kind of move, with its number and its faults.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tests.moves.mesh.drawn import Drawn, check_sum, drawn, drawn_sum, total, wanted

from tilewise import NotDecided, move
from tilewise.moves import shard_function
from tilewise.moves.mesh.plan import MeshPlan

jax.config.update("jax_enable_x64", True)
MESHES = ((8,), (4,), (2,), (2, 4), (4, 2), (2, 2), (2, 2, 2))
TYPES = (jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint8, jnp.float8_e4m3fn, jnp.bool_)


def shardings(many: int) -> list[str]:
    """Return the arrays that `move` and `device_put` leave in another way, of so many."""
    rng, faults, found = Random(1), [], 0
    while found < many:
        shape = rng.choice(MESHES)
        names = ("x", "y", "z")[: len(shape)]
        mesh = Mesh(np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape), names)
        extents = tuple(rng.choice([8, 16, 24]) for _ in range(rng.choice([1, 2, 3])))
        before, after = (NamedSharding(mesh, spec_of(rng, names, len(extents))) for _ in range(2))
        try:
            for sharding in (before, after):
                sharding.shard_shape(extents)
        except ValueError:  # a mesh that does not divide the array
            continue
        if before.is_equivalent_to(after, len(extents)):
            continue
        found += 1
        values = jnp.asarray(np.random.default_rng(found).integers(0, 100, extents)).astype(rng.choice(TYPES))
        x = jax.device_put(values, before)
        ours, theirs = move(x, None, after), jax.device_put(x, after)
        shards = zip(ours.addressable_shards, theirs.addressable_shards, strict=True)
        same = all(a.device == b.device and bool((a.data == b.data).all()) for a, b in shards)
        if not same or ours.sharding != theirs.sharding:
            faults.append(f"{mesh} {extents} {before.spec} {after.spec} {values.dtype}")
    return faults


def spec_of(rng: Random, names: tuple[str, ...], rank: int) -> PartitionSpec:
    """Return a random PartitionSpec."""
    cuts: list[list[str]] = [[] for _ in range(rank)]
    for name in rng.sample(names, len(names)):
        if rng.random() < 0.75:
            rng.choice(cuts).append(name)
    return PartitionSpec(*[None if not cut else cut[0] if len(cut) == 1 else tuple(cut) for cut in cuts])


def run(plan: MeshPlan, before: Any, function: Any = None) -> Any:
    """Return the storages of all devices after a plan, from those before."""
    devices = np.array(jax.devices()[: plan.devices.size]).reshape(plan.devices.extents)
    mesh = Mesh(devices, plan.devices.names)
    every = PartitionSpec(plan.devices.names)
    made = function or shard_function(plan)
    mapped = jax.jit(jax.shard_map(made, mesh=mesh, in_specs=every, out_specs=every))
    return mapped(jnp.concatenate([jnp.asarray(one) for one in before])).reshape(plan.devices.size, -1)


def functions(many: int) -> Iterator[tuple[int, Drawn, MeshPlan, Any]]:
    """Yield so many moves of at most eight devices, with their seeds, plans and functions."""
    found, seed = 0, 0
    while found < many:
        seed += 1
        given = drawn(seed)
        if given.plan.devices.size > 8:
            continue
        with suppress(NotDecided):
            function = shard_function(given.plan)
            found += 1
            yield seed, given, given.plan, function


def layouts(many: int) -> list[str]:
    """Return the layouts that the definition moves in another way."""
    faults = []
    for seed, given, plan, function in functions(many):
        expected = wanted(given, plan, seed)
        after = run(plan, expected.before, function)
        if not all((one == other).all() for one, other in zip(after, expected.after, strict=True)):
            faults.append(f"{seed}")
    return faults


def sums(many: int) -> list[str]:
    """Return the sums that are wrong."""
    faults, found, seed = [], 0, 0
    while found < many:
        seed += 1
        given = drawn_sum(seed)
        if given is None or given.op != "sum" or given.plan.devices.size > 8:
            continue
        with suppress(NotDecided):
            fault = check_sum(given, seed, lambda plan, before: np.asarray(run(plan, before)))
            found += 1
            faults += [fault] if fault else []
    return faults


def gradients(many: int) -> list[str]:
    """Return the gradients that are not the sums over all that an element went to."""
    faults = []
    for seed, given, plan, function in functions(many):
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, (plan.devices.size, plan.writes)).astype("f4")
        x = jnp.zeros((plan.devices.size, plan.reads), "float32")
        gradient = jax.grad(lambda x, w=weights, f=function, p=plan: (run(p, x, f) * w).sum())(x)
        for index in np.ndindex(*given.box):
            found = total(plan.devices, np.asarray(gradient), given.source, index)
            if found != total(plan.devices, weights, given.target, index):
                faults.append(f"{seed} {index} {found}")
                break
    return faults


if __name__ == "__main__":
    counts = [int(word) for word in sys.argv[1:]]
    print(counts[0], "shardings", shardings(counts[0]))
    for name, work, many in zip(
        ("layouts", "sums", "gradients"), (layouts, sums, gradients), counts[1:], strict=True
    ):
        print(many, name, work(many))
