"""Texts that are cut off or damaged: an error that names a line, or instructions counted as not read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiled.ptx.agreement import cases
from tests.compiled.ptx.test_programs import CALL, FUNCTIONS
from tests.compiled.ptx_texts import text_of

from tilewise.compiled.launch import Launch
from tilewise.compiled.ptx.reader import programs_of
from tilewise.compiled.trace import traces
from tilewise.core.errors import LayoutError

WHOLE = text_of(
    ".shared .align 16 .b8 tile[64];",
    ".reg .b32 %r<9>;",
    "ld.param.u64 %rd1, [out]",
    "mov.u32 %r1, %tid.x",
    "@%p1 ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+16]",
    "mad.lo.s32 %r6, %r1, 4, tile",
    "cp.async.cg.shared.global [%r6], [%rd1], 16, %r1",
    "setp.lt.and.s32 %p1|%p2, %r1, 0x10, !%p3",
    "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, -1",
    "mov.b64 {%r2, _}, %rd1",
    "table: .branchtargets here, there;",
    "brx.idx %r1, table",
    "here: lop3.b32 %r2, %r1, %r2, %r3, 0x96",
    CALL + ";",
    "there: mbarrier.try_wait.parity.shared.b64 %p1, [%r6], 0",
    parameters=".param .u64 .ptr .global .align 16 out, .param .align 4 .b8 pair[8]",
    before=FUNCTIONS + '.const .u32 table[2] = {1, 0f00000000};\n.file 1 "a.cu"\n',
)


def read_and_run(text):
    """Read a text and run what it has; an error of the project is an answer too."""
    try:
        for program in programs_of(text):
            for trace in traces(program, Launch((1, 1, 1), (32, 1, 1)), range(1)):
                trace.most_steps = 2000
                list(trace)
    except LayoutError as error:
        assert re.search(r"line \d+", str(error))  # noqa: PT017


def test_the_whole_text_is_read():
    (program,) = programs_of(WHOLE)
    assert program.unread == {}


@given(st.integers(0, len(WHOLE)))
def test_cut_off(at):
    read_and_run(WHOLE[:at])


@given(st.integers(0, len(WHOLE)), st.integers(0, 40), st.text(max_size=12))
def test_damaged(at, gone, instead):
    read_and_run(WHOLE[:at] + instead + WHOLE[at + gone :])


LETTERS = 'abcprtuvx0123456789%$_.,;:@!|{}[]()<>+-= \t\n"/*'


@given(st.text(LETTERS, max_size=200))
@settings(max_examples=300)
def test_garbage_inside_of_a_kernel(content):
    read_and_run(text_of(content))


WORDS = sorted(set(re.findall(r"[\w.:%|{}\[\]+]+|[,;]", WHOLE)))


@given(st.lists(st.sampled_from(WORDS), max_size=12))
@settings(max_examples=300)
def test_words_in_any_order(words):
    read_and_run(text_of(" ".join(words)))


@pytest.mark.parametrize("end", [".visible .entry kernel(", ".visible .entry kernel()\n{\nmov.u32 %r1, 1;\n"])
def test_a_text_that_ends_too_early_is_refused(end):
    with pytest.raises(LayoutError, match=r"line 4: .*end"):
        list(programs_of(f".version 9.0\n.target sm_90\n\n{end}"))


@given(st.data())
@settings(max_examples=20)
def test_cut_off_texts_of_compilers(data):
    texts = sorted({case.ptx for case in cases()}, key=len)[:20]
    text = data.draw(st.sampled_from(texts))
    at = data.draw(st.integers(0, len(text)))
    try:
        list(programs_of(text[:at]))
    except LayoutError as error:
        assert re.search(r"line \d+", str(error))  # noqa: PT017
