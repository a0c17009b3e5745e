"""The unit of a swizzle, in the same words by every command; and addresses, which no layout has."""

import pytest

from tilewise.cli.arguments import parser_for
from tilewise.questions import SUMMARIES

DSL = "S<3,4,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))"
"""As CuTe's DSL prints the tile of `make_smem_layout_atom(K_SW128, Float16)`. Its swizzle counts elements
in the layout as a function, and bytes in the pointer of `allocate_tensor(outer, swizzle=inner)`."""
SAID = (
    "Swizzle<3,4,3> counts elements here, which is Swizzle<3,5,3> on bytes and no mode of the hardware; "
    "on bytes it is that of 128B mode"
)
HINT = "PTX and CuTe print byte swizzles before element strides: for f16 write Swizzle<3,3,3>"
NOTE = f"{SAID}; {HINT}"

ASKED = {
    "at": ("0,0",),
    "who": ("m=0",),
    "table": (),
    "info": (),
    "same": ("S[128, 64]",),
    "relation": ("S[128, 64]",),
    "algebra": (),
    "explain": (),
    "show": ("--window", "0:8,0:8"),
    "explore": (),
    "say": (),
    "code": ("--bytes",),
    "match": ("--engine", "mma", "--operand", "A", "--shape", "m16n8k16"),
    "tma": ("--shape", "128,64"),
    "agree": ("S[128, 64]",),
    "emit": (),
    "banks": ("--access", "ldmatrix.x4"),
    "coalesce": ("--access", "row:16B"),
    "vector": (),
    "plan": ("S[128, 64]",),
    "swizzle": ("--access", "row:16B"),
}
FIRST = {
    "algebra": ("coalesce",),
    "emit": ("mma", "--tile", "128x64x64", "--layout-a"),
}
NO_SHARED_MEMORY = {"shuffle", "tmem"}
"""Their layouts are on lanes, registers and tensor memory."""


def words(command, text, dtype="f16"):
    return command, *FIRST.get(command, ()), text, *ASKED[command], "--dtype", dtype


def noted(tilewise, *asked):
    """The note beside a command's answer, which JSON has as well."""
    run, data = tilewise(*asked), tilewise(*asked, "--json").json
    note = run.err.removeprefix("note: ").strip()
    assert run.err == (f"note: {note}\n" if note else "")
    assert note in data.get("note", "")
    return note


def test_every_command_that_reads_a_layout_of_a_type_is_asked():
    takes = set()
    for command in SUMMARIES:
        parser = parser_for(command)
        reads = "--unit" in parser._option_string_actions or command == "emit"
        takes |= {command} if reads else set()
    assert takes - NO_SHARED_MEMORY == ASKED.keys()


@pytest.mark.parametrize("command", ASKED)
def test_bytes_among_elements_are_noted_in_the_same_words(command, tilewise):
    assert NOTE in noted(tilewise, *words(command, DSL))


@pytest.mark.parametrize("command", ASKED)
@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (DSL.replace("S<3,4,3>", "S<3,3,3>"), "f16"),
        (DSL.replace("S<3,4,3> o 0", "Sw<3,4,3> o smem_ptr[16b](unset)"), "f16"),
        (DSL.replace("S<3,4,3> o 0", "smem_ptr[16b](0x7f8f00000c00) o Sw<3,4,3> o _0"), "f16"),
        (DSL, "s8"),
    ],
)
def test_what_a_text_says_itself_is_not_noted(command, text, dtype, tilewise):
    assert "counts elements here" not in noted(tilewise, *words(command, text, dtype))


@pytest.mark.parametrize(
    ("text", "dtype", "unit", "said"),
    [
        ("Swizzle<3,4,3> o (8,64):(64,1)", "f16", "element", "for f16 write Swizzle<3,3,3>"),
        ("Swizzle<3,4,3> o S[(8,64):(64,1)]", "bf16", "element", "for bf16 write Swizzle<3,3,3>"),
        ("S<2,4,3> o 0 o (8,16):(16,1)", "f32", "element", "that of 64B mode"),
        ("S<1,4,3> o 0 o (8,64):(64,1)", "e2m1", "element", "for e2m1 write Swizzle<1,5,3>"),
        ("S<2,5,2> o 0 o (32,4):(1,32)", "tf32", "element", "that of 128B_ATOM_32B mode"),
        ("Swizzle<3,3,3> o S[(8,64):(128,2)]", "f16", "byte", "on bytes write Swizzle<3,4,3>"),
        ("Swizzle<3,4,3> o S[(8,64):(128,2)]", "f16", "byte", ""),
        ("Swizzle<3,3,3> o S[(8,32):(32,1)]", "f32", "element", ""),
        ("Swizzle<1,3,1> o Swizzle<3,4,3> o S[(8,64):(64,1)]", "f16", "element", ""),
        ("Swizzle<3,4,3>@reg o S[(8,64):(64@reg,1@reg)]", "f16", "element", ""),
        ("Swizzle<3,4,3> o S[(8,64):(64,1)]", "e2m3", "element", ""),
    ],
)
def test_a_swizzle_is_noted_where_only_the_other_unit_is_a_mode(text, dtype, unit, said, tilewise):
    note = noted(tilewise, "say", text, "--dtype", dtype, "--unit", unit)
    assert said in note if said else not note


def test_what_an_answer_says_itself_is_not_noted_again(tilewise):
    asked = (
        ("match", DSL, "--operand", "A", "--dtype", "f16"),
        ("agree", DSL, "wgmma(A, 128B)", "--dtype", "f16"),
    )
    for one in asked:
        run = tilewise(*one)
        assert run.code == 1
        assert (run.out + run.err).count(SAID) == 1
        assert "note" not in tilewise(*one, "--json").json
    hint = tilewise(*asked[1], "--json").json["hint"]
    assert hint == NOTE


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Swizzle<3,4,3> o S[(64, 1024) : (1024, 1)]", ("--dtype", "b1")),
        ("S<3,4,3> o 0 o (128,256):(256,1)", ("--dtype", "e2m1", "--engine", "tcgen05", "--kind", "mxf4")),
    ],
)
def test_match_tells_bytes_among_elements_of_less_than_a_byte(text, asked, tilewise):
    said = tilewise("match", text, "--operand", "A", *asked, "--json").json
    assert [reason["rule"] for reason in said["reasons"]] == ["swizzle-unit"]
    assert said["reason"].endswith("on bytes it is that of 128B mode, in which the tile is read")


@pytest.mark.parametrize("unit", ["element", "byte"])
def test_elements_in_a_byte_each_are_read_and_not_noted(unit, tilewise):
    asked = ("--operand", "A", "--dtype", "e2m1", "--engine", "tcgen05")
    run = tilewise("match", "Swizzle<3,4,3> o S[(128, 128) : (128, 1)]", *asked, "--unit", unit)
    assert (run.code, run.err) == (0, "")


def test_a_document_says_its_unit_and_is_not_noted(tilewise):
    document = tilewise("say", DSL, "--as", "json").out
    assert noted(tilewise, "info", document, "--dtype", "f16") == ""


POINTER = "smem_ptr[16b](0x7f8f00000c00)"


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        (f"{POINTER} o (64,256):(_1,64)", "S[(64, 256) : (1, 64)]"),
        (f"Sw<3,4,3>_{POINTER} o (8,64):(64,1)", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"),
        (f"{POINTER} o Sw<3,3,3> o _0 o (8,64):(64,1)", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"),
        (f"Sw<3,4,3>_{POINTER} o 64 o (8,64):(64,1)", "Swizzle<3,3,3> o (S[(8, 64) : (64, 1)] + 64)"),
    ],
)
def test_the_address_of_a_pointer_is_no_offset(printed, meant, tilewise):
    assert tilewise("say", printed, "--as", "tilewise").out == f"{meant}\n"
    assert noted(tilewise, "say", printed) == ""


def test_bytes_of_banks_begin_at_the_tile_not_at_its_address(tilewise):
    about = ("--dtype", "f16", "--access", "ldmatrix.x4")
    assert (
        tilewise("banks", f"{POINTER} o (64,256):(_1,64)", *about).out
        == tilewise("banks", "(64,256):(_1,64)", *about).out
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("0x7f8f00000c00", ""),
        ("0x7f8f00000c80", "0x7f8f00000c80 is 128 bytes past a multiple of 1024"),
        ("640", "0x280 is 640 bytes past a multiple of 1024"),
        ("unset", ""),
    ],
)
def test_an_address_inside_the_pattern_of_the_swizzle_is_noted(address, said, tilewise):
    note = noted(tilewise, "info", f"Sw<3,4,3>_smem_ptr[16b]({address}) o (8,64):(64,1)")
    assert said in note if said else not note
    for after in ("", "Sw<3,3,3> o _0 o "):  # a swizzle after the pointer counts from it
        assert not noted(tilewise, "info", f"smem_ptr[16b]({address}) o {after}(8,64):(64,1)")


def test_the_offset_of_that_note_is_what_the_hardware_does(tilewise):
    """The swizzle acts on the bytes of the address: each element is held against that definition."""
    from tilewise import Swizzle, parse

    address, of_bytes = 0x7F8F00000C80, Swizzle(3, 4, 3)
    note = noted(tilewise, "info", f"Sw<3,4,3>_smem_ptr[16b]({address:#x}) o (8,64):(64,1)")
    assert "64 o" in note
    layout = parse("Sw<3,4,3> o smem_ptr[16b](unset) o 64 o (8,64):(64,1)")
    begins = address - address % of_bytes.period
    for i in range(8):
        for j in range(64):
            assert of_bytes(address + 2 * (64 * i + j)) == begins + 2 * layout.place(i, j)["m"]


@pytest.mark.parametrize("command", ["banks", "info", "match", "agree", "code"])
def test_a_pointer_to_elements_of_another_width_is_noted(command, tilewise):
    text = DSL.replace("S<3,4,3> o 0", "Sw<3,4,3> o smem_ptr[32b](unset)")
    note = noted(tilewise, *words(command, text))
    assert "the pointer is to elements of 32 bits, and f16 has 16" in note


@pytest.mark.parametrize("command", ["tma", "swizzle", "banks", "match"])
def test_a_named_mode_has_the_type_of_the_option(command, tilewise):
    named, meant = (words(command, f"{mode} o S[128, 64]") for mode in ("SWIZZLE_128B", "Swizzle<3,3,3>"))
    assert tilewise(*named) == tilewise(*meant)
