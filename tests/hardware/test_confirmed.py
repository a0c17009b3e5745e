"""The confirmations of each instance: the table, its instances, and their count."""

import json
import re
import sys
from pathlib import Path

import pytest
from tools.record import table_text

from tilewise.cli.main import main
from tilewise.gpu.verify.parts import PARTS
from tilewise.hardware.catalog import Built, Entry, Parameter, entries
from tilewise.hardware.catalog.confirmed import (
    checked,
    confirmations,
    confirmed_by,
    grouped,
    spelled_out,
)
from tilewise.hardware.catalog.counts import KINDS, count_of, counts, kind_of, total, ways_of
from tilewise.hardware.catalog.instances import instance_of, instances_of
from tilewise.hardware.sources import PTX_SHAPES

EVERY = [*entries()]
PAGE = Path(__file__).parents[2] / "docs" / "confirmed.md"

# -- the table -------------------------------------------------------------------------------------


def test_the_table_is_written_as_it_would_be_written():
    file = Path(sys.modules["tilewise.hardware.catalog.confirmed"].__file__).with_name("confirmed.json")
    assert file.read_text() == table_text(confirmations())


@pytest.mark.parametrize(
    "instances",
    [
        [],
        ["f16"],
        ["m8n8k4 f64", "m8n8k4 f16", "m16n8k8 f16"],
        ["x1", "x1 trans", "x2"],
        ["a b c", "a b d", "a c"],
    ],
)
def test_lists_of_instances_are_read_as_they_are_written(instances):
    assert spelled_out(grouped(instances)) == frozenset(instances)


def test_a_table_with_instances_is_read_as_it_is_written():
    table = checked(
        {"toy.a": ["document"], "toy.b": {"document": "all", "device: X": ["a: b c"], "oracle: Y": []}}
    )
    assert table["toy.b"]["device: X"] == {"a b", "a c"}
    assert checked(json.loads(table_text(table))) == table


@pytest.mark.parametrize("name", EVERY)
def test_only_instances_that_there_are_are_confirmed(name):
    there = instances_of(entries()[name])
    for way, those in confirmations()[name].items():
        assert (those or set()) <= there.keys(), way
        assert those is None or those, f"{way} confirms nothing"
    assert confirmations()[name]["document"] is None


def test_only_instances_that_there_are_are_asked_of_a_device():
    asked = {word.partition(" ")[::2] for part in PARTS.values() for word in part.confirms}
    for name in {name for name, instance in asked if instance}:
        there = instances_of(entries()[name])
        assert {instance for entry, instance in asked if entry == name and instance} <= there.keys()


def test_the_assembler_confirms_what_there_is_and_not_where_it_lies():
    for name, ways in confirmations().items():
        entry = entries()[name]
        assert not ways.keys() & {"oracle: ptxas", "oracle: LLVM"} or entry(**entry.example).layout is None


# -- instances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_instances_have_names_of_their_own(name):
    entry = entries()[name]
    found = instances_of(entry)
    assert found
    for instance, values in found.items():
        assert instance_of(entry, values) == instance
        assert entry.bind(named={key: value for key, value in values.items() if value is not None}) == values
    assert instance_of(entry, entry.bind(named=entry.example)) in found


def toy(**changes):
    width = Parameter("width", "how wide", legal=(8, 16), number=True)
    fields = {
        "name": "toy.row",
        "summary": "a row",
        "parameters": (width, Parameter("turned", "backwards", flag=True)),
        "source": PTX_SHAPES,
        "build": lambda width, turned: Built(None),
        "example": {"width": 8},
    }
    return Entry(**(fields | changes))


def test_flags_and_numbers_in_the_name_of_an_instance():
    assert [*instances_of(toy())] == ["8", "8 turned", "16", "16 turned"]
    assert [*instances_of(toy(listed=lambda: [{"width": 8, "turned": t} for t in (False, True)]))] == [
        "",
        "turned",
    ]


# -- how each is confirmed, and the count ----------------------------------------------------------


@pytest.mark.parametrize(
    ("ways", "kind"),
    [
        (("document",), "document_alone"),
        (("document", "oracle: A"), "one_oracle"),
        (("document", "oracle: A", "oracle: B"), "two_oracles"),
        (("document", "oracle: A", "oracle: A too"), "one_oracle"),
        (("document", "oracle: A", "device: X"), "device"),
    ],
)
def test_the_strongest_counts(ways, kind):
    assert kind_of(ways) == kind


@pytest.fixture
def toy_table(monkeypatch):
    table = checked({"toy.row": {"document": "all", "device: X": ["8"], "oracle: Y": ["8: turned", "8 16"]}})
    monkeypatch.setattr("tilewise.hardware.catalog.confirmed.confirmations", lambda: table)


@pytest.mark.usefixtures("toy_table")
def test_each_instance_says_its_own_ways():
    assert confirmed_by("toy.row", "8") == ("document", "device: X", "oracle: Y")
    assert confirmed_by("toy.row", "8 turned") == ("document", "oracle: Y")
    assert confirmed_by("toy.row", "16 turned") == ("document",)
    assert confirmed_by("toy.row") == ("document", "device: X", "oracle: Y")
    assert confirmed_by("toy.rows") == ()
    counted = count_of(toy())
    assert counted.data() == {
        "entry": "toy.row",
        "instances": 4,
        "device": 1,
        "two_oracles": 0,
        "one_oracle": 2,
        "document_alone": 1,
        "alone": ["16: turned"],
    }
    assert ways_of(toy()) == {"document": 4, "device: X": 1, "oracle: Y": 3}


@pytest.mark.usefixtures("toy_table")
def test_what_no_device_can_be_asked_is_not_counted_as_if():
    entry = toy(build=lambda width, turned: Built(None, measurable=False))
    assert count_of(entry).data()["device"] == 0


def test_every_entry_is_counted_once():
    assert [count.name for count in counts()] == EVERY
    for count in counts():
        assert count.instances == len(instances_of(entries()[count.name])) == sum(count.kinds.values())
    assert total(counts()).instances == sum(count.instances for count in counts())


def test_the_document_is_alone_where_nothing_else_was_found():
    """As the page on it says: else there is a device, or another implementation."""
    alone = {count.name: count.alone for count in counts() if count.alone}
    assert alone.keys() == {"wgmma.figure", "mma.SFA", "mma.SFB", *_ALONE_OF_TCGEN05, *_ALONE_OF_MARLIN}
    for name, nobody_says in (_ALONE_OF_TCGEN05 | _ALONE_OF_MARLIN).items():
        there = instances_of(entries()[name])
        assert {*alone[name]} == {instance for instance, values in there.items() if nobody_says(values)}
    for name in ("mma.SFA", "mma.SFB"):
        there = instances_of(entries()[name])
        for values in (there[instance] for instance in alone[name]):
            selected = values["byte"] or values["thread"]
            nobody_has = values["kind"] == "mxf4" and values["sparse"]
            nobody_has |= values["scale"] == "4X" and values["dtype"] == "ue8m0"
            assert selected or nobody_has, values


def _pair_of_128(values):
    return (values["m"], values["cta_group"]) == (128, 2)


def _nobody_has_d(values):
    """D of 32 bits TIRx has for every data path; of f16 CuTe has none of sparse `.ws`, and B instead of C."""
    return values["dtype"] == "f16" and values["sparse"] and (values["ws"] or _pair_of_128(values))


def _nobody_has_a(values):
    """Nobody's has half of K, or a byte for 4 and 6 bits; of `.ws` there is TIRx's with M = 64 alone."""
    in_bytes = values["dtype"] in ("e2m1", "e2m3", "e3m2") and values["kind"] not in ("mxf4", "mxf4nvf4")
    return values["sparse"] or (values["ws"] and values["m"] != 64) or in_bytes


def _nobody_has_e(values):
    """CuTe's has 128 rows of a CTA; fewer of `.ws` alone, and there it is the document itself."""
    return values["m"] < 128 * values["cta_group"]


def _nobody_has_shapes(values):
    """CuTe has the shapes of dense `.ws`, and fewer of sparse f8f6f4."""
    return values["sparse"] and (values["ws"] or values["kind"] == "f8f6f4")


_ALONE_OF_TCGEN05 = {
    "tcgen05.figure": lambda values: True,
    "tcgen05.D": _nobody_has_d,
    "tcgen05.A": _nobody_has_a,
    "tcgen05.E": _nobody_has_e,
    "tcgen05.sfb": _pair_of_128,
    "tcgen05.shapes": _nobody_has_shapes,
}
"""{entry: whether no other project says the same of an instance}; of sfb CuTe is the document."""


_ALONE_OF_MARLIN = {
    "marlin.weight": lambda values: (values["bits"], values["a_bits"]) != (4, 16),
    "marlin.scale": lambda values: values["a_bits"] == 8,
    "marlin.zero": lambda values: True,
}
"""Marlin itself has weights of 4 bits with A of 16, and no zeros: of the others vLLM is the document."""


# -- on the command line ---------------------------------------------------------------------------


def answered(capsys, *words):
    code = main(["catalog", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_count_on_the_command_line(capsys):
    code, data = answered(capsys, "--confirmed")
    assert code == 0
    assert [row["entry"] for row in data["entries"]] == EVERY
    assert data["total"] == {"instances": total(counts()).instances} | {
        kind: sum(row[kind] for row in data["entries"]) for kind in KINDS
    }
    _, one = answered(capsys, "mma.A", "--confirmed")
    assert [row["entry"] for row in one["entries"]] == ["mma.A"]
    assert main(["catalog", "--confirmed"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["entry", "instances", *" ".join(KINDS).replace("_", " ").split()]
    assert [row.split()[0] for row in rows] == [*EVERY, "all"]


def test_the_page_counts_the_same(capsys):
    """Each row of the page names its families: the first words of their entries."""
    _, data = answered(capsys, "--confirmed")
    head, page = "| entries | instances | device |", PAGE.read_text(encoding="utf-8")
    _, _, *lines = page[page.index(head) :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    named = [(re.findall(r"`(\w+)`", row[0]), [int(cell) for cell in row[1:]]) for row in rows]
    families = [one["entry"].split(".")[0] for one in data["entries"]]
    assert sorted(name for names, _ in named for name in names) == sorted({*families})
    for names, found in named:
        some = [row for row, family in zip(data["entries"], families, strict=True) if family in names]
        assert found == [sum(row[kind] for row in some or [data["total"]]) for kind in ("instances", *KINDS)]
    assert sum(not names for names, _ in named) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--confirmed", "nonsense"], 1),
        (["--confirmed", "mma.Z"], 2),
        (["--confirmed", "mma.A", "--at", "0,0"], 2),
    ],
)
def test_what_cannot_be_counted(capsys, words, code):
    found, data = answered(capsys, *words)
    assert found == code
    assert data.get("reason") or data["error"]["message"]


def test_an_instance_says_its_own_ways_on_the_command_line(capsys):
    _, data = answered(capsys, "mma.A", "--shape", "m16n8k32", "--dtype", "e2m1")
    assert data["confirmed"] == ["document", "oracle: CuTe", "oracle: CuTe DSL"]
    _, data = answered(capsys, "mma.A(m16n8k32, s8)")
    assert data["confirmed"] == ["document", "oracle: CuTe", "oracle: Triton", "device: H200"]


def test_an_entry_says_how_many_of_its_instances_each_way_confirms(capsys):
    _, data = answered(capsys, "mma.A")
    assert (
        data["instances"]["count"] == data["instances"]["document"] == len(instances_of(entries()["mma.A"]))
    )
    assert (
        0
        < data["instances"]["oracle: Triton"]
        < data["instances"]["device: H200"]
        < data["instances"]["count"]
    )
    assert main(["catalog", "mma.A"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    ways = data["instances"]
    assert f"device: H200 ({ways['device: H200']} of {ways['count']})" in last
