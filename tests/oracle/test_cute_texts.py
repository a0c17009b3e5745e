"""Texts that CuTe prints or takes, read as CuTe evaluates them: its DSL, and its C++ headers.

`pytest tests/oracle/test_cute_texts.py --update-goldens` records what the DSL says, for machines without it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.notation.dialects.cute_texts import differences, record_of, sampled, write_record
from tests.oracle import cute_dsl_claims, cute_traits
from tests.oracle.cute_cpp_texts import program

from tilewise.hardware.calls import reading

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def dsl(request):
    """{text: the place of every element}, as the DSL says."""
    if why := cute_dsl_claims.missing():
        pytest.skip(why)
    script = Path(__file__).with_name("cute_dsl_texts.py")
    environment = os.environ | {"CUTE_DSL_ARCH": "sm_90a"}
    done = subprocess.run(
        [sys.executable, script, "200"], capture_output=True, text=True, check=True, env=environment
    )
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = {line["text"]: line["places"] for line in said}
    if request.config.getoption("--update-goldens"):
        write_record(found)
    return found


def test_tensors_and_calls_are_what_the_dsl_evaluates(dsl):
    assert not [*differences((text, 1, places) for text, places in dsl.items())]
    pointers = [text for text in dsl if ", S<" in text]
    assert len([text for text in dsl if text.startswith("tensor<")]) > 190
    assert len(pointers) > 60
    assert len([text for text in dsl if text.startswith("cute.")]) > 190


def test_the_record_is_what_the_dsl_says(dsl):
    assert [sampled(text, places) for text, places in dsl.items()] == record_of()


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """[call, what prints, its type, the place of every element], as the C++ headers say."""
    if why := cute_traits.missing():
        pytest.skip(why)
    return cute_traits.printed(tmp_path_factory.mktemp("texts"), "texts", program(60))


def test_calls_prints_and_types_are_what_the_headers_make(headers):
    assert len(headers) > 200
    assert len([said for said in headers if "int" not in said["type"]]) > 60
    for said in headers:
        call, printed = reading(said["call"]).layout, reading(said["print"]).layout
        assert [call.place(i)["m"] for i in range(call.size)] == said["places"], said["call"]
        assert printed.same(call).answer is True, said  # a constant extent of 1 has the stride 0 in C++
        if "int" not in said["type"]:
            assert reading(said["type"]).layout == printed, said
