"""Words that mean one thing: any of them asks it, in any case, and answers say the chosen one."""

from __future__ import annotations

import shlex

import pytest

ENCODE = "idesc encode --kind {} --m 128 --n 128"
TILE = "catalog tcgen05.smem --operand B --major mn --dtype tf32 --rows 128 --k 64"
STEPS = "descriptor steps --engine tcgen05 --operand B --major mn --dtype tf32 --tile 128x32"


@pytest.mark.parametrize(
    ("chosen", "others"),
    [
        (
            f"{ENCODE.format('mxf4nvf4')} --scale 4X --scale-dtype ue4m3",
            [
                f"{ENCODE.format('mxf4nvf4')} --scale {word} --scale-dtype UE4M3"
                for word in ("4x", "block16", "BLOCK16", "scale_vec::4X", ".scale_vec::4x")
            ],
        ),
        (
            f"{ENCODE.format('mxf4')} --k 96 --scale 3X",
            [f"{ENCODE.format('mxf4')} --k 96 --scale {word}" for word in ("3x", "block32", "scale_vec::3X")],
        ),
        (
            f"{ENCODE.format('f16')} --dtype bf16 --a-major mn",
            [f"{ENCODE.format(kind)} --dtype BF16 --a-major MN" for kind in ("F16", "kind::f16")],
        ),
        (
            "catalog tcgen05.sfa --kind mxf4nvf4 --rows 128 --sf-k 4 --scale 4X",
            [
                f"catalog tcgen05.sfa --kind MXF4NVF4 --rows 128 --sf_k 4 --scale {word}"
                for word in ("4x", "scale_vec::4X", ".SCALE_VEC::4x")
            ],
        ),
        (
            f"{TILE} --mode 128B_ATOM_32B",
            [
                f"{TILE} --mode {word}"
                for word in ("128b_atom_32b", "SW128_32B", "SWIZZLE_128B_BASE32B", "128B --atomicity 32")
            ]
            + [f"{TILE} --mode sw128 --atomicity 32".replace(" B ", " b ").replace(" mn ", " MN ")],
        ),
        (
            f"{STEPS} --mode 128B_ATOM_32B",
            [f"{STEPS} --mode {word}" for word in ("SW128_32B", "128B --atomicity 32")]
            + [STEPS.replace("tcgen05", "TCGEN05").replace("mn", "MN") + " --mode sw128_32b"],
        ),
        (
            "suggest --engine tcgen05 --operand B --tile 128x64 --dtype tf32 --major mn --mode 128B_ATOM_32B",
            [
                f"suggest --engine TCGEN05 --operand b --tile 128x64 --dtype tf32 --major MN --mode {word}"
                for word in ("128B", "SW128", "sw128_32b", "128B_ATOM_32B --atomicity 32")
            ],
        ),
        (
            "descriptor encode --mode 128B --sbo 1024 --major mn",
            [
                f"descriptor encode --engine WGMMA --mode {word} --sbo 1024 --major MN"
                for word in ("sw128", "SWIZZLE_128B", "128")
            ],
        ),
    ],
)
def test_all_of_them_ask_it(tilewise, chosen, others):
    answer = tilewise(*chosen.split(), "--json")
    assert answer.code == 0
    for other in others:
        data = tilewise(*other.split(), "--json").json
        for said in ("kind", "atomicity"):  # what was asked besides stands in the answer of suggest
            if said not in answer.json:
                data.pop(said, None)
        assert data == answer.json, other


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (f"{TILE} --mode 128B --atomicity 32", "tcgen05.smem(B, major=mn, mode=128B_ATOM_32B, dtype=tf32,"),
        (f"{STEPS} --mode 128B --atomicity 32", "B [128, 32] of tf32, MN-major, 128B_ATOM_32B:"),
        ("catalog tcgen05.sfa --kind mxf4nvf4 --rows 128 --scale 4x", "4X of ue4m3 (block16)"),
        ("catalog tcgen05.sfa --kind mxf4 --rows 128 --sf-k 12 --k 96", "3X of ue8m0 (block32)"),
        (f"{ENCODE.format('mxf4nvf4')} --scale 4x", "4X scales of ue4m3"),
        (f"{ENCODE.format('mxf4')} --k 96", "3X scales of ue8m0"),
    ],
)
def test_answers_say_the_chosen_one(tilewise, asked, said):
    assert said in tilewise(*asked.split()).out


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (f"{TILE} --mode 128B_ATOM_32B --atomicity 16", 1, "no mode 128B_ATOM_32B keeps 16 bytes together"),
        (f"{TILE} --mode SW128_64B", 2, "'SW128_64B' is no swizzle mode"),
        (f"{TILE.replace('tcgen05', 'wgmma')} --mode 128B_ATOM_32B", 2, "known: none 32B 64B 128B"),
        (f"{ENCODE.format('mxf4')} --scale 5X", 2, "'5X' says no number of scales"),
        (f"{ENCODE.format('mxf4')} --k 96 --scale 2x", 1, "K = 96 of kind::mxf4 has no 2X scales"),
        ("catalog tcgen05.sfa --kind mxf4 --rows 128 --k 96 --scale 2X", 1, "mxf4 has no 2X scales"),
        ("catalog tcgen05.sfa --kind mxf4 --rows 128 --scale 3X", 1, "mxf4 has no 3X scales"),
        (f"{ENCODE.format('f16')} --a-major nm", 2, "invalid choice: 'nm'"),
        (
            "suggest --engine tcgen05 --operand B --tile 128x64 --dtype bf16 --major mn --mode 128B_ATOM_32B",
            1,
            "tcgen05 reads no MN-major bf16 in mode 128B_ATOM_32B",
        ),
    ],
)
def test_what_they_do_not_mean(tilewise, asked, code, said):
    run = tilewise(*asked.split())
    assert (run.code, said in run.out + run.err) == (code, True)


def test_calls_take_them_too(tilewise):
    chosen = tilewise("at", "tcgen05.smem(B, mn, mode=128B_ATOM_32B, dtype=tf32, rows=128, k=64)", "3,2")
    for mode in ("128b_atom_32b", "SW128_32B", "128B, atomicity=32"):
        call = f"tcgen05.smem(B, mn, mode={mode}, dtype=tf32, rows=128, k=64)"
        if "atomicity" in mode:
            call = call.replace(", atomicity=32", "").replace(")", ", atomicity=32)")
        assert tilewise("at", call, "3,2").out == chosen.out, call
    scales = [tilewise("at", f"tcgen05.sfa(mxf4nvf4, 128, scale={word})", "3,2").out for word in ("4X", "4x")]
    assert scales[0] == scales[1] != ""


PAIR = "'S[64, 96]' 'S[(64, 96) : (1, 64)]' --dtype bf16"
HELD = "S[(8, 4, 4) : (4@laneid, 1@laneid, 1@reg)]"


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("compose '(6,2):(8,2)' '(4,3):(3,1)'", "algebra compose '(6,2):(8,2)' '(4,3):(3,1)'"),
        ("logical-divide S[24] S[4] --help", "algebra logical_divide S[24] S[4] --help"),
        ("slice 'S[(2, 2, 4) : (100, 10, 1)]' 6:10 --shape 16", None),
        (f"emit {PAIR}", f"emit move {PAIR}"),
        (f"emit --dtype bf16 {PAIR.removesuffix(' --dtype bf16')}", f"emit move {PAIR}"),
        ("emit 'transpose(64, 96)' --dtype u8", "emit move 'transpose(64, 96)' --dtype u8"),
        (f"coalesce '{HELD}' --dtype f32", f"coalesce S[8,4,4] --dtype f32 --access '{HELD}'"),
        (
            "swizzle 64x64 --dtype bf16 --write cp.async --read 2*ldmatrix.x4",
            "swizzle 64x64 --dtype bf16 --access row:16B@cp.async --access 2*ldmatrix.x4",
        ),
        (
            "swizzle 64x64 --dtype bf16 --read row:4B --write col:2B",
            "swizzle 64x64 --dtype bf16 --access col:2B@st --access row:4B@ld",
        ),
    ],
)
def test_words_that_new_users_leave_out(tilewise, short, whole):
    asked = tilewise(*shlex.split(short))
    assert asked.code == 0
    assert asked.out == tilewise(*shlex.split(whole or f"algebra {short}")).out
