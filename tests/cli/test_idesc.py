"""`tilewise idesc`: both operations, their JSON, what they refuse."""

from __future__ import annotations

import pytest


def test_encode(tilewise):
    run = tilewise(*"idesc encode --kind f16 --m 128 --n 256 --dtype bf16 --b-major mn --json".split())
    assert run.code == 0
    assert run.json["value"] == hex(1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 32 << 17 | 8 << 24).replace(
        "x", "x0"
    )
    assert run.json["instruction"] == "tcgen05.mma.cta_group::1.kind::f16"
    assert run.json["shape"] == "m128n256k16"
    assert run.json["encoded"]["n"] == 32
    assert run.json["words"]["transpose_b"] == "B is N-major, transposed"


def test_decode_is_what_was_encoded(tilewise):
    words = "--kind mxf4nvf4 --m 256 --n 64 --cta-group 2 --scale 2X --scale-dtype ue8m0 --sfa-id 2 --json"
    made = tilewise("idesc", "encode", *words.split()).json
    again = tilewise(
        "idesc", "decode", made["value"], "--kind", "mxf4nvf4", "--cta-group", "2", "--json"
    ).json
    assert again == made


def test_the_kind_that_is_alone_in_having_it(tilewise):
    value = tilewise(*"idesc encode --kind i8 --m 64 --n 32 --json".split()).json["value"]
    assert tilewise("idesc", "decode", value, "--json").json["fields"]["kind"] == "i8"


def test_the_picture(tilewise):
    lines = tilewise(*"idesc encode --kind tf32 --m 64 --n 8".split()).out.splitlines()
    assert lines[0] == "0x04020910"
    assert lines[1] == "tcgen05.mma.cta_group::1.kind::tf32: m64n8k8, tf32 x tf32 into f32"
    assert lines[3].startswith("31-30")
    assert lines[3].split()[-1] == "1-0"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("encode --kind f16 --m 128", 2, "encode needs --n"),
        ("encode --m 128", 2, "encode needs --kind and --n"),
        ("encode 0x12 --kind f16 --m 128 --n 64", 2, "encode does not take 0x12"),
        ("encode --kind f17 --m 128 --n 64", 2, "known: f16 tf32"),
        ("encode --kind f16 --m many --n 64", 2, "--m many is no number"),
        ("encode --kind f16 --m 128 --n 64 --cta-group 3", 2, "there is no cta_group 3"),
        ("encode --kind f16 --m 128 --n 64 --a-major down", 2, "invalid choice: 'down'"),
        ("decode", 2, "decode takes a value"),
        ("decode nothing", 2, "nothing is no instruction descriptor"),
        ("decode 0x08400010 --n 8", 2, "--n is not for decode"),
        ("decode 0x1234567890", 2, "no number of 32 bits"),
        ("decode 0x08400010 --kind bf16", 2, "did you mean f16?"),
        ("decode 0", 1, "no product of any kind"),
        ("encode --kind f16 --m 128 --n 12", 1, "the nearest N are 8 and 16"),
    ],
)
def test_what_it_refuses(tilewise, words, code, said):
    run = tilewise("idesc", *words.split())
    assert run.code == code
    assert said in run.out + run.err


def test_a_word_of_several_kinds_is_read_as_each(tilewise):
    run = tilewise("idesc", "decode", "0x10400490", "--json")
    assert run.code == 0
    assert [one["fields"]["kind"] for one in run.json["readings"]] == ["f16", "f8f6f4"]
    assert [one["fields"]["a"] for one in run.json["readings"]] == ["bf16", "e5m2"]
    text = tilewise("idesc", "decode", "0x10400490").out
    assert text.startswith("0x10400490 is a word of 2 kinds, and the instruction says of which")
    assert "kind::f16: m256n256k16" in text
    assert "kind::f8f6f4: m256n256k32" in text


def test_what_was_encoded_is_decoded_from_a_pipe(tilewise):
    words = "idesc encode --kind f8f6f4 --m 256 --n 64 --cta-group 2 --json".split()
    made = tilewise(*words)
    again = tilewise("idesc", "decode", "-", "--json", stdin=made.out)
    assert again.json == made.json
    assert (
        tilewise("idesc", "decode", "-", "--kind", "f16", "--json", stdin="0x08400010").json["shape"]
        == "m128n256k16"
    )
