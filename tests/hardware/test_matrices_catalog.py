"""ldmatrix, stmatrix and movmatrix in the catalogue and on the command line."""

import json
from itertools import product
from pathlib import Path

import pytest
from tests.hardware.naive_matrices import ldmatrix
from tests.notation.conftest import golden  # noqa: F401 - a fixture

from tilewise import LayoutError, Refused, parse
from tilewise.cli.main import main
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.catalog.places import position_of
from tilewise.hardware.matrices.forms import Form, forms, seen_as, short

GOLDENS = Path(__file__).parent / "goldens"


def asked(capsys, *arguments):
    code = main(["catalog", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_x4_says_addresses_and_layout(capsys):
    code, data = asked(capsys, "ldmatrix", "--form", "x4")
    assert code == 0
    assert data["call"] == "ldmatrix(x4)"
    assert data["addresses"] == "S[(4, 8) : (8@laneid, 1@laneid)]"
    assert data["layout"] == "S[(4, 8, (4, 2)) : (2@reg, 4@laneid, (1@laneid, 1@reg))]"
    assert data["instruction"] == "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [address];"
    assert data["lanes"] == {"read": {"count": 32, "first": 0, "last": 31}, "unread": None}
    assert (data["alignment"], data["dtype"], data["registers"]["count"]) == (16, "b16", 4)
    assert data["architectures"] == "sm_75 and later"
    assert data["source"]["url"].endswith("#warp-level-matrix-instructions-ldmatrix")


def test_trans_is_a_flag(capsys):
    code, data = asked(capsys, "ldmatrix", "--form", "x4", "--trans")
    assert (code, data["call"]) == (0, "ldmatrix(x4, trans)")
    assert data["layout"] == "S[(4, (4, 2), 8) : (2@reg, (1@laneid, 1@reg), 4@laneid)]"
    assert parse("ldmatrix(x4, trans)") == parse(data["layout"])
    assert ".x4.trans.shared" in data["instruction"]


@pytest.mark.parametrize("form", forms(), ids=str)
def test_a_form_by_its_words_in_ptx(capsys, form):
    code, data = asked(capsys, *form.ptx.split(" "))
    assert (code, data["instruction"]) == (0, form.ptx)
    for spelled in (f"{form};", str(form).upper(), str(form).replace(".shared.", ".shared::cta.")):
        assert asked(capsys, spelled)[1] == data
    assert asked(capsys, f"{form.instruction}.{short(form)}")[1] == data


def test_movmatrix_by_its_words_in_ptx(capsys):
    by_words = asked(capsys, *"movmatrix.sync.aligned.m8n8.trans.b16 d, a;".split(" "))
    assert by_words == asked(capsys, "movmatrix()")
    assert by_words[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("ldmatrix.sync.aligned.m8n8.x3.shared.b16", 1, "ldmatrix moves no 3 matrices of m8n8 at once"),
        ("ldmatrix.sync.aligned.m8n8.shared.b16", 2, "is no form of ldmatrix"),
        ("stmatrix.sync.aligned.m16n8.x1.shared.b16", 1, "there is no stmatrix of m16n8 and b16"),
        ("movmatrix.sync.aligned.m8n8.b16", 2, "is no movmatrix"),
        ("ldmatrix.x\u0664", 2, "is no form of ldmatrix"),
    ],
)
def test_words_that_are_no_instruction(capsys, words, code, said):
    exit_code, data = asked(capsys, words)
    assert exit_code == code
    assert said in (data.get("reason") or data["error"]["message"])


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("ldmatrix.snyc.aligned.m8n8.x4.shared.b16", "did you mean sync? such as "),
        ("ldmatrix.aligned.m8n8.x4.tras.shared.b16", "did you mean trans? such as "),
        ("ldmatrx.sync.aligned.m8n8.x4.shared.b16", "did you mean ldmatrix?"),
        ("stmatrx.x4", "did you mean stmatrix?"),
        ("movmatrix.snyc.aligned.m8n8.trans.b16", "there is one: movmatrix.sync"),
        ("ldmatrix.form", "did you mean ldmatrix.forms?"),
    ],
)
def test_a_word_that_is_near_is_named(capsys, words, near):
    code, data = asked(capsys, words)
    assert (code, near in data["error"]["hint"]) == (2, True), data


def test_what_an_instruction_says_is_not_said_again(capsys):
    code, data = asked(capsys, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "--form", "x1")
    assert (code, data["error"]["message"]) == (2, "form is given twice")


def test_lanes_that_are_not_read_are_named(capsys):
    _, data = asked(capsys, "ldmatrix", "--form", "x1")
    assert data["lanes"]["unread"] == {"count": 24, "first": 8, "last": 31}
    assert any("sm_75 needs a valid address from every lane" in note for note in data["notes"])
    _, data = asked(capsys, "stmatrix", "--form", "x2")
    assert data["lanes"]["unread"] == {"count": 16, "first": 16, "last": 31}
    assert not any("sm_75" in note for note in data["notes"])


@pytest.mark.parametrize("name", ["ldmatrix", "stmatrix"])
def test_every_form_is_an_instance_with_its_layout(name):
    entry, found = find(name), set()
    for instance, values in instances_of(entry).items():
        built = entry.build(**values)
        form = Form.of(name, values["form"], values["trans"])
        assert built.layout == form.layout
        assert built.facts["addresses"] == str(form.addresses)
        assert built.facts["registers"]["count"] == form.registers
        assert parse(entry.spelled(values)) == form.layout
        assert instance == values["form"] + " trans" * form.trans
        found.add(form)
    assert found == set(forms(name))


@pytest.mark.parametrize("words", ["x1", "x4", "m8n16.x2.b6x16_p32", "m8n16.x1.b4x16_p64"])
def test_a_position_is_where_the_bits_come(words):
    """`--at` names the register and the bits in which the model finds what memory holds."""
    form, built = Form.of("ldmatrix", words), find("ldmatrix")(words)
    memory, addresses = bytes(range(256)) * 8, [16 * (31 - lane) for lane in range(32)]
    registers = ldmatrix(memory, addresses, form.count, form.trans, form.shape, form.type)
    for matrix, row, column in product(range(form.count), range(form.rows), range(form.columns)):
        position = position_of(built, (matrix, row, column))
        low, high = position.bits
        start = addresses[form.addresses.place(matrix, row)["laneid"]]
        first, last = form.stored_at(column)
        there = int.from_bytes(memory[start : start + 16], "little") >> first & (1 << last - first + 1) - 1
        held = registers[position.thread][position.register] >> low & (1 << high - low + 1) - 1
        assert held == there
        assert high - low + 1 == form.kind.stored


def test_other_types_in_the_rows(capsys):
    _, data = asked(capsys, "ldmatrix", "--form", "x1", "--dtype", "e4m3", "--at", "0,5,7")
    assert data["layout"] == str(seen_as(Form("ldmatrix", 1), "e4m3"))
    assert (data["shape"], data["row"]["elements"], data["registers"]["elements_each"]) == ([1, 8, 16], 16, 4)
    (at,) = data["elements_at"]
    assert (at["thread"], at["register"], at["bits"]) == (21, 0, [24, 31])
    code, data = asked(capsys, "ldmatrix", "--form", "x1", "--trans", "--dtype", "f32")
    assert (code, data["code"], data["witness"]["lanes"]) == (1, "TW602", [0, 4])


def test_padding_and_containers(capsys):
    _, data = asked(capsys, "ldmatrix", "--form", "m8n16.x4.b6x16_p32")
    assert data["row"] == {
        "bytes": 16,
        "elements": 16,
        "used_bytes": 12,
        "padding_bytes": 4,
        "container_bits": 8,
        "element_bits": {"count": 6, "first": 0, "last": 5},
    }
    assert data["dtype"] == "b6"
    _, data = asked(capsys, "ldmatrix", "--form", "m16n16.x1.b4x16_p64", "--trans", "--dtype", "e2m1")
    assert (data["row"]["used_bytes"], data["row"]["padding_bytes"], data["dtype"]) == (8, 8, "e2m1")
    assert any("shift left by 2" in note for note in data["notes"])


def test_movmatrix_says_from_and_to(capsys):
    code, data = asked(capsys, "movmatrix")
    assert code == 0
    before, after, source = (parse(data[key]) for key in ("from", "to", "comes_from"))
    assert parse(data["layout"]) == after
    for row, column in product(range(8), range(8)):
        now = after.place(row, column)
        assert source.place(now["laneid"], now["reg"]) == before.place(row, column)


@pytest.mark.parametrize(
    ("arguments", "reason", "hint"),
    [
        (["ldmatrix", "--form", "x4", "--arch", "sm_70"], "sm_70 has no ldmatrix", "sm_75 and later"),
        (["stmatrix", "--form", "x4", "--arch", "8.0"], "sm_80 has no stmatrix", "sm_90 and later"),
        (["movmatrix", "--arch", "sm_70"], "sm_70 has no movmatrix", "sm_75"),
        (["ldmatrix.forms", "--arch", "sm_70"], "sm_70 has no ldmatrix", "sm_75"),
        (["ldmatrix", "--form", "m16n16.x1.b8"], "as it lies", "always .trans"),
        (["ldmatrix", "--form", "m16n16.x1.b8", "--trans", "--arch", "sm_100"], "sm_100 has no", "sm_100f"),
        (["ldmatrix", "--form", "x3"], "no 3 matrices", "x1 x2 x4"),
        (["wmma.load"], "not documented", "lists"),
        (["wmma"], "not documented", "lists"),
    ],
    ids=["turing", "ampere", "mov", "forms", "plain", "suffix", "three", "load", "wmma"],
)
def test_what_there_is_not_is_a_no(capsys, arguments, reason, hint):
    code, data = asked(capsys, *arguments)
    assert code == 1
    assert reason in data["reason"]
    assert hint in data["hint"]
    assert data["witness"]


@pytest.mark.parametrize(
    ("form", "message"),
    [("x4.trans", "trans stands beside the form"), ("y4", "is no form"), ("m8n16.x1", "needs a type")],
)
def test_a_form_that_is_not_understood(capsys, form, message):
    code, data = asked(capsys, "ldmatrix", "--form", form)
    assert code == 2
    assert message in data["error"]["message"]
    assert data["error"]["hint"]


def test_a_form_is_read_from_the_whole_instruction(capsys):
    _, data = asked(capsys, "ldmatrix", "--form", "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    assert data["call"] == "ldmatrix(x4)"


def test_a_call_may_have_dots(capsys):
    call = "ldmatrix(m16n16.x2.b8, trans)"
    assert parse(call) == Form("ldmatrix", 2, True, "m16n16", "b8").layout
    _, data = asked(capsys, call)
    assert data["call"] == call
    with pytest.raises(LayoutError, match="is no form") as error:
        parse("ldmatrix(m16n16.y2.b8, trans)")
    start, end = error.value.span
    assert "ldmatrix(m16n16.y2.b8, trans)"[start:end] == "m16n16.y2.b8"
    with pytest.raises(Refused, match="as it lies"):
        parse("ldmatrix(form=m16n16.x2.b8)")


def test_three_modes_are_drawn(capsys):
    _, data = asked(capsys, "ldmatrix", "--form", "x2", "--show")
    assert len(data["picture"]["cells"]) == 16
    _, data = asked(capsys, "ldmatrix", "--form", "x4", "--show")
    assert len(data["picture"]["cells"]) == 16


@pytest.mark.parametrize(("arch", "counts"), [("sm_75", (6, None)), ("sm_90a", (6, 6)), ("sm_120f", (18, 9))])
def test_the_forms_of_an_architecture(arch, counts):
    for name, count in zip(("ldmatrix", "stmatrix"), counts, strict=True):
        if count is None:
            with pytest.raises(Refused, match=f"{arch} has no {name}"):
                find(f"{name}.forms")(arch)
        else:
            facts = find(f"{name}.forms")(arch).facts
            assert facts["count"] == len(facts["instructions"]) == count
            assert sum(len(row["forms"]) for row in facts["forms"]) == count


def test_every_form_as_text(golden):  # noqa: F811
    lines = []
    for form in forms():
        lines += [
            f"{form.instruction} {short(form)}: {form.ptx}",
            f"  addresses {form.addresses}; not read {list(form.unread)}",
            f"  layout    {form.layout}",
            f"  needs     {form.kind.needs}",
        ]
    golden(GOLDENS / "matrices.txt", "\n".join([*lines, ""]))
