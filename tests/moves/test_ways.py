"""Ways of a plan: each has its rows in the tables, and a plan asks a new one no more than it asks these."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace

import pytest
from tests.moves.pairs import case
from tests.moves.test_tiles import permuted

from tilewise import S, Swizzle, plan
from tilewise.moves import lines
from tilewise.moves.source import host_source
from tilewise.moves.tiles.tile import Tile
from tilewise.moves.tiles.turned import Turned
from tilewise.moves.ways import Bulk, Gather

PLANS = sys.modules["tilewise.moves.memory"]  # whose name is the function's
TURNED = permuted((1023, 511), (1, 0))
EACH = {
    Bulk: plan(S[64], S[64] + 8, "u8"),
    Tile: plan(*TURNED, "bf16"),
    Turned: plan(*TURNED, "u4"),
    Gather: plan(S[64, 48], S[(64, 48) : (3, 192)], "u8"),
}


@dataclass(frozen=True)
class Fifth:
    """A way that no table knows."""

    blocks = 5
    threads = 32
    shared_bytes = 1024
    kind = "tile"
    stays = False
    fills_beyond = changes_words = True
    rate = 0.75
    vectors = 4, 8
    swizzle = "Swizzle<1,2,3>"

    @property
    def named_extents(self):
        return {"elements": [7]}

    def sectors(self, aligned):
        return 1.25, 2.75


def test_each_way_has_its_kernel_and_its_sentences():
    assert {type(own.way) for own in EACH.values()} == set(EACH)
    assert PLANS.KERNELS.keys() == lines.STEPS.keys() == EACH.keys()


@pytest.mark.parametrize("way", EACH, ids=lambda way: way.__name__)
def test_a_launch_is_of_what_has_a_kernel(way):
    own = EACH[way]
    assert all(own.launch[:2]) == bool(own.kernel) == (way is not Bulk)


@pytest.mark.parametrize("way", EACH, ids=lambda way: way.__name__)
def test_a_new_way_is_a_class_and_its_rows_in_the_tables(way, monkeypatch):
    own = replace(EACH[way], chosen=Fifth(), checked=False)
    with pytest.raises(KeyError):
        _ = own.kernel
    monkeypatch.setitem(PLANS.KERNELS, Fifth, lambda way, storage, fill, name: f"{name} of {storage} bytes")
    monkeypatch.setitem(lines.STEPS, Fifth, lambda plan, way: iter([f"by {way.blocks} of a fifth kind"]))
    assert own.code("fifth") == f"fifth of {own.sizes[0]} bytes"
    said = own.data()
    assert said["class"] == "tile"
    assert said["tile"] == {"elements": [7]}
    assert said["vector"] == {"read": 4, "write": 8}
    assert said["swizzle"] == "Swizzle<1,2,3>"
    filled = own.sizes[1] - own.fill_from if own.fills else 0
    assert said["copy_fraction"] == round(0.5 * own.bytes / (own.bytes + filled), 2)
    assert said["sectors"] == {"read": 1.25, "write": 2.75}
    assert (said["blocks"], said["threads"], said["shared_bytes"]) == own.launch == (5, 32, 1024)
    assert own.steps[-1] == "by 5 of a fifth kind"
    assert str(own).splitlines()[-1] == f"  {'' if len(own.steps) == 1 else '2  '}{own.steps[-1]}"
    assert (own.changes_words, own.fills_apart) == (True, False)
    assert "are multiples of 16 bytes" in host_source(own)


WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "V16": 16}
READS = re.compile(r"\(\(const (\w+)\*\)source\)\[")
WRITES = re.compile(r"^ *(?:\*\((\w+)\*\)\(\(\w+\*\)target \+|\(\((\w+)\*\)target\)\[)", re.MULTILINE)


def gathers(seeds):
    """Plans of pairs that go element by element, of whole bytes."""
    for asked in map(case, seeds):
        own = plan(asked.source, asked.target, asked.dtype, shape=asked.shape)
        if isinstance(own.way, Gather) and own.way.pair.bits >= 8:
            yield own


def test_gathers_say_what_their_kernels_read_and_write():
    """Elements that stay neighbours are read and written as one."""
    wider = 0
    for own in gathers(range(200)):
        (read,), ((whole, alone),) = READS.findall(own.kernel), WRITES.findall(own.kernel)
        assert own.vector == {"read": WIDTHS[read], "write": WIDTHS[whole or alone]}, str(own)
        wider += own.way.pair.bits > own.dtype.bits
    assert wider > 2


def test_neighbours_of_4_bits_that_go_as_one_are_no_words_that_are_changed():
    own = plan(S[64], Swizzle(3, 4, 4) @ S[64], "u4", checked=True)
    assert (own.kind, own.way.pair.bits, own.vector) == ("gather", 64, {"read": 8, "write": 8})
    assert own.steps == ["1 block of 256 threads, each of which reads 16 elements and writes them at once"]
    assert (own.changes_words, own.copy_fraction) == (False, None)
    assert "the storage begins and ends with" not in own.kernel
    alone = plan(S[64], S[64:3], "u4", checked=True)
    assert (alone.kind, alone.changes_words, alone.copy_fraction) == ("gather", True, 0.016)
    assert "the storage begins and ends with" in alone.kernel
