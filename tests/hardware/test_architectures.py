"""The architectures: their words, their families, and what Needs says of them."""

import pytest

from tilewise import LayoutError
from tilewise.hardware.architectures import GENERATIONS, KNOWN, NUMBERS, Architecture, Needs
from tilewise.hardware.limits import SHARED_BYTES, SM_SHARED_BYTES, shared_bytes, sm_shared_bytes


@pytest.mark.parametrize("arch", KNOWN)
def test_a_word_says_what_it_names(arch):
    for word in (
        str(arch),
        str(arch).upper(),
        str(arch).removeprefix("sm_"),
        str(arch).replace("sm", "compute"),
    ):
        assert Architecture.of(word) == arch
    dotted = f"{arch.number // 10}.{arch.number % 10}{arch.suffix}"
    assert Architecture.of(dotted) == Architecture.of(arch) == arch


def test_a_number_will_do():
    assert Architecture.of(90) == Architecture(90)
    assert [str(Architecture.of(number)) for number in NUMBERS][:3] == ["sm_70", "sm_72", "sm_75"]


@pytest.mark.parametrize(
    ("word", "said", "hint"),
    [
        ("sm_91", "the catalogue has no architecture sm_91", "did you mean sm_90?"),
        ("sm_107", "no architecture sm_107", "newer than PTX 9.2"),
        ("sm_101a", "the catalogue has no architecture sm_101a", "sm_110 since PTX 9.0"),
        ("sm_60", "no architecture sm_60", "did you mean sm_70?"),
        ("sm_80a", "there is no architecture sm_80a", "sm_80 has no suffix a"),
        ("sm_90f", "there is no architecture sm_90f", "sm_90 has no suffix f"),
        ("Hopper", "'Hopper' is no architecture", "Hopper is sm_90"),
        (
            "blackwell",
            "'blackwell' is no architecture",
            "Blackwell is sm_100, sm_103, sm_110, sm_120, sm_121",
        ),
        ("H200", "'H200' is no architecture", "such as sm_80"),
        ("", "'' is no architecture", "such as sm_80"),
        ("sm_٨٠", "is no architecture", "such as sm_80"),
    ],
)
def test_what_is_no_architecture(word, said, hint):
    with pytest.raises(LayoutError) as error:
        Architecture.of(word)
    assert (error.value.code, said in error.value.message, hint in error.value.hint) == ("TW601", True, True)


def test_every_number_has_one_generation():
    assert sorted(NUMBERS) == [*NUMBERS]
    assert [Architecture(number).generation for number in (70, 75, 89, 90, 121)] == [
        "Volta",
        "Turing",
        "Ada",
        "Hopper",
        "Blackwell",
    ]
    assert sum(map(len, GENERATIONS.values())) == len(set(NUMBERS))


@pytest.mark.parametrize(
    ("needs", "have", "lack"),
    [
        (Needs(80), ["sm_80", "sm_86", "sm_90a", "sm_121f"], ["sm_70", "sm_72", "sm_75"]),
        (Needs(alone=("sm_90a",)), ["sm_90a"], ["sm_89", "sm_90", "sm_100a"]),
        (
            Needs(family=(120,)),
            ["sm_120a", "sm_120f", "sm_121a", "sm_121f"],
            ["sm_120", "sm_121", "sm_110f", "sm_100a"],
        ),
        (Needs(family=(103,)), ["sm_103a", "sm_103f"], ["sm_100f", "sm_103", "sm_110a"]),
        (Needs(family=(100, 110)), ["sm_100a", "sm_103f", "sm_110f"], ["sm_100", "sm_120a"]),
        (Needs(120, family=(100,)), ["sm_100a", "sm_103f", "sm_120", "sm_121a"], ["sm_100", "sm_110f"]),
    ],
    ids=lambda value: str(value) if isinstance(value, Needs) else "",
)
def test_who_has_a_thing(needs, have, lack):
    assert [word for word in (*have, *lack) if needs.met(word)] == have
    assert {str(arch) for arch in needs.architectures} >= {*have}
    assert str(needs.first) == min(have, key=lambda word: KNOWN.index(Architecture.of(word)))


def test_needs_says_itself():
    assert str(Needs(75)) == repr(Needs(75)) == "sm_75 and later"
    assert str(Needs(120, family=(100,))) == "sm_120 and later; sm_100f, and the later ones of its family"


# Table 31 of the guide, for 7.5 and later; that of CUDA 12 for 7.0 and 7.2; KiB of an SM, and of a block
GUIDE = """
7.0  96  96
7.2  96  96
7.5  64  64
8.0 164 163
8.6 100  99
8.7 164 163
8.9 100  99
9.0 228 227
10.0 228 227
10.3 228 227
11.0 228 227
12.0 100  99
12.1 100  99
"""


@pytest.mark.parametrize("row", GUIDE.split("\n")[1:-1], ids=lambda row: row.split()[0])
def test_shared_memory_is_as_the_guide_has_it(row):
    capability, whole, block = row.split()
    assert (sm_shared_bytes(capability), shared_bytes(capability)) == (int(whole) * 1024, int(block) * 1024)


def test_every_architecture_has_shared_memory():
    assert all(48 * 1024 < shared_bytes(arch) <= sm_shared_bytes(arch) for arch in KNOWN)
    assert (sm_shared_bytes(90), shared_bytes("sm_90a")) == (SM_SHARED_BYTES, SHARED_BYTES)
