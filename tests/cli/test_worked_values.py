"""Questions that CuTe's documents and papers work out, to `tilewise algebra` in their notation and order.

Sources: CUTLASS media/docs/cpp/cute/02_layout_algebra.md and its unit tests; arXiv 2603.02298 (sections
3.3.3 and the tables of inverses). Where an implementation is known to answer wrongly, the question is
in `WRONG_ELSEWHERE`, with our answer.
"""

from __future__ import annotations

import pytest

PUBLISHED = [
    ("coalesce", "(2,1,6,1):(1,7,8,0)", "(2,6):(1,8)"),
    ("coalesce", "(2,(1,6)):(1,(6,2))", "12:1"),
    ("compose", "(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
    ("compose", "20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
    ("compose", "(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
    ("compose", "(4,6,8,10):(2,3,5,7)", "6:12", "(2,3):(9,5)"),
    ("compose", "(4,2,8):(3,12,97)", "3:3", "3:9"),
    ("complement", "4:1", "24", "6:4"),
    ("complement", "6:4", "24", "4:1"),
    ("complement", "(4,6):(1,4)", "24", "1:0"),
    ("complement", "4:2", "24", "(2,3):(1,8)"),
    ("complement", "(2,4):(1,6)", "24", "3:2"),
    ("complement", "(2,2):(1,6)", "24", "(3,2):(2,12)"),
    ("logical_divide", "(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"),
    ("logical_product", "(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))"),
    ("left_inverse", "(4,8):(1,5)", "(5,8):(1,4)"),
    ("right_inverse", "(4,8):(1,5)", "4:1"),
    ("right_inverse", "((2,2),(2,4)):((0,1),(0,2))", "(2,4):(2,8)"),
    ("right_inverse", "Sw<3,3,3> o 0 o (8,64):(64,1)", "Sw<3,0,-6> o 0 o (64,8):(8,1)"),
]
"""(operation, arguments ..., its published result)."""


@pytest.mark.parametrize("words", PUBLISHED, ids=lambda words: " ".join(words[:-1]))
def test_published_results(tilewise, words):
    *asked, result = words
    answer = tilewise("algebra", *asked, "--json")
    assert answer.code == 0, answer.out
    assert answer.json["result"] == result


WRONG_ELSEWHERE = [
    # answered by C++ CuTe or pycute, and wrong in some places
    ("compose", "(6,8):(8,1)", "12:4", None),
    ("compose", "((6),8):((16),1)", "(4,12):(1,4)", None),
    ("compose", "(16,5):(5,1)", "(16,2):(4,6)", None),
    ("compose", "(4,6,8):(2,3,5)", "6:3", None),
    ("compose", "(4,2,8):(3,12,97)", "4:3", None),
    ("compose", "(4,2,8):(3,15,97)", "3:3", None),
    ("logical_divide", "(3,4):(4,1)", "6:2", None),
    # python/pycute stops at a stride of 0; C++ does not
    ("right_inverse", "(2,4):(0,1)", "4:2"),
    # two results elsewhere, both right on the image
    ("left_inverse", "((2,2),(4)):((12,72),(1))", "(12,6,2):(4,1,2)"),
    # an extent of 0, silently; no translates of {0, .., 6} fill [0, 12)
    ("complement", "(4,2):(1,3)", "12", None),
    ("complement", "(4,2):(1,3)", "14", "2:7"),
    # under-filled, silently
    ("complement", "(2,2):(1,3)", "12", None),
    # a layout of another size
    ("compose", "(4,6,5):(1,4,24)", "2", "3", "(2,3,5):(1,4,24)"),
    # a division by mistake
    ("logical_product", "4:1", "3", "(4,3):(1,4)"),
    # rounded up, silently
    ("tile_to_shape", "(2,4):(4,1)", "(5,10)", None),
]
"""Questions that some implementation gets wrong, and the answer; None where the question has no answer."""


@pytest.mark.parametrize("words", WRONG_ELSEWHERE, ids=lambda words: " ".join(map(str, words[:-1])))
def test_what_others_answer_wrongly(tilewise, words):
    *asked, result = words
    answer = tilewise("algebra", *asked, "--json")
    assert answer.code == (1 if result is None else 0), answer.out
    assert answer.json["result"] == result
    if result is None:
        assert answer.json["reason"]


def test_the_weak_complement_is_asked_for_by_name(tilewise):
    assert tilewise("algebra", "complement", "(2,2):(1,3)", "12", "--weak", "--json").json["result"] == "2:6"


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("Swizzle<3,4,3>", "Swizzle<2,4,3>", "Swizzle<1,6,3>"),
        ("Swizzle<0,4,0>", "Swizzle<2,4,3>", "Swizzle<2,4,3>"),
        ("Swizzle<3,4,3>", "Swizzle<3,4,4>", None),
    ],
)
def test_swizzles_merge_or_stay_a_chain(tilewise, one, other, merged):
    written = f"{one} o {other} o S[8192 : 1]"
    normal = tilewise("algebra", "swizzle_chain", written, "--json").json["result"]
    assert normal.count("Swizzle") == (1 if merged else 2)
    assert not merged or normal == f"{merged} o S[8192 : 1]"
    assert tilewise("same", written, normal, "--json").json == {"same": True}


@pytest.mark.parametrize(
    ("dtype", "in_elements"),
    [
        ("f16", "Swizzle<3,3,3>"),
        ("f32", "Swizzle<3,2,3>"),
        ("u8", "Swizzle<3,4,3>"),
        ("e2m1", "Swizzle<3,5,3>"),
    ],
)
def test_a_byte_swizzle_in_elements(tilewise, dtype, in_elements):
    bytes_of_elements = "Swizzle<3,4,3> o S[4096 : 1]"
    answer = tilewise("algebra", "recast", bytes_of_elements, "u8", dtype, "--json")
    assert answer.json["result"].startswith(in_elements)
