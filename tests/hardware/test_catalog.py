"""The catalogue: it checks itself, is searched, says its sources, and takes new engines as they are."""

import io
import json
from dataclasses import replace
from itertools import product

import pytest
from tests.interpreter import said

from tilewise import LayoutError, Refused, S, laneid, parse, reg
from tilewise.cli.main import main
from tilewise.core.dtypes import DType
from tilewise.hardware.catalog import Built, Entry, Parameter, Registry, entries, find, search
from tilewise.hardware.catalog.confirmed import checked, confirmations
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.catalog.places import position_of
from tilewise.hardware.catalog.registry import ENGINES
from tilewise.hardware.catalog.sheet import sheet_of, summary_of
from tilewise.hardware.sources import PTX_SHAPES, Source

# -- entries ---------------------------------------------------------------------------------------


def test_every_entry_gives_its_example_and_is_confirmed():
    assert len(entries()) >= 7
    for name, entry in entries().items():
        values = entry.bind(named=entry.example)
        built = entry(**entry.example)
        assert (built.layout is None) == ("layout" not in entry.words.split())
        sheet = sheet_of(entry, values, built)
        assert json.loads(json.dumps(sheet)) == sheet
        assert sheet["source"]["url"].startswith("https://")
        assert "document" in sheet["confirmed"]
        assert find(name) is entry
        assert json.dumps(summary_of(entry))


def test_dtype_of_an_entry_is_the_type_that_it_lays_out():
    """One word means one thing in every family; metadata alone goes by the type of its A."""
    of_a, told = {"mma.E"}, set()
    for entry in entries().values():
        for values in instances_of(entry).values():
            built = entry.build(**values)
            if built.layout is not None and values.get("dtype") is not None:
                told.add(entry.name)
                own = {values["dtype"], "b8"}  # in which types of 6 and 4 bits lie
                assert (built.dtype is not None and built.dtype.name in own) == (entry.name not in of_a)
    assert told > {f"{family}.{operand}" for family in ("mma", "mfma") for operand in "ABCD"} | of_a
    assert told > {"wgmma.A", "wgmma.D", "wgmma.smem", "tcgen05.A", "tcgen05.D", "tcgen05.smem"}


def test_every_source_is_cited_with_a_section():
    for entry in entries().values():
        assert entry.source.document
        assert entry.source.section
        assert "#" in entry.source.url or entry.source.url.endswith(".pdf")


WIDTH = Parameter("width", "how wide", legal=(8, 16), number=True)
TURNED = Parameter("turned", "the other way round", flag=True)


def entry(**changes):
    fields = {
        "name": "toy.row",
        "summary": "a row",
        "parameters": (WIDTH,),
        "source": PTX_SHAPES,
        "build": lambda width: Built(S[width:1], {}, DType.of("f16")),
        "example": {"width": 8},
        "words": "layout",
    }
    return Entry(**(fields | changes))


@pytest.fixture
def toy_is_confirmed(monkeypatch):
    monkeypatch.setattr(
        "tilewise.hardware.catalog.entry.confirmed_by",
        lambda name, instance=None: ("document", "device: H200"),
    )


@pytest.mark.usefixtures("toy_is_confirmed")
def test_another_engine_is_data_and_one_function():
    toys = Registry([entry(), entry(name="toy.column")], {"toy.gone": "it went"})
    assert [*toys] == ["toy.row", "toy.column"]
    assert toys.find("toy.row")(16).layout == S[16:1]
    assert toys.find("toy.row").call == "toy.row(8)"
    assert toys.search(["column"]) == [toys["toy.column"]]
    with pytest.raises(Refused, match="it went"):
        toys.find("toy.gone.far")


@pytest.fixture
def row(monkeypatch, toy_is_confirmed):
    """An entry without a dot and with a flag, in a catalogue of its own."""
    made = entry(
        name="row",
        parameters=(WIDTH, TURNED),
        build=lambda width, turned: Built(S[width : -1 if turned else 1], {}, DType.of("f16")),
    )
    toys = Registry([made, entry(name="row.far")])
    monkeypatch.setattr("tilewise.hardware.catalog.entries", lambda: toys)
    monkeypatch.setattr("tilewise.hardware.catalog.find", toys.find)
    monkeypatch.setattr("tilewise.hardware.catalog.knowing", lambda words: toys)
    monkeypatch.setattr("tilewise.hardware.catalog.search", lambda *words: toys.search(words))
    return made


@pytest.mark.parametrize("given", [True, 1, "1", "true", "turned", "YES"])
def test_a_flag_is_given(row, given):
    assert row(8, given) == row(8, turned=given) == row(8, True)
    assert row(8, given).layout == S[8:-1]
    assert row.spelled(row.bind((8, given))) == "row(8, turned)"


@pytest.mark.parametrize("given", [False, 0, "0", "False", "no"])
def test_a_flag_is_not_given(row, given):
    assert row(8, given) == row(8)
    assert row(8).layout == S[8:1]
    assert row.spelled(row.bind((8, given))) == row.call == "row(8)"


@pytest.mark.usefixtures("row")
@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("row(8)", 1),
        ("row(8, turned)", -1),
        ("row(width=8, turned)", -1),
        ("row(8, turned=1)", -1),
        ("row(8, turned=0)", 1),
        ("row(8, 1)", -1),
    ],
)
def test_a_flag_in_a_call(text, step):
    assert parse(text) == S[8:step]


@pytest.mark.usefixtures("row")
@pytest.mark.parametrize(
    ("text", "said", "under"),
    [
        ("row(8, turned, turned)", "given twice", "turned"),
        ("row(8, turned=1, turned)", "given twice", "turned"),
        ("row(8, turned, turned=1)", "given twice", "turned=1"),
        ("row(8, turned=2)", "given or not, and '2' says neither", "turned=2"),
        ("row(turned, 8)", "without a name", "8"),
        ("row(8, turnd)", "given or not, and 'turnd' says neither", "turnd"),
    ],
)
def test_a_flag_that_is_wrong_has_carets(text, said, under):
    with pytest.raises(LayoutError, match=said) as error:
        parse(text)
    start, end = error.value.span
    assert text[start:end] == under


@pytest.mark.usefixtures("row")
def test_an_entry_without_a_dot_on_the_command_line(capsys):
    code, data = asked(capsys, "row", "--width", "8", "--turned")
    assert (code, data["call"], data["layout"]) == (0, "row(8, turned)", "S[8 : -1]")
    assert data["parameters"] == {"width": 8, "turned": True}
    code, data = asked(capsys, "row", "--turned")
    assert (code, data["error"]["hint"]) == (2, "row(width, [turned])")
    code, data = asked(capsys, "row")
    assert (code, data["parameters"][1]["legal"]) == (0, [False, True])
    assert main(["catalog", "row"]) == 0
    assert "--turned  the other way round\n" in capsys.readouterr().out
    code, data = asked(capsys, "rwo")
    assert (code, data["hint"]) == (1, "did you mean row?")
    code, data = asked(capsys, "rwo", "--width", "8")
    assert (code, data["error"]["hint"]) == (2, "did you mean row?")
    code, data = asked(capsys, "far")
    assert [found["entry"] for found in data["entries"]] == ["row.far"]


@pytest.mark.usefixtures("toy_is_confirmed")
def test_what_no_device_can_be_asked_is_not_confirmed_by_one():
    toy = entry()
    assert toy.confirmed_for(toy(8)) == ("document", "device: H200")
    assert toy.confirmed_for(replace(toy(8), measurable=False)) == ("document",)


def test_an_oracle_of_the_documents_own_project_confirms_nothing(monkeypatch):
    ways = ("document", "oracle: CuTe", "oracle: CuTe DSL", "oracle: TIRx")
    monkeypatch.setattr("tilewise.hardware.catalog.entry.confirmed_by", lambda name, instance=None: ways)
    toy = entry()
    assert toy.confirmed_for(toy(8)) == ways
    theirs = replace(toy(8), source=Source("CUTLASS", "a header", "https://example.org"))
    assert toy.confirmed_for(theirs) == ("document", "oracle: TIRx")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "toy."},
        {"name": "toy.2"},
        {"name": "Toy.row"},
        {"summary": ""},
        {"parameters": (WIDTH, WIDTH)},
    ],
)
def test_an_entry_that_does_not_hold_together_is_not_made(changes):
    with pytest.raises(ValueError, match="does not hold together"):
        entry(**changes)


@pytest.mark.parametrize("engine", sorted({*ENGINES.values()}))
def test_no_example_is_built_before_it_is_asked_for(engine):
    """In an interpreter of its own; what all of them give is the first test here."""
    program = (
        "import sys; from importlib import import_module; from tilewise.hardware.catalog.entry import Entry; "
        "bound = []; bind = Entry.bind; "
        "Entry.bind = lambda self, *given, **named: bound.append(self.name) or bind(self, *given, **named); "
        f"import_module({engine!r}); "
        "print(len(bound))"
    )
    assert said(program).split() == ["0"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "a b", "meaning": "m", "legal": ("x",)},
        {"name": "a", "meaning": "", "legal": ("x",)},
        {"name": "a", "meaning": "m"},
        {"name": "a", "meaning": "m", "legal": ("x",), "default": "y"},
    ],
    ids=str,
)
def test_a_parameter_that_says_nothing_is_not_made(fields):
    with pytest.raises(ValueError, match=r"."):
        Parameter(**fields)


def test_an_entry_stands_once_and_is_confirmed():
    d = find("wgmma.D")
    with pytest.raises(ValueError, match="twice"):
        Registry([d, d])
    with pytest.raises(ValueError, match="twice"):
        Registry([d], {"wgmma.D": "no"})
    with pytest.raises(ValueError, match="confirmed by nothing"):
        Registry([entry()])


def test_confirmations_are_of_entries_and_in_known_words(monkeypatch):
    assert confirmations().keys() == entries().keys()
    assert [*checked({"a": ["document", "device: H200", "oracle: CUTLASS"]})["a"]][1] == "device: H200"
    for way in ("hearsay", "device:", "device: ", "Document", "oracle"):
        with pytest.raises(ValueError, match="is confirmed by"):
            checked({"a": [way]})
    monkeypatch.setattr(
        "tilewise.hardware.catalog.registry.confirmations", lambda: {"wgmma.Z": ("document",)}
    )
    with pytest.raises(ValueError, match=r"wgmma\.Z stands in a table"):
        entries.__wrapped__()


# -- where elements are ----------------------------------------------------------------------------

LANES = S[(8, 8) : (4 @ laneid, 1 @ reg)]


def test_a_warp_is_told_by_its_lanes():
    here = position_of(Built(LANES, {}, DType.of("f16"), "a"), (3, 5))
    assert str(here) == "(3, 5) -> lane 12, register 2, bits 16..31: a5"
    assert here.as_json()["thread"] == here.thread == 12


def test_an_element_of_64_bits_is_in_two_registers():
    here = position_of(Built(LANES, {}, DType.of("f64"), "a"), (3, 5))
    assert str(here) == "(3, 5) -> lane 12, registers 10..11, bits 0..63: a5"
    assert (here.as_json()["register"], here.as_json()["bits"]) == (10, [0, 63])


def test_an_element_may_take_more_bits_than_it_has():
    here = position_of(Built(LANES, {}, DType.of("e2m1"), "a", held=(8, 2)), (3, 5))
    assert str(here) == "(3, 5) -> lane 12, register 1, bits 10..13: a5"


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given", "named", "code", "said"),
    [
        ("wgmma.D", (), {"dtype": "f32"}, "TW601", "needs n"),
        ("wgmma.D", ("f32", 64, 1), {}, "TW601", "2 parameters"),
        ("wgmma.D", ("f32",), {"dtype": "f16", "n": 8}, "TW601", "twice"),
        ("wgmma.D", ("f32",), {"m": 8}, "TW601", "no parameter m"),
        ("wgmma.D", ("f32", "8.0"), {}, "TW101", "a number"),
        ("wgmma.D", ("f32", True), {}, "TW101", "a number, not True"),
        ("wgmma.D", ("floaty", 8), {}, "TW105", "unknown dtype"),
        ("wgmma.figure", (171,), {}, "TW601", "figure 171 is not in the catalogue"),
        ("wgmma.atom", ("128B", "row", "f16"), {}, "TW601", "no major"),
        ("wgmma.atom", ("128", "k", "f6"), {}, "TW105", "f6"),
        ("wgmma.smem", ("C", "k", "128B", "bf16", 64, 64), {}, "TW601", "no operand"),
    ],
)
def test_values_that_are_not_understood(name, given, named, code, said):
    with pytest.raises(LayoutError) as error:
        find(name)(*given, **named)
    assert error.value.code == code
    assert said in error.value.message
    assert not isinstance(error.value, Refused)


def test_values_have_other_spellings():
    assert find("wgmma.atom")("SWIZZLE_128B", "K", "bfloat16") == find("wgmma.atom")("128B", "k", "bf16")
    assert find("wgmma.D")("float32", "0x40").layout == find("wgmma.D")("f32", 64).layout


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["fragment"], ["wgmma.A", "wgmma.D"]),
        (["FRAGMENT", "accumulator", "n"], ["wgmma.D"]),
        (["128B"], ["wgmma.smem", "wgmma.atom", "wgmma.canonical"]),
        (["Table", "38"], ["wgmma.atom"]),
        (["zebra"], []),
    ],
)
def test_search(words, names):
    assert [entry.name for entry in search(*words) if entry.engine == "wgmma"] == names


# -- wgmma.shapes ----------------------------------------------------------------------------------

EVERY_8 = list(range(8, 257, 8))
SOME = [*range(8, 33, 8), *range(48, 257, 16)]  # 8i for i = 1..4, 16i for i = 3..16, as the manual has it


@pytest.mark.parametrize(
    ("dtype", "k", "n", "accumulators", "majors"),
    [
        ("f16", 16, EVERY_8, ["f16", "f32"], ["k", "mn"]),
        ("bf16", 16, EVERY_8, ["f32"], ["k", "mn"]),
        ("tf32", 8, EVERY_8, ["f32"], ["k"]),
        ("e4m3", 32, EVERY_8, ["f16", "f32"], ["k"]),
        ("e5m2", 32, EVERY_8, ["f16", "f32"], ["k"]),
        ("s8", 32, SOME, ["s32"], ["k"]),
        ("u8", 32, SOME, ["s32"], ["k"]),
        ("b1", 256, SOME, ["s32"], ["k"]),
    ],
)
def test_the_shapes_of_the_manual(dtype, k, n, accumulators, majors):
    facts = find("wgmma.shapes")(dtype).facts
    assert (facts["k"], facts["n"]) == (k, n)
    assert (facts["accumulators"], facts["majors"]) == (accumulators, majors)
    assert sorted(facts["n"] + facts["illegal"]) == EVERY_8
    for asked in range(300):
        if asked in n:
            assert find("wgmma.shapes")(dtype, asked).facts["n"] == asked
        else:
            with pytest.raises(Refused, match=f"m64n{asked}k{k} does not exist for {dtype}"):
                find("wgmma.shapes")(dtype, asked)


# -- the command -----------------------------------------------------------------------------------


def asked(capsys, *words):
    """(exit code, JSON) of a command."""
    code = main(["catalog", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_issues_example(capsys):
    code, data = asked(capsys, "wgmma.D", "--dtype", "f32", "--n", "64")
    assert code == 0
    layout = "S[((4, 2, 8), (8, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"
    wanted = {"schema": 1, "entry": "wgmma.D", "shape": [64, 64], "layout": layout}
    assert wanted.items() <= data.items()
    assert data["source"]["document"] == "PTX ISA"
    assert data["confirmed"][0] == "document"
    assert data["parameters"] == {"dtype": "f32", "n": 64}
    assert data["call"] == "wgmma.D(f32, n=64)"


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (["wgmma.A", "--dtype", "f16"], "wgmma.A(f16)"),
        (
            "wgmma.smem --operand B --major mn --mode 32B --dtype f16 --rows 64 --k 32".split(),
            "wgmma.smem(B, major=mn, mode=32B, dtype=f16, rows=64, k=32)",
        ),
        (["wgmma.figure", "--number", "170"], "wgmma.figure(170)"),
        (["wgmma.figure(170)"], "wgmma.figure(170)"),
        (["wgmma.D(f32)", "--n", "16"], "wgmma.D(f32, n=16)"),
        ("wgmma.canonical --mode none --major k --dtype tf32 --k 3".split(), None),
    ],
)
def test_options_and_calls_are_one(capsys, words, call):
    code, data = asked(capsys, *words)
    assert code == 0
    if call:
        assert data["call"] == call
    assert asked(capsys, data["call"]) == (0, data)
    assert main(["say", data["call"], "--as", "tilewise"]) == 0
    assert capsys.readouterr().out.strip() == data["layout"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("wgmma.shapes --dtype s8 --n 40", "m64n40k32 does not exist for s8"),
        ("wgmma.D --dtype s32 --n 40", "no wgmma has N = 40 with s32 accumulators"),
        ("wgmma.D --dtype s8 --n 40", "wgmma does not accumulate in s8"),
        ("wgmma.A --dtype f64", "wgmma does not multiply f64"),
        ("wgmma.sp", "sparse wgmma"),
        ("wgmma.B --dtype f16", "a wgmma never has B in registers"),
        ("wgmma.C", "a wgmma has no C"),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;",
            "the catalogue has the operands of wgmma.mma_async: wgmma.D and wgmma.A in registers",
        ),
        ("wgmma.sp.A --dtype f16", "sparse wgmma"),
        ("wgmma.A.sp", "sparse wgmma"),
        ("zebra crossing", "no entry speaks of zebra crossing"),
        ("wgmma.D --dtype f32 --n 8 --who laneid=32", "nothing lives there"),
    ],
)
def test_what_the_hardware_has_not_is_a_no(capsys, words, reason):
    code, data = asked(capsys, *words.split())
    assert code == 1
    assert data["reason"].startswith(reason)
    assert data["witness"]


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        ("wgmma.d", "TW601", "did you mean wgmma.D?"),
        ("wgma.smem --rows 8", "TW601", "did you mean wgmma.smem?"),
        ("simdgroup.A", "TW601", "tilewise catalog lists the entries"),
        ("wgmma.D --dtype f32 --rows 64", "TW601", "it has dtype n"),
        ("wgmma.smem --operand B --order m", "TW601", "did you mean mn?"),
        ("wgmma.D --dtype f31 --n 64", "TW105", "did you mean f32?"),
        ("wgmma.D --dtype f32 --n many", "TW101", "such as n=64"),
        ("wgmma.D --dtype f32", "TW601", "wgmma.D(dtype, n)"),
        ("wgmma.D --dtpye f32", "TW401", "did you mean --dtype?"),
        ("fragment --n 8", "TW401", "such as wgmma.D"),
        ("wgmma.figure --number 155", "TW601", "148 to 155 are the fragments"),
        ("wgmma.figure --number 171", "TW601", "known: 156 to 170"),
        ("wgmma.D f32 64", "TW401", "as a call: 'wgmma.D(f32, 64)'"),
        ("wgmma.D(f32,n=64) --n 72", "TW601", "wgmma.D(dtype, n)"),
        ("wgmma.D(f32,n=N)", "TW007", "--let N=64"),
        ("wgmma.D(f32,n=N) --let N", "TW401", "such as --let M=4096"),
        ("wgmma.D(f32,n=64) --at 0,0 --who laneid=3", "TW401", ""),
        ("wgmma.shapes --dtype s8 --at 0,0", "TW601", ""),
        ("wgmma.shapes --dtype s8 --show", "TW401", ""),
        ("wgmma.D(f32 --n 8", "TW004", "close it"),
    ],
)
def test_what_is_not_understood(capsys, words, code, hint):
    exit_code, data = asked(capsys, *words.split())
    assert exit_code == 2
    assert data["error"]["code"] == code
    assert hint in data["error"]["hint"]


def test_names_have_values(capsys):
    code, data = asked(capsys, "wgmma.D(f32, n=N)", "--let", "N=64")
    assert (code, data["call"]) == (0, "wgmma.D(f32, n=64)")
    code, data = asked(capsys, *"wgmma.D --dtype f32 --n N --let N=72".split())
    assert (code, data["call"]) == (0, "wgmma.D(f32, n=72)")


def test_a_call_from_standard_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("wgmma.D(f32, n=64)\n"))
    code, data = asked(capsys, "-")
    assert (code, data["call"]) == (0, "wgmma.D(f32, n=64)")


@pytest.mark.parametrize("option", ["--at", "--who"])
def test_an_empty_place_is_not_passed_over(capsys, option):
    code, data = asked(capsys, "wgmma.D(f32, n=64)", option, "")
    assert (code, data["error"]["code"]) == (2, "TW004")


def test_a_call_has_carets_under_its_fault(capsys):
    assert main(["catalog", "wgmma.D(f32, n=x)"]) == 2
    assert "wgmma.D(f32, n=x)\n               ^^^" in capsys.readouterr().err


def test_the_list_and_the_search(capsys):
    code, data = asked(capsys)
    assert code == 0
    assert [row["entry"] for row in data["entries"]] == [*entries()]
    assert data["entries"][0]["parameters"][0]["name"] == "dtype"
    code, data = asked(capsys, "fragment")
    assert code == 0
    assert {"wgmma.A", "wgmma.D"} <= {row["entry"] for row in data["entries"]}
    assert asked(capsys, "shared memory") == asked(capsys, "shared", "memory")


def test_an_entry_alone_says_what_it_takes(capsys):
    code, data = asked(capsys, "wgmma.smem")
    assert code == 0
    by_name = {parameter["name"]: parameter for parameter in data["parameters"]}
    assert by_name["mode"]["legal"] == ["none", "32B", "64B", "128B"]
    assert by_name["order"] == {
        "name": "order",
        "meaning": "the direction in which atoms follow one another",
        "legal": ["mn", "k"],
        "rule": None,
        "default": "mn",
        "needed": False,
    }


def test_elements_and_places_both_ways(capsys):
    words = ["wgmma.D", "--dtype", "f16", "--n", "64"]
    _, data = asked(capsys, *words, "--at", "9,3")
    [there] = data["elements_at"]
    assert there == {
        "element": [9, 3],
        "place": {"wid_in_wg": 0, "laneid": 5, "reg": 3},
        "thread": 5,
        "name": "d3",
        "register": 1,
        "bits": [16, 31],
    }
    _, data = asked(capsys, *words, "--who", "wid_in_wg=0,laneid=5,reg=3")
    assert data["elements_at"] == [there]
    _, data = asked(capsys, *words, "--who", "laneid=5,wid_in_wg=0")
    assert len(data["elements_at"]) == 32
    _, data = asked(capsys, *words, "--who", "tid_in_wg=45")
    assert {(each["thread"], each["place"]["wid_in_wg"]) for each in data["elements_at"]} == {(45, 1)}
    assert len(data["elements_at"]) == 32


def test_the_next_command_reads_the_answer(capsys, monkeypatch):
    for call in ("wgmma.D(f32, n=64)", "wgmma.smem(B, k, 128B, bf16, 64, 64)"):
        assert main(["catalog", call, "--json"]) == 0
        monkeypatch.setattr("sys.stdin", io.StringIO(capsys.readouterr().out))
        assert main(["same", "-", call]) == 0
        assert capsys.readouterr().out == "the same map\n"


@pytest.mark.parametrize("major", ["k", "mn"])
@pytest.mark.parametrize("mode", ["none", "128B"])
def test_the_other_order_of_atoms_is_named_where_it_differs(capsys, major, mode):
    def strides(rows: int, k: int, order: str):
        call = f"wgmma.smem(B, {major}, {mode}, bf16, {rows}, {k}, order={order})"
        _, data = asked(capsys, call)
        return {"lbo": data["lbo"], "sbo": data["sbo"]}, data.get("otherwise")

    mn, in_mn = strides(128, 128, "mn")
    k, in_k = strides(128, 128, "k")
    assert mn != k
    assert (in_mn, in_k) == ({"order": "k", **k}, {"order": "mn", **mn})
    one = (64, 64) if (major, mode) == ("mn", "128B") else (8, 64) if major == "k" else (8, 16)
    assert strides(*one, "mn")[1] is None


def test_what_no_descriptor_and_no_block_holds_is_noted(capsys):
    small = asked(capsys, "wgmma.smem(B, k, none, bf16, 256, 448)")
    assert "notes" not in small[1]
    _, data = asked(capsys, "wgmma.smem(B, k, none, bf16, 16384, 64)")
    assert [note.split()[0] for note in data["notes"]] == ["LBO", "a"]
    _, data = asked(capsys, "wgmma.canonical(none, k, bf16, m=2048)")
    assert data["notes"] == ["LBO of 262144 bytes does not fit the descriptor's field, which ends at 262128"]
    _, data = asked(capsys, "wgmma.canonical(none, k, bf16, m=2047)")
    assert "notes" not in data
    for value in ("-16", "24", "262144"):
        code, data = asked(capsys, "wgmma.canonical(none, k, bf16)", f"--lbo={value}")
        assert (code, data["error"]["code"]) == (2, "TW604")


def test_places_with_too_many_elements_are_not_listed(capsys):
    words = ["wgmma.canonical", *"--mode none --major k --dtype bf16 --sbo 0".split()]
    _, data = asked(capsys, *words, "--m", "4096", "--who", "0")
    assert len(data["elements_at"]) == 4096
    code, data = asked(capsys, *words, "--m", "4097", "--who", "0")
    assert (code, data["error"]["code"]) == (2, "TW301")


def test_memory_is_told_in_bytes(capsys):
    words = "wgmma.smem --operand B --major k --mode 128B --dtype bf16 --rows 8 --k 64 --at 1,8".split()
    _, data = asked(capsys, *words)
    assert data["elements_at"] == [{"element": [1, 8], "place": {"m": 64}, "byte": 128, "bits": [0, 15]}]
    _, data = asked(capsys, *"wgmma.atom --mode none --major k --dtype e2m1 --at 0,3".split())
    assert data["elements_at"][0] | {"byte": 1, "bits": [4, 7]} == data["elements_at"][0]


def test_pictures(capsys):
    assert main(["catalog", "wgmma.atom(32B, k, b128)", "--show"]) == 0
    drawn = capsys.readouterr().out.splitlines()
    assert drawn[-4].split() == ["4", "9", "8"]
    _, data = asked(capsys, "wgmma.D(f32, 256)", "--show")
    assert len(data["picture"]["cells"]) == 16
    assert len(data["picture"]["cells"][0]) == 16


def test_every_call_of_every_fragment_is_read_by_other_commands(capsys):
    for dtype, n in product(("f16", "f32", "s32"), (8, 32, 256)):
        assert main(["at", f"wgmma.D({dtype}, n={n})", "63,7"]) == 0
    assert "31@laneid" in capsys.readouterr().out


@pytest.mark.parametrize("name", [3, None, ("wgmma.D",), ["wgmma.D"]])
def test_what_is_no_name_is_told(name):
    with pytest.raises(LayoutError, match="TW107: the name of an entry belongs here"):
        find(name)
