"""Kernels that test every access: they move the same, and say which access is not of its storage."""

from dataclasses import replace

import numpy as np
import pytest
from tests.codegen import nvrtc
from tests.moves import shim
from tests.moves.test_source import PLANS, moved_plainly, stored

from tilewise import O, S, Swizzle
from tilewise.moves import plan
from tilewise.moves.kernels.checked import Fault
from tilewise.moves.kernels.tile_kernel import STATIC
from tilewise.moves.source import kernel_source

SMALL = (
    "transpose of 16 bytes",
    "transpose of doubles, of unaligned storages",
    "4 bits",
    "4 bits one by one",
    "4 bits in long rows",
    "4 bits in rows of whole bytes",
    "no common digits",
)
PADDED = {"padded": plan(S[30, 7] + 2, S[(30, 8) : (1, 64)], "s16", shape=(30, 7), fill=b"\1\2", aligned=2)}
ROWS = PLANS["4 bits in long rows"]
LARGE = {"4 bits in long rows, in large tiles": replace(ROWS, chosen=replace(ROWS.way, wide=192, tall=480))}
PLAIN = {name: PLANS[name] for name in SMALL} | PADDED | LARGE
CHECKED = {name: replace(own, checked=True) for name, own in PLAIN.items()}
GUARD = 0xA5


def kept(own, source, target):
    """Return what a checked kernel keeps of a fault, after it has run."""
    library = shim.run(own.kernel, *own.launch[:2], source, target)
    return Fault.in_dll(library, "move_fault")


def guarded(size):
    """Room for so many bytes, in the midst of bytes that nothing may write."""
    room = shim.aligned(size + 512)
    room[:] = GUARD
    return room, room[256 : 256 + size]


def with_extents(own, larger):
    """A kernel of other extents than its storages have."""

    class Broken(type(own)):
        sizes = own.sizes

    return Broken(larger.pair, own.dtype, own.device, own.fill, checked=True, chosen=larger.way)


def test_they_read_by_pointers_that_test():
    plain, checked = ("".join(own.kernel for own in plans) for plans in (PLANS.values(), CHECKED.values()))
    assert "asm volatile" in plain
    assert "asm volatile" not in checked


def test_one_has_more_shared_memory_than_is_static():
    assert [name for name, own in CHECKED.items() if own.shared_bytes > STATIC] == [*LARGE]


@pytest.mark.slow
def test_nvrtc_takes_them_all():
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC")
    texts = [kernel_source(own, f"move_{number}") for number, own in enumerate(CHECKED.values())]
    nvrtc.compile_to_ptx(library, "\n".join(texts), "-arch=sm_90a", nvrtc.MINIMAL)


@pytest.mark.parametrize("name", CHECKED)
def test_they_move_the_same_and_keep_no_fault(name):
    own = CHECKED[name]
    source, target = stored(own)
    if own.fills:
        target[own.fill_from :] = np.frombuffer(own.fill * target.size, np.uint8)[
            : target.size - own.fill_from
        ]
    assert kept(own, source, target).found == 0
    assert target.tobytes() == moved_plainly(own, source, target.size).tobytes()


@pytest.mark.parametrize(
    ("row", "pitch", "dtype"), [(3, 4, "f32"), (5, 8, "u16"), (9, 16, "u8"), (10, 16, "u4")]
)
@pytest.mark.parametrize("later", [0, 16])
def test_a_row_that_is_swizzled_to_the_end_is_read_to_its_end(row, pitch, dtype, later):
    rows = S[(55, row) : (pitch, 1)] + 2 * pitch
    source = O[later * pitch] @ Swizzle(3, pitch.bit_length() - 1, 3) @ rows
    own = plan(source, S[(55, row) : (1, 55)], dtype, checked=True)
    given, made = stored(own)
    assert (own.kind, source.max("m") - rows.max("m")) == ("tile", (7 + later) * pitch)
    assert kept(own, given, made).found == 0
    assert made.tobytes() == moved_plainly(own, given, made.size).tobytes()


@pytest.mark.parametrize(
    ("larger", "side", "way"),
    [
        ((S[(64, 48) : (56, 1)], S[(64, 48) : (1, 64)]), "source", "read"),
        ((S[64, 48], S[(64, 48) : (1, 72)]), "target", "written"),
    ],
)
def test_a_kernel_of_larger_storages_is_caught_and_writes_nothing_beyond(larger, side, way):
    own = plan(S[64, 48], S[(64, 48) : (1, 64)], "bf16", checked=True)
    larger = plan(*larger, "bf16", checked=True)
    room, target = guarded(own.sizes[1])
    fault = kept(with_extents(own, larger), shim.aligned(larger.sizes[0]), target)
    assert (fault.found, fault.size) == (1, 6144)
    assert fault.at + fault.bytes > fault.size
    assert f"{way} at byte {fault.at} of the {side}, which has 6144: thread {fault.thread} of" in str(fault)
    assert {*room[:256], *room[256 + target.size :]} == {GUARD}


def test_an_access_before_the_storage_is_caught():
    own = plan(S[(6, 4) : (9, 2)] + 3, S[(4, 6) : (1, 5)], "f32", checked=True)
    text = own.kernel.replace(")[from]", ")[from - 4]")
    assert text != own.kernel
    source, target = stored(own)
    fault = Fault.in_dll(shim.run(text, *own.launch[:2], source, target), "move_fault")
    assert (fault.found, fault.in_target, fault.writes, fault.at, fault.bytes) == (1, 0, 0, -4, 4)
    assert str(fault).startswith("4 bytes were to be read at byte -4 of the source, which has")


def test_a_vector_that_is_not_aligned_is_caught():
    own = CHECKED["transpose of 16 bytes"]
    source, target = (shim.aligned(size, 4) for size in own.sizes)
    fault = kept(own, source, target)
    assert (fault.found, fault.bytes) == (1, 16)
    assert "of the" in str(fault)


def test_the_environment_asks_for_them(monkeypatch):
    asked = S[8, 4], S[(8, 4) : (1, 8)], "f32"
    found = []
    for word in ("1", "true", "On", "0", "", "false", "False", "OFF", "no", " off "):
        monkeypatch.setenv("TILEWISE_CHECKED", word)
        found.append(plan(*asked).checked)
    assert found == [True] * 3 + [False] * 7
    assert not plan(*asked, checked=False).checked
    assert "At<" not in plan(*asked).kernel
