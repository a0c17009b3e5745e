"""tcgen05 as inline PTX in CUDA C++: what the tables have, among much that they have not."""

from __future__ import annotations

from itertools import product

from tilewise.hardware.tcgen05.copies import COPIES, SOURCES
from tilewise.hardware.tcgen05.instruction import InstructionWord
from tilewise.hardware.tcgen05.kinds import KINDS, Product
from tilewise.hardware.tcgen05.loads import FORMS, instruction

DECLARED = ".reg .b32 d, a, m, x, y; .reg .b64 s, t; .reg .pred p;"
"""D, A, metadata, scales; descriptors; whether D is added to. Their contents do not matter."""

MULTICASTS = ("", "warpx2::02_13", "warpx2::01_23", "warpx4")
BLOCKS = {"1X": "block32", "2X": "block32", "4X": "block16"}
"""{scales of a row: the other word for that many, by the length of a block}."""
SCALINGS = ("", *(f"scale_vec::{scale}" for scale in BLOCKS), "block16", "block32")


def statement(text):
    """A statement of CUDA C++ around one of PTX."""
    return f'asm volatile("{{ {DECLARED} {text}; }}");'


# -- loads and stores ------------------------------------------------------------------------------


def moves(store):
    """{words of the instruction: a statement} of tcgen05.ld, or .st, as the table has them."""
    return {
        instruction(store, form, repeat, packed): _move(store, form.name, repeat, packed)
        for form in FORMS.values()
        for repeat in form.repeats
        for packed in (False, True)
    }


def perhaps_moves(store):
    """The same for every form with every repeat, and more of them than there are."""
    return [
        _move(store, form, repeat, packed)
        for form in FORMS
        for repeat in (1, 2, 3, 4, 8, 16, 32, 64, 128, 256)
        for packed in (False, True)
    ]


def _move(store, form, repeat, packed):
    halves = f".{'unpack' if store else 'pack'}::16b" if packed else ""
    words = f"tcgen05.{'st' if store else 'ld'}.sync.aligned.{form}.x{repeat}{halves}.b32"
    count = repeat * FORMS[form].registers
    held = "{" + ", ".join(f"r{number}" for number in range(count)) + "}"
    half = f", {FORMS[form].span(packed) * repeat}" if FORMS[form].halves else ""
    operands = f"[d]{half}, {held}" if store else f"{held}, [d]{half}"
    return f".reg .b32 r<{count}>; {words} {operands}"


# -- copies ----------------------------------------------------------------------------------------


def copies(cta_group):
    """The same of tcgen05.cp."""
    every = [copy.instruction(cta_group, source) for copy in COPIES for source in (None, *SOURCES)]
    return {words: f"{words} [d], s" for words in every}


def perhaps_copies(cta_group):
    """Every form with every multicast and every source."""
    forms = dict.fromkeys(copy.form for copy in COPIES)
    return [
        f"tcgen05.cp.cta_group::{cta_group}.{form}{'.' * bool(multicast)}{multicast}{source} [d], s"
        for form, multicast in product(forms, MULTICASTS)
        for source in ("", *(f".b8x16.{one}" for one in SOURCES))
    ]


# -- products --------------------------------------------------------------------------------------


def products(cta_group):
    """The same of tcgen05.mma: every kind, dense and sparse, .ws, A in shared and in tensor memory."""
    found = {}
    for kind, sparse, ws in product(KINDS.values(), (False, True), (False, True)):
        shapes = Product(kind, cta_group, sparse, ws).shapes
        scales = dict.fromkeys(f"{scaling.vector}X" for scaling in kind.scalings) or [""]
        for scale, inside in product(scales if shapes else (), (False, True)):
            m, more = max(shapes), {"scale": scale} if scale else {}
            one = InstructionWord(
                kind.name, m, max(shapes[m]), sparse=sparse, cta_group=cta_group, ws=ws, **more
            )
            scaling = one.words.partition("block_scale.")[2]
            for word in (scaling, f"scale_vec::{scale}") if scale else ("",):
                text = _product(kind.name, cta_group, sparse, ws, word, inside, one.value)
                found[text.partition(" ")[0] + ", A in tensor memory" * inside] = text
    return found


def perhaps_products(cta_group):
    """Every kind with every scaling, dense and sparse, .ws and not, A here and there."""
    either = (False, True)
    return [
        _product(kind, cta_group, sparse, ws, scale, inside, 0)
        for kind, sparse, ws, scale, inside in product(KINDS, either, either, SCALINGS, either)
    ]


def _product(kind, cta_group, sparse, ws, scale, inside, value):
    words = ["tcgen05.mma", *["ws"] * ws, *["sp"] * sparse, f"cta_group::{cta_group}", f"kind::{kind}"]
    words += [f"block_scale.{scale}"] * bool(scale)
    operands = ["[d]", "[a]" if inside else "s", "t", *["[m]"] * sparse, f"{value:#x}"]
    operands += ["[x]", "[y]"] * bool(scale)
    return f"{'.'.join(words)} {', '.join(operands)}, p"
