"""Answers of JAX and torch about random shardings, held against layouts: recorded, or asked anew."""

from __future__ import annotations

import gzip
import json
from itertools import product
from math import prod
from pathlib import Path

from tests.notation.dialects.meshes import differences, position

from tilewise import Refused
from tilewise.notation.read import reading

RECORDS = Path(__file__).with_name("records")


def record_of(name):
    """Return the record of a name."""
    return json.loads(gzip.decompress((RECORDS / f"{name}.json.gz").read_bytes()))


def write_record(name, said):
    """Record what a neighbour said."""
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(said, separators=(",", ":"))
    (RECORDS / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def devices(case, axis):
    """The devices of the mesh in row-major order, as points on its axes: by name, or numbered."""
    if axis is None:
        return list(product(*map(range, case["extents"]))), tuple(case["names"])
    return [(number,) for number in range(prod(case["extents"]))], (axis,)


def differ_from_jax(case, dialect):
    """The texts of a case in a dialect whose layout is not what JAX says."""
    points, axes = devices(case, "gpuid" if dialect == "hlo" else None)
    shape, found = tuple(case["shape"]), {}
    for index in product(*map(range, shape)):
        found[index] = set()
    for point, ranges in zip(points, case["held"], strict=True):
        shard = [end - start for start, end in ranges]
        for index in product(*(range(*one) for one in ranges)):
            inside = [i - start for i, (start, _) in zip(index, ranges, strict=True)]
            found[index].add((point, position(inside, shard)))
    let = {"devices": len(points)} if dialect == "hlo" else None
    options = {"shape": shape, "dialect": dialect, "let": let}
    wrong, right = [], []
    for text in case["texts"][dialect]:
        layout = reading(text, part=part_of(text), **options).layout
        if layout not in right and differences(layout, found, axes):
            wrong.append(text)
        right.append(layout)
    return wrong


def part_of(text):
    """The argument of a module."""
    return "arg0" if "%arg0" in text else None


def differ_from_torch(case):
    """(texts whose layout is not what torch says, how many were refused)"""
    points, axes = devices(case, None if case["names"] else "gpuid")
    shape, wrong, right, refused = tuple(case["shape"]), [], [], 0
    for text in case["texts"]:
        try:
            layout = reading(text, shape=shape).layout
        except Refused:
            refused += 1
            continue
        if layout in right:
            continue
        right.append(layout)
        owners = {index: set() for index in product(*map(range, shape))}
        for point, held in zip(points, case["held"], strict=True):
            for flat in held:
                index = []
                for extent in reversed(shape):
                    flat, at = divmod(flat, extent)
                    index.insert(0, at)
                owners[tuple(index)].add(point)
        ours = {index: owners_of(layout, index, axes) for index in owners}
        if ours != owners or out_of_order(layout, case, points, axes):
            wrong.append(text)
    return wrong, refused


def owners_of(layout, index, axes):
    """The devices that hold an element."""
    return {tuple(place[axis] for axis in axes) for place in layout.places(*index)}


def out_of_order(layout, case, points, axes):
    """Return whether some rank holds its elements in another order than torch; short chunks leave gaps."""
    shape = tuple(case["shape"])
    for point, held in zip(points, case["held"], strict=True):
        at = []
        for flat in held:
            index = []
            for extent in reversed(shape):
                flat, i = divmod(flat, extent)
                index.insert(0, i)
            at += [
                place["m"] for place in layout.places(*index) if tuple(place[axis] for axis in axes) == point
            ]
        whole = prod(shape) % prod(case["extents"]) == 0 and len({len(mine) for mine in case["held"]}) == 1
        if at != sorted(set(at)) or (whole and at != list(range(len(at)))):
            return True
    return False
