"""tcgen05's tables, put to the assembler: what they list is there, and what it takes is listed."""

from __future__ import annotations

import re

import pytest
from tests.codegen import nvrtc
from tests.codegen.tcgen05_statements import (
    copies,
    moves,
    perhaps_copies,
    perhaps_moves,
    perhaps_products,
    products,
    statement,
)
from tests.hardware.mma_assembled import taken

LIBRARIES = [library for library in (nvrtc.load(13), nvrtc.load(12)) if library is not None]

WHOLE = ("sm_100a", "sm_101a", "sm_110a")
WITHOUT_INTEGERS = ("sm_103a", "sm_107a")
FAMILIES = ("sm_100f", "sm_103f", "sm_110f")
NONE = ("sm_90a", "sm_100", "sm_120a", "sm_120f", "sm_121a")
"""GeForce's Blackwell, sm_120 and sm_121, has no tensor memory, and sm_100 without a letter is not enough."""


def library_for(arch):
    """Return a library that knows an architecture; without one the test is skipped."""
    number = int(re.search(r"\d+", arch)[0])
    for library in LIBRARIES:
        if number in nvrtc.architectures(library):
            return library
    pytest.skip(f"no NVRTC that is installed knows {arch}")


def there(arch, some):
    return {*taken(library_for(arch), arch, some, statement)}


def worded(text):
    """A statement without the descriptor, which the assembler does not read."""
    return re.sub(r"0x[0-9a-f]+", "0x0", text)


@pytest.mark.slow
@pytest.mark.parametrize("arch", [*WHOLE, *WITHOUT_INTEGERS, *FAMILIES])
@pytest.mark.parametrize("store", [False, True], ids=["ld", "st"])
def test_loads_and_stores(arch, store):
    assert there(arch, perhaps_moves(store)) == {*moves(store).values()}


@pytest.mark.slow
@pytest.mark.parametrize("arch", [*WHOLE, *WITHOUT_INTEGERS, *FAMILIES])
@pytest.mark.parametrize("cta_group", [1, 2])
def test_copies(arch, cta_group):
    assert there(arch, perhaps_copies(cta_group)) == {*copies(cta_group).values()}


def of_arch(words, arch):
    """Return whether an architecture has a product of the tables."""
    if arch in WHOLE:
        return True
    if arch in WITHOUT_INTEGERS:
        return "kind::i8" not in words
    of_a_family = "kind::i8" not in words and "scale_vec" not in words
    return of_a_family and not (".sp." in words and "kind::mxf4" in words)


@pytest.mark.slow
@pytest.mark.parametrize("arch", [*WHOLE, *WITHOUT_INTEGERS, *FAMILIES])
@pytest.mark.parametrize("cta_group", [1, 2])
def test_products(arch, cta_group):
    """Each has its own descriptor; and no other statement compiles."""
    listed = {words: text for words, text in products(cta_group).items() if of_arch(words, arch)}
    assert there(arch, listed.values()) == {*listed.values()}
    assert there(arch, perhaps_products(cta_group)) == {*map(worded, listed.values())}


@pytest.mark.slow
@pytest.mark.parametrize("arch", NONE)
def test_who_has_nothing_of_it(arch):
    some = [*moves(False).values(), *moves(True).values(), *copies(1).values(), *products(1).values()]
    assert not there(arch, some)


def test_there_is_much_that_is_not():
    """So that the tables cannot lack what was never tried."""
    for listed, asked in (
        (moves(False), perhaps_moves(False)),
        (copies(2), perhaps_copies(2)),
        (products(1), perhaps_products(1)),
    ):
        assert {*map(worded, listed.values())} < {*asked}
    assert (len(moves(True)), len(copies(1)), len(products(1)), len(products(2))) == (74, 18, 64, 48)
