"""`tilewise catalog`: what it imports for an answer, and that nothing of it is missed."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from tests.interpreter import said

from tilewise.cli.arguments import parser_for
from tilewise.cli.main import main
from tilewise.hardware.catalog import entries
from tilewise.hardware.catalog.registry import ENGINES

# -- what is imported ------------------------------------------------------------------------------

_IMPORTED = "import sys; from tilewise.cli.main import main; main({words!r});print(*sys.modules)"


def engines_of(*words: str) -> list[str]:
    """The engines whose entries are imported for an answer."""
    code = _IMPORTED.format(words=["catalog", *words])
    imported = said(code).splitlines()[-1].split()
    return sorted({module.split(".")[2] for module in ENGINES.values() if module in imported})


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        (["wgmma.D", "--n", "64", "--dtype", "f32"], "wgmma"),
        (["--n", "64", "wgmma.D", "--dtype=f32", "--at", "9,3"], "wgmma"),
        (["wgmma.D(f32, n=N)", "--let", "N=64"], "wgmma"),
        (["wgmma.smem"], "wgmma"),
        (["ldmatrix.x4"], "matrices"),
        (["tcgen05.D", "--m", "128", "--n", "64", "--dtype", "f32", "--cta-group", "1"], "tcgen05"),
    ],
)
def test_an_entry_imports_its_engine_alone(words, engine):
    assert engines_of(*words) == [engine]


def test_what_asks_for_all_imports_all():
    every = sorted({module.split(".")[2] for module in ENGINES.values()})
    for words in ([], ["fragment"], ["wgmma.d"], ["wgmma.D", "--confirmed"]):
        assert engines_of(*words) == every


# -- and nothing is missed -------------------------------------------------------------------------


def helped(capsys, *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(["catalog", *words])
    assert end.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", entries())
def test_the_help_of_an_entry_has_its_parameters_and_no_others(capsys, name):
    entry = entries()[name]
    said = helped(capsys, name, "--help")
    listed = said.partition("\nparameters:\n")[2].partition("\noptions:\n")[0]
    own = [f"--{parameter.name.replace('_', '-')}" for parameter in entry.parameters]
    assert re.findall(r"^  (--[\w-]+)", listed, re.MULTILINE) == own
    flowing = " ".join(listed.split())
    for parameter in entry.parameters:
        known = () if parameter.flag else parameter.legal or (parameter.rule,)
        assert " ".join([*map(str, known)]) in flowing
        assert parameter.flag or parameter.default is None or f"({parameter.default})" in flowing
    assert entry.summary in said
    assert f"tilewise catalog '{entry.call}'" in said
    assert entry.source.url in said


@pytest.mark.parametrize("name", entries())
def test_the_examples_in_the_help_of_an_entry_answer(tilewise, name):
    said = tilewise("catalog", name, "--help").out
    _, by_options, by_call, *_ = re.split(r"\n  (?=tilewise catalog )", said)
    asked = shlex.split(by_options)[1:]
    found, called = tilewise(*asked), tilewise(*shlex.split(by_call.splitlines()[0])[1:])
    assert (found.code, called.code) == (0, 0)
    assert found.out == called.out != ""


@pytest.mark.parametrize(
    "words",
    [
        ("tcgen05.ld", "-h"),
        ("--help", "tcgen05.ld"),
        ("tcgen05.ld.sync.aligned.32x32b.x8.b32", "--help"),
        ("tcgen05.ld(32x32b, repeat=x8)", "--help"),
        ("--repeat", "x8", "tcgen05.ld", "--help"),
    ],
)
def test_an_entry_is_helped_however_it_is_named(capsys, words):
    assert helped(capsys, *words) == helped(capsys, "tcgen05.ld", "--help")


def test_the_help_of_all_is_short_and_leads_to_those(capsys):
    said = helped(capsys, "--help")
    assert len(said.splitlines()) <= 50
    assert "tilewise catalog ENTRY --help" in said
    assert "--cta-group" not in said
    assert helped(capsys, "fragment", "--help") == said
    assert main(["catalog", "tcgen05.foo", "--help"]) == 2
    assert "did you mean tcgen05.sf?" in capsys.readouterr().err


def test_a_parser_of_no_words_has_the_parameters_of_all():
    known = parser_for("catalog")._option_string_actions
    assert all(f"--{p.name.replace('_', '-')}" in known for e in entries().values() for p in e.parameters)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("wgmma.D --dtype f32 --n 64 --slab 1", "TW601", "wgmma.D has no parameter slab"),
        ("wgmma.D --dtype f32 --cta_group=1", "TW601", "wgmma.D has no parameter cta_group"),
        ("mma fragment --slab 1", "TW401", "values were given, and no entry"),
        ("wgmma.D tcgen05.D --slab 1", "TW401", "wgmma.D and more words: tcgen05.D"),
        ("--slab 1", "TW401", "values were given, and no entry"),
    ],
)
def test_options_of_other_engines_are_known(capsys, words, code, message):
    assert main(["catalog", *words.split(), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["message"]) == (code, message)


# -- tcgen05's instructions, as PTX and compilers print them ---------------------------------------


def asked(capsys, *words: str):
    """The exit code and the answer as JSON."""
    code = main(["catalog", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("tcgen05.ld.sync.aligned.32x32b.x8.b32", "tcgen05.ld(32x32b, repeat=x8)"),
        ("tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32;", "tcgen05.ld(16x64b, repeat=x8, pack)"),
        ("TCGEN05.LD.32x32b.x2", "tcgen05.ld(32x32b, repeat=x2)"),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];", "tcgen05.ld(32x32b, repeat=x2)"),
        ("tcgen05.st.sync.aligned.16x256b.x1.unpack::16b.b32", "tcgen05.st(16x256b, unpack)"),
        ("tcgen05.cp.cta_group::1.32x128b.warpx4", "tcgen05.cp(32x128b, multicast=warpx4)"),
        ("tcgen05.cp.cta_group::2.128x256b [%0], %1;", "tcgen05.cp(128x256b, cta_group=2)"),
        (
            "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b6x16_p32",
            "tcgen05.cp(64x128b, multicast=warpx2::01_23, source=b6x16_p32)",
        ),
        ("tcgen05.mma.cta_group::1.kind::f16", "tcgen05.shapes(f16)"),
        ("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;", "tcgen05.shapes(f16)"),
        ("tcgen05.mma.ws.sp.cta_group::1.kind::i8.collector::b0::fill", "tcgen05.shapes(i8, sparse, ws)"),
        (
            "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.scale_vec::1X",
            "tcgen05.shapes(mxf8f6f4, cta_group=2)",
        ),
    ],
)
def test_an_instruction_leads_to_its_entry(capsys, words, call):
    for spelled in ([words], words.split()):
        code, data = asked(capsys, *spelled)
        assert (code, data["call"]) == (0, call)


def test_every_instruction_that_entries_print_leads_back_to_them(capsys):
    for name in ("tcgen05.ld", "tcgen05.st", "tcgen05.cp"):
        entry = entries()[name]
        for given in entry.listed():
            words = entry(**given).facts["instruction"]
            assert entries().taking(words) is entry
            assert entry.bind(named=entry.values_in(words)) == entry.bind(named=given)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("tcgen05.ld.sync.aligned.32x32b.x8.unpack::16b.b32", "no word 'unpack::16b'", "pack::16b"),
        ("tcgen05.ld.sync.aligned.32x31b.x8.b32", "no word '32x31b'", "32x32b.x8"),
        ("tcgen05.ld.32x32b.x8.x8", "repeat twice", "32x32b.x8"),
        ("tcgen05.mma.cta_group::1.kind::f15", "'f15' is no kind", "did you mean f16?"),
        ("tcgen05.mma.cta_group::1", "tcgen05.shapes needs kind", "tcgen05.shapes(kind"),
        ("tcgen05.ld.32x32b.x8 --repeat x4", "repeat is given twice", "tcgen05.ld(form"),
        ("tcgen05.ld --form 32x32b.x8", "x8 stands beside", "--form 32x32b --repeat x8; or"),
        ("tcgen05.st --form 32x32b.x8.unpack::16b", "stands beside", "--repeat x8 --unpack; or"),
        ("tcgen05.cp --form 32x128b.warpx4", "stands beside", "--form 32x128b --multicast warpx4; or"),
        ("tcgen05.cp --form 32x128b.warpx5", "no word 'warpx5'", "32x128b.warpx4"),
        ("tcgen05.ld --form 32x31b", "'32x31b' is no form", "did you mean 32x32b?"),
        ("tcgen05.SFA --rows 128", "no entry tcgen05.SFA", "did you mean tcgen05.sfa?"),
        ("tcgen05.SFB", "no entry tcgen05.SFB", "did you mean tcgen05.sfb?"),
    ],
)
def test_a_mistake_in_an_instruction_is_named(capsys, words, message, hint):
    code, data = asked(capsys, *words.split())
    assert code == 2
    assert message in data["error"]["message"]
    assert hint in data["error"]["hint"]


@pytest.mark.parametrize(
    ("words", "leads_to"),
    [
        ("tcgen05.mma", ["tcgen05.shapes", "tilewise idesc", "tcgen05.smem"]),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", ["tcgen05.address"]),
        ("tcgen05.dealloc", ["tcgen05.address"]),
        ("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", ["tcgen05.alloc"]),
        ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64", ["no layout"]),
        ("tcgen05.wait::ld.sync.aligned", ["no layout"]),
        ("tcgen05.fence::before_thread_sync", ["no layout"]),
        ("tcgen05.shift.cta_group::1.down", ["down by one lane"]),
        ("tcgen05.ld.red.sync.aligned.32x32b.x8.min.u32", ["tcgen05.ld"]),
        ("tcgen05.B", ["tcgen05.smem"]),
    ],
)
def test_what_has_no_entry_says_what_has(capsys, words, leads_to):
    code, data = asked(capsys, words)
    assert (code, data["code"]) == (1, "TW602")
    assert all(word in data["reason"] for word in leads_to)
