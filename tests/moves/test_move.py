"""`move` on the CPU against the naive move, and the kernels' texts against `move`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.moves.pairs import WORDS, case, naive
from tests.moves.shim import aligned, run

from tilewise import LayoutError, S, parse
from tilewise.moves import move, plan
from tilewise.moves.memory import COPY_RATES, LAUNCH
from tilewise.moves.tiles.tile import RATE
from tilewise.moves.ways import Bulk


def elements(array, bits):
    """The elements of bytes, a byte each where they are narrower."""
    if bits >= 8:
        return array.view(WORDS[bits])
    return np.stack([array & 15, array >> 4], axis=1).reshape(-1)


def expected(asked, source, room):
    """Return what the naive move makes of bytes, the rest filled."""
    bits = asked.dtype.bits
    if bits >= 8:
        value = np.full(1, asked.fill, WORDS[bits])
        target = np.full(room, value, WORDS[bits])
        naive(asked, source.view(WORDS[bits]), target)
        return target.view(np.uint8)
    target = np.full(room + room % 2, asked.fill, np.uint8)
    naive(asked, elements(source, bits), target)
    return target[0::2] | target[1::2] << 4


def element(asked):
    """The bytes of an element of the fill."""
    bits = asked.dtype.bits
    return bytes([asked.fill * 17]) if bits < 8 else np.full(1, asked.fill, WORDS[bits]).tobytes()


def storage(asked, seed):
    """Random bytes for the source of a case."""
    count = -(-(asked.source.max("m") + 1) * asked.dtype.bits // 8)
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


@pytest.mark.parametrize("seed", range(120))
def test_moves_are_the_naive_moves(seed):
    asked = case(seed, 600)
    source = storage(asked, seed)
    room = asked.target.max("m") + 1
    given = source if asked.dtype.bits < 8 else source.view(WORDS[asked.dtype.bits])
    found = move(given, asked.source, asked.target, dtype=asked.dtype, shape=asked.shape, fill=element(asked))
    assert found.view(np.uint8).tobytes() == expected(asked, source, room).tobytes(), str(asked)


def test_a_box_that_ends_where_a_digit_of_the_source_begins_is_the_naive_move():
    """In blocks of 8, a box of 8 has no digit beyond the first block, whatever its source goes on to."""
    source = S[((3, 8), 4) : ((40, 4), 1)]
    given = np.arange(112, dtype=np.uint8)
    found = move(given, source, S[(8, 4) : (1, 8)], shape=(8, 4))
    assert found.tolist() == given[:32].reshape(8, 4).T.reshape(-1).tolist()


@pytest.mark.parametrize("seed", [seed for seed in range(240) if case(seed, 600).shape])
def test_out_has_the_fill_in_elements_beyond_the_box_and_keeps_its_holes(seed):
    """The naive move of one fill to all elements, and then of the box."""
    asked = case(seed, 600)
    source, kind = storage(asked, seed), WORDS[asked.dtype.bits] if asked.dtype.bits >= 8 else np.uint8
    room = -(-(asked.target.max("m") + 1) * asked.dtype.bits // 8)
    out = np.random.default_rng(seed).integers(0, 256, room, dtype=np.uint8)
    wanted = elements(out, asked.dtype.bits).copy()
    fill = elements(np.frombuffer(element(asked), np.uint8), asked.dtype.bits)
    naive(replace(asked, source=S[asked.target.size : 0], shape=None), fill, wanted)
    naive(asked, elements(source, asked.dtype.bits), wanted)
    found = move(
        source.view(kind),
        asked.source,
        asked.target,
        out.view(kind),
        dtype=asked.dtype,
        shape=asked.shape,
        fill=element(asked),
    )
    assert elements(found.view(np.uint8), asked.dtype.bits).tobytes() == wanted.tobytes(), str(asked)


def on_the_shim(asked, source, room, offset=0):
    """Return what a kernel makes of a case, where the target is filled before."""
    bits = asked.dtype.bits
    fill = element(asked)
    given = aligned(source.size, offset)
    given[:] = source
    found = plan(
        asked.source,
        asked.target,
        asked.dtype,
        shape=asked.shape,
        fill=fill,
        aligned=offset & -offset or 256,
    )
    target = aligned(-(-room * bits // 8) + 3, offset)[: -(-room * bits // 8)]
    if found.fills:
        first = found.fill_from
        target[first:] = np.frombuffer(fill * ((target.size - first) // len(fill)), np.uint8)
    else:
        target[:] = 0x5A
    if isinstance(found.way, Bulk):
        way = found.way
        target[way.write : way.write + way.bytes] = given[way.read : way.read + way.bytes]
    else:
        run(found.kernel, found.launch[0], found.launch[1], given, target)
    return found, target


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_kernels_are_the_naive_moves(seed):
    asked = case(seed, 3000)
    source = storage(asked, seed)
    room = asked.target.max("m") + 1
    offset = 0 if seed % 4 else max(1, asked.dtype.bits // 8)
    found, target = on_the_shim(asked, source, room, offset)
    assert target.tobytes() == expected(asked, source, room).tobytes(), f"{asked}\n{found.way}"


@pytest.mark.parametrize("layout", ["S[4 : 1@TCol]", "S[4 : 1@reg]", "S[4 : 1@laneid]"])
def test_what_no_pointer_reaches_is_refused(layout):
    with pytest.raises(LayoutError) as refused:
        plan(S[4], parse(layout), "f32")
    assert refused.value.code == "TW701"


@pytest.mark.parametrize(
    ("aligned", "dtype", "why"),
    [
        (0, "u8", "0 bytes are no alignment"),
        (24, "u8", "24 bytes are no alignment"),
        (2.0, "u8", "an alignment must be an integer"),
        (2, "f32", "storages aligned to 2 bytes have no elements of f32"),
        (8, "b128", "storages aligned to 8 bytes have no elements of b128"),
    ],
)
def test_an_alignment_that_is_none_is_refused(aligned, dtype, why):
    with pytest.raises(LayoutError, match=why):
        plan(S[8, 4], S[(8, 4) : (1, 8)], dtype, aligned=aligned)


def test_a_fill_takes_its_time():
    rows, padded = plan(S[64, 64], S[(64, 64) : (1, 64)], "u8"), plan(S[64, 64], S[(64, 64) : (1, 80)], "u8")
    assert not rows.fills
    assert padded.fills
    assert padded.seconds > rows.seconds + 1e-6
    assert plan(S[512], S[512] + 64, "f32").copy_fraction == round(4096 / (4096 + 576 * 4), 2)


def test_seconds_with_much_to_fill_are_those_of_all_bytes():
    """The fraction is rounded for readers, and the time is not."""
    for pitch, fraction in ((1_000, "0.11"), (100_000, "0.0013"), (10**15, "1.3e-13")):
        padded = plan(S[64, 64], S[(64, 64) : (pitch, 1)], "f32")
        touched = padded.bytes + (63 * pitch + 64) * 4
        assert padded.seconds == pytest.approx(2 * LAUNCH + touched / (RATE * COPY_RATES["h200"]))
        assert padded.copy_fraction == float(fraction)
        assert f"about {fraction} of a copy's rate" in str(padded)
