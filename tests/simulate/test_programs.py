"""A thousand programs: what a device left after them, held to the model, and how they get to a device.

The record, `truth/programs.zip`, is what an H200 said; `tests.simulate.on_device` writes it.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.codegen import nvrtc
from tests.simulate import kernels, models, on_device
from tests.simulate.programs import (
    CHAIN_BYTES,
    COUNTS,
    FLOAT,
    POISON,
    WIDE,
    MmaProgram,
    WgmmaProgram,
    programs,
    sort_of,
)

from tilewise.gpu.verify.truth import load

RECORD = Path(__file__).with_name("truth") / "programs.zip"
MOST_BYTES = 150_000
FEW = 7


@pytest.fixture(scope="module")
def answered():
    """Programs of every sort, and what the model answers."""
    every = programs(FEW)
    return every, {program.number: models.expected(program) for program in every}


# -- the record --------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=list(COUNTS))
def truth(request):
    (found,) = load(RECORD, f"programs.{request.param}")
    return found, {program.number: program for program in programs()}


def kept(truth, of):
    """Each program with what is kept of its answer."""
    numbers = (of[case["number"]] for case in truth.cases)
    arrays = (truth.arrays["given"], truth.arrays["left"], truth.parted("words"))
    return zip(numbers, *arrays, strict=True)


PAGE = Path(__file__).parents[2] / "docs" / "simulate.md"
ROWS = {
    "wgmma": "`wgmma`, A in memory or registers",
    "mma": "`mma.sync`",
    "ldmatrix": "`ldmatrix`",
    "stmatrix": "`stmatrix`",
    "load": "TMA loads",
    "store": "TMA stores",
    "chain": "a chain of TMA load, `ldmatrix`, `mma`, `stmatrix`, TMA store",
}


def test_the_model_leaves_what_the_device_left_as_the_page_says(truth):
    found = [models.rechecked(*one) for one in kept(*truth)]
    wrong = [one for one in found if one.word == models.DIFFERENT]
    assert not wrong, f"{len(wrong)} of {len(found)}: {wrong[:3]}"
    same, within = (sum(one.word == word for one in found) for word in (models.SAME, models.WITHIN))
    row = ROWS[truth[0].part.partition(".")[2]]
    page = PAGE.read_text(encoding="utf-8")
    assert f"| {row} | {len(found)} | {same} | {within} | 0 |" in page


def test_every_program_of_a_record_is_held(truth):
    record, of = truth
    assert len(record.cases) == sum(sort_of(one) == record.part.partition(".")[2] for one in of.values())


def test_one_other_answer_in_a_record_is_noticed(truth):
    record, of = truth
    program, given, left, words = next(one for one in kept(record, of) if one[0].exact)
    assert models.rechecked(program, given, left, words).word == models.SAME
    assert models.rechecked(program, given, left ^ 1, words).word == models.DIFFERENT
    assert "another than the one" in models.rechecked(program, given ^ 1, left, words).message


def test_the_record_is_small():
    assert RECORD.stat().st_size <= MOST_BYTES
    assert sum(COUNTS.values()) >= 1000


# -- the verdict -------------------------------------------------------------------------------------


def rounding(sort):
    """A program of that sort whose sums are rounded: bf16 into f32."""
    every = (p for p in programs() if isinstance(p, sort) and p.data == FLOAT)
    return next(program for program in every if (program.this.a, program.this.d) == ("bf16", "f32"))


@pytest.mark.parametrize("sort", [WgmmaProgram, MmaProgram])
def test_a_float_may_be_off_by_its_bound_and_no_more(sort):
    program = rounding(sort)
    want = models.expected(program)
    near, far, nan = want.copy(), want.copy(), want.copy()
    near[0, 0] ^= 1
    far[0, 0] ^= 1 << 16
    nan[3, 1] = 0x7FFFFFFF
    verdicts = [models.judged(program, words).word for words in (want, near, far, nan)]
    assert verdicts == [models.SAME, models.WITHIN, models.DIFFERENT, models.DIFFERENT]


def test_kept_words_beyond_the_bound_are_noticed():
    program = rounding(MmaProgram)
    want = models.expected(program)
    given, picked = models.digest(*program.inputs().values()), models.sampled(program, want.size)
    words = want.reshape(-1)[picked].astype(np.int64)
    assert models.rechecked(program, given, models.digest(want), words).word == models.SAME
    assert models.rechecked(program, given, 0, words ^ 1).word == models.WITHIN
    assert models.rechecked(program, given, 0, words ^ 1 << 20).word == models.DIFFERENT


def test_a_byte_that_moved_elsewhere_is_noticed(answered):
    every, answers = answered
    for program in every:
        if isinstance(program, (WgmmaProgram, MmaProgram)) and not program.exact:
            continue
        changed = answers[program.number].copy()
        changed.reshape(-1)[-1] ^= 1
        assert models.judged(program, changed).word == models.DIFFERENT, program


# -- the programs ------------------------------------------------------------------------------------


def test_programs_are_those_of_every_process_and_all_of_them_different():
    every = programs()
    assert programs.__wrapped__()[::97] == every[::97]
    assert len({(str(p), getattr(p, "data", "") and p.number) for p in every}) == len(every) >= 1000
    assert [program.number for program in every] == list(range(len(every)))
    wide = [p for p in every if isinstance(p, (WgmmaProgram, MmaProgram)) and p.data == WIDE]
    assert len(wide) >= 100
    assert sum(p.a is None for p in every if isinstance(p, WgmmaProgram)) >= 30
    assert sum(p.exact for p in every) >= 700


def test_inputs_are_what_they_were():
    """Records of a device belong to these bytes."""
    picked = [next(program for program in programs() if sort_of(program) == sort) for sort in COUNTS]
    found = [models.digest(*program.inputs().values()) % 10**6 for program in picked]
    assert found == [412674, 587368, 792688, 317968, 744754, 869228, 570309]


# -- the way to a device -----------------------------------------------------------------------------


class Driver:
    """Stands where the driver does; memory is bytes, and a launch is kept for the test to look at."""

    name, capability = "emulated", 90

    def __init__(self):
        self.held, self.launched = {}, []

    def __call__(self, function, *arguments):
        assert function == "cuCtxSynchronize"

    @contextmanager
    def memory(self, *contents):
        found = []
        for content in contents:
            assert isinstance(content, bytes)
            at = ctypes.c_uint64(1 + len(self.held) << 32)
            self.held[at.value] = bytearray(content)
            found.append(at)
        yield found

    @contextmanager
    def kernel(self, code, name, shared_bytes):
        assert code == b"code of " + name.encode()
        yield name

    def launch(self, kernel, grid, threads, shared_bytes, values):
        assert all(ctypes.addressof(value) for value in values)
        self.launched.append((kernel, grid, threads, shared_bytes, values))
        self.answering(kernel, values)

    def read(self, at, count):
        assert count == len(self.held[at.value])
        return bytes(self.held[at.value])


@pytest.fixture
def device(monkeypatch):
    """A device that answers each program with the model, into the buffer that its kernel writes to."""
    made = on_device.Device.__new__(on_device.Device)
    made.driver = Driver()
    made.rooms = []
    names = {kernels.kernel_of(program) for program in programs(FEW)}
    made.code_of = {name: b"code of " + name.encode() for name in names}
    monkeypatch.setattr(on_device, "encoder", lambda: lambda *arguments: 0)
    return made


OUT = {"wgmma": 7, "mma": 6, "ldmatrix": 3, "stmatrix": 3, "load": 2, "chain": 7}
"""{sort of program: the argument that its kernel writes to}."""


def test_what_a_kernel_is_given_is_the_program(device, answered):
    every, answers = answered
    for program in every:
        sort = sort_of(program)

        def answering(kernel, values, program=program, sort=sort):
            held = device.driver.held
            addresses = [getattr(value, "value", 0) for value in values]
            passed = held if sort in ("load", "store", "chain") else [at for at in addresses if at in held]
            given = [bytes(held[at]) for at in passed]
            for content in program.inputs().values():
                assert content.tobytes() in given, (sort, kernel)
            if sort == "store":
                (target,) = (at for at in held if held[at] == bytes([POISON]) * program.global_bytes)
            else:
                target = values[OUT[sort]].value
            answer, stored = answers[program.number].tobytes(), None
            if sort == "chain":
                answer, stored = answer[:CHAIN_BYTES], answer[CHAIN_BYTES:]
                (tensor,) = (at for at in held if held[at] == bytes([POISON]) * len(stored))
                held[tensor][:] = stored
            assert set(held[target]) == {POISON}
            held[target][:] = answer

        device.driver.held.clear()
        device.driver.answering = answering
        assert (device.answer(program) == answers[program.number]).all()
    scales = [launch[4][6].value for launch in device.driver.launched if launch[0].startswith("given_")]
    assert set(scales) == {0, 1}


def test_answers_come_out_of_a_file_up_to_the_last_whole_one(answered, tmp_path):
    every, answers = answered
    own = [program for program in every if sort_of(program) == "load"]
    data = b""
    for program in own:
        one = answers[program.number]
        data += np.array([program.number, one.nbytes], "<i4").tobytes() + one.tobytes()
    path = tmp_path / "answers"
    path.write_bytes(data[:-1])
    found = dict(on_device.kept_answers(path, own))
    assert list(found) == [program.number for program in own[:-1]]
    assert all((found[number] == answers[number]).all() for number in found)
    assert list(on_device.kept_answers(tmp_path / "none", own)) == []


class Inline:
    """Stands where a pool of processes does."""

    def __init__(self, *arguments, **keywords):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def map(self, function, every, chunksize=1):
        return map(function, every)


def test_a_dry_run_writes_a_record_that_holds(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(on_device, "ProcessPoolExecutor", Inline)
    monkeypatch.setattr(on_device, "compiled", lambda source: b"")
    assert on_device.main(["--out", str(tmp_path), "--dry", "--most", "3"]) == 0
    parts = load(tmp_path / "programs.zip")
    assert {truth.part: len(truth.cases) for truth in parts} == {f"programs.{sort}": 3 for sort in COUNTS}
    assert "21 answers, 0 differ, 0 missing" in capsys.readouterr().out


def test_a_run_whose_device_differs_says_where(monkeypatch, tmp_path, capsys):
    plain = models.expected

    def odd(program):
        answer = plain(program).copy()
        if program.number == 3:
            answer.reshape(-1)[5] ^= 1 << 30
        return answer

    monkeypatch.setattr(on_device, "ProcessPoolExecutor", Inline)
    monkeypatch.setattr(on_device, "compiled", lambda source: b"")
    monkeypatch.setattr(on_device.Run, "answers", lambda self: {p.number: odd(p) for p in self.programs})
    assert on_device.main(["--out", str(tmp_path), "--dry", "--most", "3"]) == 1
    said = capsys.readouterr().out
    assert "21 answers, 1 differ, 0 missing" in said
    assert "different, program 3, " in said
    assert list(np.load(tmp_path / "different.npz")) == ["3"]


def test_a_program_that_ends_its_process_costs_itself_alone(monkeypatch, tmp_path, answered):
    """The process ends at the second program; a fresh one goes on with the third."""
    every, answers = answered
    own = [program for program in every if sort_of(program) == "ldmatrix"]
    asked = []

    def run(command, **keywords):
        first, folder = int(command[-2]), Path(command[-1])
        asked.append(first)
        until = len(own) if first else 1
        with (folder / f"ldmatrix.{first}").open("wb") as file:
            for program in own[first:until]:
                one = answers[program.number]
                file.write(np.array([program.number, one.nbytes], "<i4").tobytes() + one.tobytes())
        return on_device.subprocess.CompletedProcess(command, 1, "", "CUresult 700")

    monkeypatch.setattr(on_device.subprocess, "run", run)
    args = on_device.argparse.Namespace(out=tmp_path, dry=False, most=FEW)
    made = on_device.Run(args, tmp_path)
    found = made.answers_of("ldmatrix", own)
    assert asked == [0, 2]
    assert sorted(found) == sorted(p.number for p in own if p is not own[1])
    assert "CUresult 700" in made.lines[-1]


@pytest.mark.slow
def test_every_kernel_compiles_for_hopper():
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC")
    few = [*programs(2), *(p for p in programs() if isinstance(p, WgmmaProgram) and p.this.n == 8)]
    names = set()
    for text, own in kernels.sources(few):
        code, said = nvrtc.compile_to_cubin(library, text, "--gpu-architecture=sm_90a")
        assert all(name.encode() in code for name in own), said
        names |= set(own)
    assert names >= {kernels.kernel_of(program) for program in few}
