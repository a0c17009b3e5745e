"""Questions called from Python: names of arguments, kinds of values, and errors that speak of arguments."""

from __future__ import annotations

import re
from inspect import signature
from random import Random

import numpy as np
import pytest
from tests.contract import record
from tests.contract.test_python import arguments_of

import tilewise
from tilewise import DType, LayoutError, S, laneid, reg
from tilewise.cli.main import main
from tilewise.questions.asking import READING, question
from tilewise.questions.hints import in_python
from tilewise.questions.texts import Texts

TILE = S[64, 64]
FRAGMENT = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
BF16 = DType.of("bf16")

OPTION = re.compile(r"(?<![\w-])--[a-z]")


def told(error: LayoutError) -> str:
    return f"{error}\n{error.message}\n{error.hint}\n{error.args}"


@pytest.mark.parametrize(
    ("ask", "message", "hint"),
    [
        (
            lambda: tilewise.banks(TILE),
            "banks of a tile needs access=",
            'such as dtype="bf16", access="row:16B"',
        ),
        (
            lambda: tilewise.banks(),
            "banks needs layout and access=, or addresses=",
            'such as op="ld", bytes=4, addresses=(0, 128, 256)',
        ),
        (
            lambda: tilewise.match(TILE),
            "match needs operand= and dtype=",
            'such as operand="B", dtype="bf16"',
        ),
        (lambda: tilewise.say("S[M]"), "'M' has no value", 'give it one: let={"M": 64}'),
        (
            lambda: tilewise.who(TILE),
            "one question at a time: place, byte=, holes=True or shared=True",
            "such as laneid=5,reg=1",
        ),
        (lambda: tilewise.at(TILE, 5, base=0.5, dtype="bf16"), "base=0.5 is no address", "0x1a40"),
        (
            lambda: tilewise.match(TILE, "wgmma.B", BF16, arch="sm_80"),
            "wgmma takes no arch",
            "or leave arch= out",
        ),
        (lambda: tilewise.tma(TILE, dtype=BF16), "shape= is needed", "such as shape=(4096, 4096)"),
        (lambda: tilewise.show(TILE, theme="dark"), "theme= is of a picture in a file", "svg="),
    ],
)
def test_errors_speak_of_arguments(ask, message, hint):
    with pytest.raises(LayoutError) as caught:
        ask()
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint
    assert not OPTION.search(told(caught.value))


def test_no_error_of_the_contract_speaks_of_options(times):
    errors = []
    for command in Random(5).sample(sorted(record.load()), times(1500)):
        arguments = arguments_of(command)
        if arguments is None or command.words[0] in ("plan", "show", "explain"):
            continue
        try:
            question(command.words[0])(**arguments)
        except LayoutError as error:
            errors.append(told(error))
    assert len(errors) > times(50)
    assert [text for text in errors if OPTION.search(text)] == []


def test_a_shell_has_its_own_spelling(capsys):
    assert main(["banks", "S[64, 64]"]) == 2
    assert capsys.readouterr().err == (
        "tilewise: TW401: banks of a tile needs --access\n  hint: such as --dtype bf16 --access row:16B\n"
    )


@pytest.mark.parametrize(
    ("shell", "python"),
    [
        ("say --engine mma, or leave --cta-group out", 'say engine="mma", or leave cta_group= out'),
        ("--as klingon is no notation", 'as_="klingon" is no notation'),
        ("make one with --as json", 'make one with as_="json"'),
        ("--tile 128x64x3 is not rows x K", 'tile="128x64x3" is not rows x K'),
        ("--panel lanes: there is no such panel", 'panel="lanes": there is no such panel'),
        ("such as --window 0:16,0:16, one a mode", 'such as window="0:16,0:16", one a mode'),
        ("`tilewise vector` says how wide", "`tilewise.vector` says how wide"),
        ("tilewise lists them; i-- and a--b", "tilewise lists them; i-- and a--b"),
    ],
)
def test_sentences_in_python(shell, python):
    assert in_python(shell) == python
    assert in_python(python) == python


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: tilewise.banks(TILE, BF16, acess="row"), r"banks\(\) .*'acess'; did you mean access"),
        (lambda: tilewise.show(TILE, color="m"), r"show\(\) .*'color'; did you mean colour"),
        (lambda: tilewise.who(FRAGMENT, laneid=5), r"'laneid'; a place is one value: {'laneid': 5}"),
        (lambda: tilewise.at("S[M, N]", 5, M=4, N=4), r"'M'; a value for a name in a text is let={'M': 64}"),
        (lambda: tilewise.same(TILE, TILE, own_shape=True), r"same\(\) has no argument 'own_shape'"),
        (lambda: tilewise.same(TILE), "same.*missing 1 required positional argument: 'b'"),
        (lambda: tilewise.banks(TILE, BF16, "row"), "banks.*takes"),
        (lambda: tilewise.at(TILE, 5, index=3), "at.*multiple values"),
    ],
)
def test_arguments_that_a_question_does_not_have_are_named(ask, message):
    with pytest.raises(TypeError, match=message):
        ask()


def test_the_options_of_texts_are_those_that_texts_take():
    assert {*READING, "shape"} <= signature(Texts).parameters.keys()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: tilewise.emit("foo", BF16, tile=(64, 64, 64)),
            "engine='foo' is not one of gemm, wgmma, mma, move",
        ),
        (lambda: tilewise.emit(None, BF16, tile=(64, 64, 64)), "engine=None is not one of"),
        (lambda: tilewise.code(TILE, lang=None), "lang=None is not one of"),
        (lambda: tilewise.match(TILE, "wgmma.B", BF16, major="x"), "major='x' is not one of k, mn"),
        (lambda: tilewise.who(TILE, 5, limit="3"), "limit must be an integer, not the str '3'"),
        (lambda: tilewise.who(TILE, 5, limit=1.5), "limit must be an integer"),
        (lambda: tilewise.at(TILE, 5, 3), "dtype=3 is no type of an element"),
        (lambda: tilewise.match(TILE, 5, BF16), "engine=5 is no word"),
        (lambda: tilewise.catalog(5), "words=5 is no word"),
    ],
)
def test_a_value_of_another_kind_is_refused_whether_or_not_it_has_its_name(ask, message):
    with pytest.raises(LayoutError, match=message):
        ask()


def test_a_text_stands_for_a_list_of_one():
    one = tilewise.show(S[4, 4], BF16, panel="memory", ascii=True)
    assert str(one) == str(tilewise.show(S[4, 4], BF16, panel=["memory"], ascii=True))
    assert tilewise.verify(list=True, only="fragments.d").data() == (
        tilewise.verify(list=True, only=["fragments.d"]).data()
    )


def test_numpy_values_are_numbers_and_lists():
    assert tilewise.at(TILE, np.array([5, 3])).data() == tilewise.at(TILE, (5, 3)).data()
    word = np.uint64(0x4000004000010000)
    assert tilewise.descriptor(word).data() == tilewise.descriptor(int(word)).data()
    tile = np.array([128, 64])
    assert tilewise.suggest("wgmma", BF16, operand="A", tile=tile).answer
    lanes = np.arange(32) * 128
    counted = tilewise.banks(op="ld", bytes=4, addresses=lanes)
    assert counted.data() == tilewise.banks(op="ld", bytes=4, addresses=list(range(0, 4096, 128))).data()
    assert tilewise.banks(TILE, np.float16, access="row").dtype


@pytest.mark.parametrize("dtype", [BF16, "bf16"])
def test_tma_takes_the_type_behind_the_tile(dtype):
    named = tilewise.tma(TILE, dtype=dtype, shape=(1024, 1024))
    assert tilewise.tma(TILE, dtype, shape=(1024, 1024)).data() == named.data()
    assert tilewise.tma("plan", TILE, dtype, shape=(1024, 1024)).data() == named.data()
    with pytest.raises(LayoutError, match="the type of an element is"):
        tilewise.tma(TILE, dtype, "f16", shape=(1024, 1024))
