"""DTensor's placements, held to what torch's chunks are, and written back."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from math import prod
from random import Random

import pytest
from tests.notation.dialects.meshes import differences, position

from tilewise import LayoutError, Refused, parse
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects import DIALECTS, Given, write
from tilewise.notation.read import reading

STRIDED = ["_StridedShard(dim={}, sf={})", "_StridedShard({}, split_factor={})", "_S({}, {})"]


def up(a, b):
    """a / b, rounded up."""
    return -(-a // b)


def chunks(items, many):
    """A list in so many chunks, as torch cuts: as large as the first one, the last ones short or empty."""
    size = -(-len(items) // many)
    return [items[at * size : (at + 1) * size] for at in range(many)]


def shares(shape, mesh, placements):
    """{coordinates of a rank: which indices of each dimension it holds}, for placements (dim, pieces)."""
    found = {}
    for rank in product(*map(range, mesh)):
        mine = [list(range(extent)) for extent in shape]
        for at, many, placement in zip(rank, mesh, placements, strict=True):
            if placement is not None:
                dim, pieces = placement
                parts = [chunks(piece, many)[at] for piece in chunks(mine[dim], pieces)]
                mine[dim] = [index for part in parts for index in part]
        found[rank] = mine
    return found


def held_by_ranks(shape, mesh, placements):
    """{index: (rank, position)}: where a rank has less, the position counts as in a shard of whole chunks."""
    shared, shard = shares(shape, mesh, placements), list(shape)
    for many, placement in zip(mesh, placements, strict=True):
        if placement is not None and many > 1:
            dim, pieces = placement
            piece = up(shard[dim], pieces)
            shard[dim] = up(shard[dim], piece) * up(piece, many) if pieces > 1 else up(piece, many)
    found = {index: set() for index in product(*map(range, shape))}
    for rank, mine in shared.items():
        for at in product(*(range(len(indices)) for indices in mine)):
            index = tuple(indices[i] for indices, i in zip(mine, at, strict=True))
            found[index].add((rank, position(at, shard)))
    return found


def drawn(rng, uneven=False):
    """(text, shape, mesh, placements) on a mesh with names."""
    rank, dims = rng.randint(1, 3), rng.randint(1, 3)
    mesh = [rng.choice([1, 2, 2, 3, 4]) for _ in range(dims)]
    placements, counts = [], [1] * rank
    for many in mesh:
        if rng.random() < 0.3:
            placements.append(None)
            continue
        dim, pieces = rng.randrange(rank), rng.choice([1, 1, 1, 2, 3])
        pieces = 1 if uneven and counts[dim] > 1 else pieces
        counts[dim] *= many * pieces
        placements.append((dim, pieces))
    shape = [rng.randint(1, 2 * n + 2) if uneven else n * rng.choice([1, 1, 2]) for n in counts]
    while not uneven and prod(shape) > 4096:
        shape = [max(n, extent // 2 // n * n) for n, extent in zip(counts, shape, strict=True)]
        if shape == counts:
            break
    names = rng.sample(["dp", "tp", "pp", "cp"], dims)
    listed = []
    for placement in placements:
        if placement is None:
            listed.append(rng.choice(["Replicate()", "R"]))
        elif placement[1] > 1:
            listed.append(
                rng.choice(
                    ["_StridedShard(dim={}, sf={})", "_StridedShard({}, split_factor={})", "_S({}, {})"]
                ).format(*placement)
            )
        else:
            listed.append(rng.choice(["Shard(dim={})", "Shard({})", "S({})"]).format(placement[0]))
    named = ", ".join(f"{name}={many}" for name, many in zip(names, mesh, strict=True))
    numbers = list(range(prod(mesh)))
    for many in reversed(mesh):
        numbers = [numbers[at : at + many] for at in range(0, len(numbers), many)]
    comma = "," if dims == 1 else ""
    device_mesh = rng.choice(
        [
            f"DeviceMesh(({named}), 'cpu', stride=(1,))",
            f"DeviceMesh(({named}), device: 'cuda', stride: (4, 1))",
            f"DeviceMesh('cuda', {numbers[0]}, mesh_dim_names={tuple(names)})",
            f"DeviceMesh({tuple(mesh)}, {tuple(names)})",
            f"({named})",
        ]
    )
    text = rng.choice(
        [
            f"({', '.join(listed)}{comma}) on {device_mesh}",
            f"[{', '.join(listed)}] on {device_mesh}",
            "DTensor(local_tensor=tensor([[0.0000, -1.5e-3]], dtype=torch.bfloat16),"
            f" device_mesh={device_mesh}, placements=({', '.join(listed)}{comma}))",
        ]
    )
    text = text.replace(f"device_mesh=({named})", f"device_mesh=DeviceMesh(({named}))")
    return text, tuple(shape), mesh, placements, names


def test_placements_are_a_layout(times):
    rng, refused = Random("dtensor"), 0
    for _ in range(times(200)):
        text, shape, mesh, placements, names = drawn(rng)
        try:
            found = reading(text, shape=shape)
        except Refused:
            refused += 1
            continue
        assert not differences(found.layout, held_by_ranks(shape, mesh, placements), tuple(names)), text
        assert found.box is None
    assert refused < times(20)


def test_uneven_placements_are_a_layout_or_are_refused_with_an_element(times):
    rng, read, misread = Random("dtensor uneven"), 0, []
    for _ in range(times(600)):
        text, shape, mesh, placements, names = drawn(rng, uneven=True)
        if prod(shape) > 2000:
            continue
        expected = held_by_ranks(shape, mesh, placements)
        try:
            found = reading(text, shape=shape)
        except Refused as refused:
            wrong = refused.code == "TW510" and not is_uneven(refused.witness, shape, mesh, placements)
            misread += [text] if wrong or refused.code not in ("TW503", "TW510") else []
            continue
        read += 1
        assert not differences(found.layout, expected, tuple(names)), text
        padded = extents_of(found.layout.shape)
        assert found.box == (None if padded == shape else shape)
    assert read > times(200)
    assert misread == []


def is_uneven(witness, shape, mesh, placements):
    """Return whether equal chunks put an index on another shard than torch, or at another position."""
    dim, index = witness["dimension"], witness["index"]
    cuts = [
        (at, many, placement[1])
        for at, (many, placement) in enumerate(zip(mesh, placements, strict=True))
        if placement is not None and placement[0] == dim
    ]
    chunk = shape[dim]
    for _, many, pieces in cuts:
        chunk = up(up(chunk, pieces), many)
    rank, mine = next(
        (rank, mine[dim]) for rank, mine in shares(shape, mesh, placements).items() if index in mine[dim]
    )
    number = 0
    for at, many, _ in cuts:
        number = number * many + rank[at]
    is_plain = all(pieces == 1 for *_, pieces in cuts)
    return not is_plain or number * chunk + mine.index(index) != index


def test_what_is_read_is_written(times):
    rng = Random("dtensor written")
    for _ in range(times(2000)):
        text, shape, *_ = drawn(rng, rng.random() < 0.3)
        try:
            layout = parse(text, shape=shape)
        except Refused:
            continue
        if not any(axis.name != "m" for axis in layout.axes):
            continue
        written = write(DIALECTS["dtensor"], layout, Given())
        again = parse(written, shape=extents_of(layout.shape))
        assert again.same(layout).answer is True, (text, written)
        assert write(DIALECTS["dtensor"], again, Given()) == written


def test_the_order_of_the_mesh_can_be_given(times):
    """With the dimensions of the mesh in another order, strided shards say the same."""
    rng, strided = Random("dtensor order"), 0
    for _ in range(times(300)):
        text, shape, _, _, names = drawn(rng)
        try:
            layout = parse(text, shape=shape)
        except Refused:
            continue
        if not any(axis.name != "m" for axis in layout.axes):
            continue
        order = dict.fromkeys(rng.sample(names, len(names)), 0)
        with suppress(LayoutError):
            written = write(DIALECTS["dtensor"], layout, Given(let=order))
            assert parse(written, shape=shape).same(layout).answer is True, (text, written)
            named = [name for name in order if f"{name}=" in written]
            assert sorted(named, key=written.index) == named
            strided += "_StridedShard" in written
    assert strided > times(20)


@pytest.mark.parametrize(
    ("text", "shape", "layout"),
    [
        ("[Shard(0)] on (2,)", (4,), "S[(2, 2) : (1@gpuid, 1@m)]"),
        ("[Shard(-1)] on (2,)", (4, 4), "S[(4, (2, 2)) : (2@m, (1@gpuid, 1@m))]"),
        (
            "(Shard(0), R) on DeviceMesh('cpu', [[4, 5], [6, 7]])",
            (4,),
            "S[(2, 2) : (2@gpuid, 1@m)] + R[2 : 1@gpuid] + 4@gpuid",
        ),
        (
            "(Shard(0), R) on DeviceMesh([[0, 2], [1, 3]])",
            (4,),
            "S[(2, 2) : (1@gpuid, 1@m)] + R[2 : 2@gpuid]",
        ),
        ("(Shard(0),) on DeviceMesh('cpu', [0, 1, 4, 5])", (4,), "S[(2, 2) : (4@gpuid, 1@gpuid)]"),
        ("[S(0), R] on DeviceMesh((2, 1), 'cpu', stride=(3, 3))", (4,), "S[(2, 2) : (3@gpuid, 1@m)]"),
        (
            "S(0)R on DeviceMesh((a=2, b=3), 'cpu', stride=(3, 1))",
            (4,),
            "S[(2, 2) : (1@a, 1@m)] + R[3 : 1@b]",
        ),
        ("RS(0) on (2, 3)", (6,), "S[(3, 2) : (1@gpuid, 1@m)] + R[2 : 3@gpuid]"),
        ("RRR on (2, 2, 2)", (2,), "S[2] + R[8 : 1@gpuid]"),
        ("S(0)[1]S(0)[0] on (a=2, b=2)", (8,), "S[(2, 2, 2) : (1@b, 1@a, 1@m)]"),
        ("Spec(bf16[8](S(0)S(0))) on (a=2, b=2)", None, "S[(2, 2, 2) : (1@a, 1@b, 1@m)]"),
    ],
)
def test_texts(text, shape, layout):
    assert parse(text, shape=shape).same(parse(layout)).answer is True


def test_meshes_by_names():
    with pytest.raises(LayoutError) as error:
        parse("(Shard(0), Replicate())", dialect="dtensor", shape=(4,))
    assert error.value.code == "TW007"
    layout = parse("(Shard(0), Replicate())", shape=(4,), let={"dp": 2, "tp": 3})
    assert layout.same(parse("S[(2, 2) : (1@dp, 1@m)] + R[3 : 1@tp]")).answer is True


@pytest.mark.parametrize("text", ["(Partial(sum), R) on (2, 2)", "P(sum)R on (2, 2)", "[R, P] on (2, 2)"])
def test_partial_sums_are_no_layout(text):
    with pytest.raises(LayoutError) as error:
        parse(text, shape=(4,))
    assert error.value.code == "TW008"
    assert "part of a sum" in str(error.value)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("S[8]", "no axis of devices"),
        ("S[(2, 2) : (2@x, 1@x)]", "whole of x at once"),
        ("S[(2, 8) : (1@x, 1@m)] + R[2 : 2@x]", "whole of x at once"),
        ("S[(2, 8) : (1@x, 1@m)] + 1@x", "the first device"),
        ("S[(2, 8) : (1@x, 2@m)]", "row-major"),
    ],
)
def test_what_placements_cannot_say(layout, words):
    with pytest.raises(LayoutError) as error:
        write(DIALECTS["dtensor"], parse(layout), Given())
    assert error.value.code == "TW008"
    assert words in str(error.value)


def test_the_texts_that_new_users_type_are_read():
    """Without local_tensor, and without parentheses around one placement."""
    ranks = "DeviceMesh('cuda', [0, 1, 2, 3, 4, 5, 6, 7])"
    typed = parse(f"DTensor(device_mesh={ranks}, placements=(Shard(dim=0),))", shape=(64, 64))
    assert typed == parse("Shard(0) on (8,)", shape=(64, 64)) == parse("(Shard(0),) on (8,)", shape=(64, 64))
    copied = parse("Replicate() on (8,)", shape=(64, 64))
    assert copied.copies == 8
