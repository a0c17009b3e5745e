"""Table 54, Table 55, the canonical layouts and figures 188 to 192 of tcgen05, digit for digit."""

from __future__ import annotations

import re
from functools import partial

import pytest
from tests.hardware.of_tcgen05 import addresses

from tilewise import LayoutError, Refused, S, Swizzle, parse
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.engines import engine
from tilewise.hardware.modes import BLACKWELL, MODES
from tilewise.hardware.operands import figures
from tilewise.hardware.operands.canonical import FORMS, canonical
from tilewise.hardware.operands.tiles import atom, extents, tile
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.kinds import kind_of
from tilewise.hardware.tcgen05.operand import Operand

figure = partial(figures.figure, "tcgen05")
FIGURES = figures.figures_of("tcgen05")

CANONICAL = """
MN none ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO)) Swizzle<0, 4, 3>
MN 32B ((T,2,m),(8,k)):((1,T,LBO),(2T,SBO)) Swizzle<1, 4, 3>
MN 64B ((T,4,m),(8,k)):((1,T,LBO),(4T,SBO)) Swizzle<2, 4, 3>
MN 128B ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)) Swizzle<3, 4, 3>
K none ((8,m),(T,2k)):((1T,SBO),(1,LBO)) Swizzle<0, 4, 3>
K 32B ((8,m),(T,2k)):((2T,SBO),(1,T)) Swizzle<1, 4, 3>
K 64B ((8,m),(T,2k)):((4T,SBO),(1,T)) Swizzle<2, 4, 3>
K 128B ((8,m),(T,2k)):((8T,SBO),(1,T)) Swizzle<3, 4, 3>
"""
"""The table of canonical layouts, as it is printed."""

WORKED = {
    188: ("K", "none", "tf32", "Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", 4, (64, 32), (16, 8)),
    189: ("K", "32B", "tf32", "Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))", 4, ("NA", 64), (1, 16)),
    190: ("MN", "none", "bf16", "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", 8, (128, 64), (16, 8)),
    191: (
        "MN",
        "32B",
        "bf16",
        "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))",
        8,
        (128, 256),
        (16, 32),
    ),
    192: (
        "MN",
        "64B",
        "bf16",
        "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))",
        8,
        (256, 512),
        (32, 64),
    ),
}
"""(major, mode, type, exact layout, T, LBO and SBO as multiples of the type's bytes, their encodings)."""

ATOMS = {
    ("mn", "128B_ATOM_32B"): (8, 4),
    ("mn", "128B"): (8, 8),
    ("k", "128B"): (8, 8),
    ("mn", "64B"): (4, 8),
    ("k", "64B"): (8, 4),
    ("mn", "32B"): (2, 8),
    ("k", "32B"): (8, 2),
    ("mn", "none"): (1, 8),
    ("k", "none"): (8, 1),
}
"""Table 55: the atoms in elements of 128 bits."""


@pytest.mark.parametrize("line", CANONICAL.strip().splitlines())
def test_canonical_layouts_are_printed_as_in_the_table(line):
    major, mode, printed, swizzle = line.split(maxsplit=3)
    form = FORMS[major.lower(), mode]
    assert form.plain == printed
    assert form.cute == f"{swizzle.replace(' ', '')} o {printed}"
    facts = find("tcgen05.canonical")(mode, major.lower(), "bf16").facts
    assert facts["form_cute"] == form.cute


@pytest.mark.parametrize("number", WORKED)
def test_worked_examples_digit_for_digit(number):
    major, mode, dtype, printed, t, strides, encoded = WORKED[number]
    size = {"tf32": 4, "bf16": 2}[dtype]
    lbo, sbo = (None if count == "NA" else count * size for count in strides)
    facts = find("tcgen05.figure")(number).facts
    assert facts["printed"] == printed
    assert facts["canonical"] == FORMS[major.lower(), mode].cute
    assert (facts["major"], facts["mode"], facts["dtype"], facts["T"]) == (major.lower(), mode, dtype, t)
    assert (facts["m"], facts["k"], facts["lbo"], facts["sbo"]) == (2, 2, lbo, sbo)
    assert facts["encoded"] == {"lbo": encoded[0], "sbo": encoded[1]}
    held = Descriptor(lbo=lbo or 16, sbo=sbo, mode=mode).encoded
    assert (held["lbo"], held["sbo"]) == encoded
    typed = printed.replace(" o ", f" o smem_ptr[{8 * size}b](unset) o ")
    assert figure(number).layout.same(parse(typed)).answer
    dense = find("tcgen05.canonical")(mode, major.lower(), dtype).facts
    assert (dense["as_printed"], dense["encoded"]) == (printed, facts["encoded"])


@pytest.mark.parametrize("number", [188, 190, 191, 192])
def test_worked_examples_are_what_their_descriptors_read(number):
    """The first 32 bytes of K, in 16 rows."""
    major, mode, dtype, _, _, (lbo, sbo), _ = WORKED[number]
    size = {"tf32": 4, "bf16": 2}[dtype]
    layout, of = figure(number).layout, Operand(dtype, major.lower(), n=16)
    table = addresses(Descriptor(lbo=lbo * size, sbo=sbo * size, mode=mode), of)
    assert table == [[layout.place(row, k)["m"] * size for k in range(32 // size)] for row in range(16)]


def test_figure_189_overlaps_itself_as_printed_and_no_other_does():
    assert [number for number in FIGURES if not figure(number).layout.injective] == [189]
    assert "overlaps" in find("tcgen05.figure")(189).notes[0]


@pytest.mark.parametrize(("major", "mode"), ATOMS)
def test_atoms_are_those_of_the_table(major, mode):
    assert extents(BLACKWELL[mode], major, figure(219).dtype) == ATOMS[major, mode]
    drawn = [
        row for row in FIGURES.values() if (row.major, row.mode.name) == (major, mode) and row.number > 218
    ]
    assert drawn[0].layout.shape == ATOMS[major, mode]
    assert drawn[0].layout == atom(BLACKWELL[mode], major, "b128")
    keeps = BLACKWELL[mode].keeps
    facts = find("tcgen05.atom")(mode.partition("_")[0], major, "b128", atomicity=keeps).facts
    assert facts["chunks"] == [*ATOMS[major, mode]]


def test_the_atom_that_keeps_32_bytes_together():
    """CUTLASS's Layout_MN_SW128_32B_Atom: Swizzle<2,5,2> on bytes o (1024, 4) : (1, 1024) in bits."""
    mode = BLACKWELL["128B_ATOM_32B"]
    assert atom(mode, "mn", "tf32") == Swizzle(2, 3, 2) @ S[(32, 4) : (1, 32)]
    layout = figure(219).layout
    assert [[layout.place(chunk, k)["m"] for k in range(4)] for chunk in range(8)] == [
        [0, 10, 20, 30],
        [1, 11, 21, 31],
        [2, 8, 22, 28],
        [3, 9, 23, 29],
        [4, 14, 16, 26],
        [5, 15, 17, 27],
        [6, 12, 18, 24],
        [7, 13, 19, 25],
    ]
    assert canonical(mode, "mn", "tf32", 2, 2).same(tile(mode, "mn", "tf32", 64, 8)).answer


def test_modes_that_both_engines_have_are_the_same_tiles():
    for mode in MODES:
        ours = find("tcgen05.smem")("B", "k", mode, "bf16", 64, 64)
        theirs = find("wgmma.smem")("B", "k", mode, "bf16", 64, 64)
        assert ours.layout == theirs.layout
        assert {name: ours.facts[name] for name in theirs.facts} == theirs.facts


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_has_its_place(number):
    anchor = figure(number).source.url.partition("#")[2]
    assert anchor.startswith("tcgen05-")
    assert {
        188: "tcgen05-k-no-swizzle-tf32",
        189: "tcgen05-k-32b-swizzle-tf32",
        192: "tcgen05-mn-64b-swizzle-bf16",
        219: "tcgen05-smem-layout-128b-32b-atom-mn",
        221: "tcgen05-smem-layout-128b-k",
        227: "tcgen05-smem-layout-no-swizzle-k",
        228: "tcgen05-smem-layout-k",
    }.get(number, anchor) == anchor


@pytest.mark.parametrize(
    ("number", "hint"), [(187, "188 to 192"), (229, "16 or 32 bytes"), (193, "219 to 228"), (170, "188")]
)
def test_other_figures(number, hint):
    with pytest.raises(LayoutError) as refused:
        figure(number)
    assert hint in refused.value.hint


# -- the catalogue ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tcgen05.smem", "tcgen05.atom", "tcgen05.canonical", "tcgen05.figure"])
def test_every_instance_is_built(name):
    entry = find(name)
    found = [entry.build(**values) for values in instances_of(entry).values()]
    assert len(found) > 10
    assert all(built.layout is not None for built in found)
    assert all(built.measurable for built in found) == (name != "tcgen05.figure")


@pytest.mark.parametrize(
    ("name", "values", "code", "said"),
    [
        ("smem", {"dtype": "tf32", "major": "mn"}, "TW602", "MN-major tf32 in mode 128B"),
        ("smem", {"atomicity": 32}, "TW602", "no K-major bf16 in mode 128B_ATOM_32B"),
        ("smem", {"mode": "64B", "atomicity": 32}, "TW602", "no mode 64B keeps 32 bytes"),
        ("smem", {"dtype": "e2m1", "major": "mn"}, "TW602", "K-major alone"),
        ("smem", {"operand": "A", "rows": 40}, "TW603", "A has 40 rows"),
        (
            "smem",
            {"operand": "A", "rows": 32, "dtype": "e4m3", "kind": "mxf8f6f4", "k": 128},
            "TW603",
            "64 at",
        ),
        ("smem", {"mode": "none", "k": 24}, "TW603", "no whole number of products"),
        ("smem", {"mode": "32B", "sparse": True}, "TW602", "K of 64 bytes is not read in mode 32B"),
        ("smem", {"kind": "tf32"}, "TW602", "does not multiply bf16"),
        ("smem", {"dtype": "f32"}, "TW602", "does not multiply f32"),
        ("atom", {"atomicity": 32}, "TW602", "no K-major atom"),
        ("canonical", {"atomicity": 32}, "TW602", "no K-major atom"),
        ("canonical", {"atomicity": 32, "mode": "none", "major": "mn"}, "TW602", "no mode none keeps 32"),
        ("canonical", {"sbo": 24}, "TW604", "no multiple of 16"),
        ("atom", {"atomicity": 8}, "TW601", "there is no atomicity 8"),
    ],
    ids=str,
)
def test_what_the_catalogue_refuses(name, values, code, said):
    entry = find(f"tcgen05.{name}")
    such = {"smem": {"operand": "B", "rows": 64, "k": 64}}.get(name, {})
    with pytest.raises(LayoutError, match=said) as refused:
        entry(**({"major": "k", "mode": "128B", "dtype": "bf16"} | such | values))
    assert refused.value.code == code


def test_padded_elements_are_said_to_be_bytes():
    built = find("tcgen05.smem")("B", "k", "128B", "e2m1", 64, 128)
    assert built.facts["stored_bits"] == 8
    assert re.search("16 elements of 4 bits fill the first 8", built.notes[0])
    assert find("tcgen05.smem")("B", "k", "128B", "e2m1", 64, 256, kind="mxf4").notes == ()


def test_sparse_products_read_twice_as_much_of_b():
    assert find("tcgen05.smem")("B", "k", "128B", "bf16", 64, 64, sparse=True).facts["k_steps"] == 2
    assert find("tcgen05.smem")("A", "k", "128B", "bf16", 64, 64, sparse=True).facts["k_steps"] == 4


@pytest.mark.parametrize("sparse", [False, True])
def test_the_catalogue_has_the_modes_in_which_a_product_reads(sparse):
    """Every instance, and beside a sparse A too: just those that an intake has, and that steps begin in."""
    entry, asked = find("tcgen05.smem"), engine("tcgen05")
    refused = set()
    for values in instances_of(entry).values():
        kind = values["kind"] or kind_of(values["dtype"]).name
        taken = asked.intake(values["dtype"], values["operand"], kind=kind, sparse=sparse)
        mode = BLACKWELL[values["mode"]]
        if mode in taken.modes[values["major"]]:
            assert entry.build(**values | {"sparse": sparse}).layout is not None
        else:
            refused.add((values["operand"], values["major"], values["mode"]))
            with pytest.raises(Refused, match="is not read in mode"):
                entry.build(**values | {"sparse": sparse})
            with pytest.raises(Refused, match="is not read in mode"):
                asked.feed(taken, mode, values["major"], 1024, 1024, "mn")
    assert refused == ({("B", "k", "32B")} if sparse else set())


def test_b_is_in_shared_memory_alone():
    with pytest.raises(Refused, match=r"where it is tcgen05\.smem"):
        find("tcgen05.B")
