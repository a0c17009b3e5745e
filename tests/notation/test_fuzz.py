"""Whatever is typed: a layout, or a refusal with a code and a span in the text; nothing else, and soon."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random
from subprocess import run
from time import process_time

import pytest
from tests.notation import writing
from tests.notation.fuzz_parser import examine

SIGNS = "()[]{}<>:,@+-*/=.?∘o SROKSwizzle0123456789xb_\n\t\x00\x1b…é＋\u202e\u0301\U0001f600"


def random_characters(rng):
    """Signs of the notation, any characters at all, or bytes read as Latin-1."""
    length = rng.randint(0, 24)
    kind = rng.random()
    if kind < 0.6:
        return "".join(rng.choice(SIGNS) for _ in range(length))
    if kind < 0.8:
        return "".join(chr(rng.randrange(0xD800)) for _ in range(length))
    return rng.randbytes(length).decode("latin-1")


def test_random_characters(times):
    rng = Random(30)
    for _ in range(times(12_000)):
        examine(random_characters(rng))


def test_mistyped_layouts(times):
    rng = Random(31)
    outcomes = [examine(writing.mutated(rng, writing.text(rng))) for _ in range(times(8_000))]
    assert times(500) < sum(outcomes) < times(7_500)


LONG = 1_000_000
"""About as long as a text may be."""


@pytest.mark.parametrize(
    ("head", "piece", "tail"),
    [
        ("", "(", ""),
        ("S[", "(", ""),
        ("(8):", "(", ""),
        ("S[1", "+1", "]"),
        ("S[()]", "+1", ""),
        ("S[()]", "-1@a", ""),
        ("S[()]", "+R[2:1]", ""),
        ("S[()]", "+(1)", ""),
        ("", "1", ""),
        ("S[", "1,", "1]"),
        ("S[2", "*2", "]"),
        ("S[8", "//1", "]"),
        ("", "-", "1"),
        ("8:", "-", "1"),
        ("", "Swizzle<1,2,3>o ", "S[8]"),
        ("", "Sw<1,2,3>o ", "8:1"),
        ("", "O[1]@", "S[8]"),
        ("O[1", ",1", "]o S[8]"),
        ("", "x.", "x"),
        ("", "_", ""),
        ("8:_", "7", ""),
        ("S[8:1@", "a", "]"),
        ("", " ", ""),
        ("", "\n", "x"),
        ("S[8", "\x00", "]"),
        ("(", "8:", ""),
        ("S[8:0.", "1", "]"),
    ],
)
def test_long_texts_are_read_in_time_linear_in_their_length(head, piece, tail):
    """Also where the words are as many as may be: more are refused before they are parsed."""
    for length in (60_000, LONG):
        times = max(1, length // len(piece)) - len(head) - len(tail)
        started = process_time()
        examine(head + piece * times + tail)
        assert process_time() - started < 5


def test_many_axes_are_read_in_time_linear_in_their_number():
    sum_of_axes = "+".join(f"1@a{i}" for i in range(16_000))
    for text in (f"S[8:{sum_of_axes}]", f"S[()]+{sum_of_axes}", f"O[{sum_of_axes.replace('+', ',')}] o S[8]"):
        started = process_time()
        assert examine(text)
        assert process_time() - started < 5


@pytest.mark.slow
def test_coverage_guided():
    if find_spec("atheris") is None:
        pytest.skip("atheris is not installed; `make fuzz` installs and runs it")
    target = Path(__file__).with_name("fuzz_parser.py")
    done = run([sys.executable, target, "--runs", "1000"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2_000:]
    branches = [int(count) for count in re.findall(r"cov: (\d+)", done.stderr)]
    assert branches[0] < branches[-1] > 500, "nothing guides it"
