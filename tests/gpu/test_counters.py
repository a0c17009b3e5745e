"""The profiler's counters: a whole run on an emulated profiler, right and with planted faults.

Other tests hold the model to the counts of an H200, `truth/counters.zip`.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.codegen import nvrtc
from tests.gpu import counted_launches, counters_on_device, emulated_profiler, rival_counts
from tests.gpu import merge_rules as rules
from tools.counters import counted, kernels, launches, patterns, profiler
from tools.counters.kinds import KINDS, Kind

from tilewise.core.errors import LayoutError, Refused
from tilewise.gpu.verify.truth import load
from tilewise.hardware.memory.banks import OPERATIONS

RECORD = Path(__file__).with_name("truth") / "counters.zip"
MOST_BYTES = 300_000
FEW = 130
"""Patterns of a group in most tests: first come the families that tell rules apart."""


@pytest.fixture
def emulated(monkeypatch, capsys):
    """The profiler in this process; `odd` says what it does otherwise than a right one."""
    odd: dict = {}

    def run(command, *, seconds):
        monkeypatch.setenv("EMULATED_PROFILER", json.dumps(odd))
        capsys.readouterr()
        emulated_profiler.main(list(command[3:]))
        return capsys.readouterr().out

    monkeypatch.setattr(profiler, "run", run)
    monkeypatch.setattr(counters_on_device, "compiled", lambda source: b"")
    return odd


def run(out, *more):
    """The exit code of a dry run, and its report; what it tells its children it tells nobody else."""
    before = os.environ.get("PYTHONPATH")
    code = counters_on_device.main(["--out", str(out), "--dry", *more])
    assert os.environ.get("PYTHONPATH") == before
    return code, (out / "report.txt").read_text(encoding="utf-8")


# -- a whole run -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("together", "launch", "instruction"), [(1, 1, 0), (2, 0, 0), (3, 0, 1), (3, 63, 1)])
def test_every_count_comes_back_whatever_the_counter_adds(emulated, tmp_path, together, launch, instruction):
    emulated |= {"launch": launch, "instruction": instruction}
    code, report = run(tmp_path, "--most", str(FEW), "--together", str(together))
    assert code == 0, report
    assert report.count(" 0 of 130 patterns differ from the model") == 4
    truths = {truth.part: truth for truth in load(tmp_path / "counters.zip")}
    assert {len(truth.cases) for truth in truths.values()} == {FEW}
    constants = truths["counters.shared"].device["constants"]["ld.16"]
    assert constants == [["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", instruction]]
    metric = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    assert set(truths["counters.shared"].device["strays"][metric]) == {str(launch)}


@pytest.mark.parametrize(("rule", "words"), [("ones", "n^1"), ("never", "never")])
def test_another_rule_of_merging_is_noticed_and_named(emulated, tmp_path, rule, words):
    emulated["rule"] = rule
    code, report = run(tmp_path, "--only", "shared", "--most", "1100")
    assert code == 1
    first = report[report.index("rules of merging") :].splitlines()[1]
    assert first.strip().startswith("0 counts it does not give: ")
    assert f"{words}, in the whole warp" in first
    assert re.search(r"counters.shared: [1-9]\d* of 1100 patterns differ", report)


def test_another_way_of_counting_sectors_is_noticed_and_named(emulated, tmp_path):
    emulated["sectors"] = "groups"
    code, report = run(tmp_path, "--only", "global")
    assert code == 1
    assert "   0 counts are not the different sectors of each 128 bytes of lanes" in report
    assert re.search(r"counters.global: [1-9]\d+ of 640 patterns differ", report)


def test_an_interrupted_run_goes_on_where_it_ended(emulated, tmp_path, monkeypatch):
    asked = []
    plain = counters_on_device.Run.one_batch

    def one_batch(run, group, batch):
        asked.append(len(batch))
        if len(asked) == 2:
            raise KeyboardInterrupt
        plain(run, group, batch)

    monkeypatch.setattr(counters_on_device, "LEAST_IN_BATCH", 40)
    monkeypatch.setattr(counters_on_device, "MOST_IN_BATCH", 40)
    monkeypatch.setattr(counters_on_device.Run, "one_batch", one_batch)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "--only", "shared", "--most", "100")
    code, report = run(tmp_path, "--only", "shared", "--most", "100")
    assert code == 0, report
    assert asked == [40, 40, 40, 20]
    (truth,) = load(tmp_path / "counters.zip")
    assert len(truth.cases) == 100


def test_answers_to_other_questions_are_not_taken(emulated, tmp_path):
    run(tmp_path, "--only", "global", "--most", "20")
    before = (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    run(tmp_path, "--only", "global", "--most", "21")
    after = (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert before[0] != after[0]
    assert len(json.loads(after[1])["counts"]) == 21


def test_where_time_is_over_what_was_answered_is_written(emulated, tmp_path):
    code, report = run(tmp_path, "--seconds", "0")
    assert code == 2
    assert "shared: 0 of the 3000 that are needed" in report


def test_a_batch_that_ends_early_is_not_believed(emulated, tmp_path, capsys):
    emulated["ends"] = 7
    code, report = run(tmp_path, "--only", "global")
    assert code == 2
    assert "global: 0 of the 500" in report


def test_a_refusal_is_said_in_plain_words(emulated, tmp_path, capsys):
    emulated["refuses"] = "ERR_NVGPUCTRPERM"
    code, _ = run(tmp_path)
    assert code == 2
    assert "the driver lets administrators alone read the counters" in capsys.readouterr().out


def test_a_metric_that_the_device_lacks_is_left_out_and_another_counts(emulated, tmp_path):
    emulated["without"] = ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"]
    code, report = run(tmp_path, "--only", "shared", "--most", str(FEW))
    assert code == 0, report
    (truth,) = load(tmp_path / "counters.zip")
    constants = truth.device["constants"]
    assert constants["st.4"] == [["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 0]]


def test_where_the_ideal_is_no_metric_its_section_is_asked(emulated, tmp_path):
    emulated["without"] = ["memory_l1_wavefronts_shared_ideal"]
    code, report = run(tmp_path, "--only", "ideal")
    assert code == 0, report
    assert "counters.ideal: 0 of 200 patterns differ" in report


def test_kernels_that_do_not_run_end_the_run_before_the_profiler(emulated, tmp_path, monkeypatch, capsys):
    fake = profiler.Profiler(("python", "-m", "emulated"))
    monkeypatch.setattr(profiler.Profiler, "found", lambda: fake)
    monkeypatch.setattr(counters_on_device, "described", lambda profile, dry: {"name": "none"})
    monkeypatch.setattr(counters_on_device.Run, "program", lambda run, asked: ["x", "-m", "y", "--version"])
    assert counters_on_device.main(["--out", str(tmp_path)]) == 2
    assert "the kernels do not run: NVIDIA (R) Nsight Compute" in capsys.readouterr().out


# -- the record ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=list(counted.GROUPS))
def truth(request):
    """Return the counts of a device."""
    (found,) = load(RECORD, f"counters.{request.param}")
    return found


def test_the_counts_are_what_the_model_predicts(truth):
    found = counted.compare(truth)
    assert not found.differences


RIGHT = "all in pairs n^1 or n^2, in the whole warp"


def test_one_rule_of_merging_alone_gives_every_count():
    (truth,) = load(RECORD, "counters.shared")
    right, second, *others = rival_counts.fitted_merges(truth)
    assert (len(others) + 2, str(right.rule), right.wrong) == (208, RIGHT, 0)
    assert second.wrong == 6


def test_that_rule_is_the_one_of_the_table():
    rule = next(rule for rule in rules.RULES if str(rule) == RIGHT)
    for pattern in patterns.patterns("shared"):
        kind = pattern.kind
        if kind.name in ("ld.8", "ld.16"):
            want = counted.predicted(pattern, "shared")["wavefronts"]
            assert rules.wavefronts(rule, kind.bytes, pattern.addresses) == want, pattern


@pytest.mark.parametrize(("pairs", "many"), [((), 191), ((1,), 71), ((2,), 87), ((1, 2, 4), 59)])
def test_another_rule_in_the_table_is_noticed_on_the_record(monkeypatch, pairs, many):
    (truth,) = load(RECORD, "counters.shared")
    other = replace(OPERATIONS["ld"], pairs=pairs)
    monkeypatch.setitem(OPERATIONS, "ld", other)
    found = counted.compare(truth)
    assert found.different == many
    assert {one.case.partition(",")[0] for one in found.differences} <= {"ld.8", "ld.16"}


PAGE = Path(__file__).parents[2] / "docs" / "banks.md"


def test_the_page_has_the_figures_of_the_record():
    every = {truth.part.partition(".")[2]: truth for truth in load(RECORD)}
    many, differ = Counter(), Counter()
    for group in ("shared", "other"):
        for pattern, counts in counted.recorded(every[group]):
            kind, bytes = pattern.kind.operation, pattern.kind.bytes
            row = {
                "ld": "loads of 1, 2 and 4 bytes" if bytes < 8 else "loads of 8 and 16 bytes",
                "st": "stores of 1 to 16 bytes",
                "atom": "`atom` of 4 bytes",
                "cp.async": "`cp.async`",
            }.get(kind, "`ldmatrix`, `stmatrix`, all forms of 16 bits")
            many[row] += 1
            want = counted.predicted(pattern, group)
            differ[row] += any(counts[name] != count for name, count in want.items())
    page = PAGE.read_text(encoding="utf-8")
    for row, count in many.items():
        assert f"| {row} | {count:,} | {differ[row]} |" in page
    assert len(many) == 6
    assert f"| the ideal | {len(every['ideal'].cases)} | 0 |" in page
    assert f"| {len(every['global'].cases)} | 0 |" in page
    strays = every["shared"].device["strays"]["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"]
    launches, clean = sum(strays.values()), strays["0"]
    assert f"Of {launches} launches that stored, {launches - clean} were counted 1 to 11" in page
    assert max(map(int, strays)) == 11


def test_a_count_that_is_another_is_noticed(truth):
    rng = np.random.default_rng(len(truth.cases))
    before = counted.compare(truth).different
    group = truth.part.partition(".")[2]
    every = [counted.predicted(pattern, group) for pattern, _ in counted.recorded(truth)]
    assert before == 0
    for name in set(truth.arrays) - {"addresses"}:
        changed = truth.arrays[name].copy()
        changed[rng.choice([at for at, want in enumerate(every) if name in want])] += 1
        assert counted.compare(replace(truth, arrays={**truth.arrays, name: changed})).different == 1


def test_the_record_has_enough_patterns_and_is_small():
    sizes = {truth.part.partition(".")[2]: len(truth.cases) for truth in load(RECORD)}
    assert all(sizes[group] >= count for group, count in counters_on_device.ENOUGH.items())
    assert RECORD.stat().st_size <= MOST_BYTES


# -- patterns, launches, kernels -------------------------------------------------------------------


def test_there_are_enough_patterns_of_every_kind_and_family():
    shared = patterns.patterns("shared")
    assert len(shared) == len(set(shared)) >= 3000
    kinds = Counter(pattern.kind.name for pattern in shared)
    assert min(kinds.values()) >= 60
    assert kinds["ld.8"] + kinds["ld.16"] >= 1000
    assert set(kinds) == {kind.name for kind in KINDS.values() if kind.group == "shared"}
    idle = sum(None in p.addresses and not p.kind.matrices for p in shared)
    assert idle >= 300
    assert len(patterns.patterns("global")) >= 500
    families = Counter(pattern.family for pattern in patterns.for_the_ideal(200))
    assert len(families) >= 10


def test_patterns_are_the_same_in_every_process():
    text = repr(patterns.patterns("shared")[-3:])
    fresh = patterns.patterns.__wrapped__("shared")
    assert repr(fresh[-3:]) == text


def test_the_patterns_tell_the_rules_of_merging_apart():
    """Whatever rule a device has, of those thought of: few others give the same counts."""
    loads = [p for p in patterns.patterns("shared") if p.kind.name in ("ld.8", "ld.16")]
    by_rule: dict[tuple[int, ...], list[rules.Rule]] = {}
    every = [rules.Load(pattern.kind.bytes, pattern.addresses) for pattern in loads]
    for rule in rules.RULES:
        by_rule.setdefault(tuple(load.by(rule) for load in every), []).append(rule)
    assert len(by_rule) >= 180
    alone = {str(found[0]) for found in by_rule.values() if len(found) == 1}
    for names in ("n^1", "n^2", "n^4", "n^1 or n^2", "n^1 or n^2 or n^4", "n^1 and n^2, mixed"):
        for scope in ("in the whole warp", "in two phases"):
            assert {f"all in pairs {names}{i}, {scope}" for i in ("", ", an idle partner parts")} <= alone


def test_counts_of_one_word_that_make_no_line_are_refused():
    with pytest.raises(LayoutError, match="counts \\[64, 256, 192\\]"):
        launches.Constants.of(Kind.of("ld.4"), [64, 256, 192])
    with pytest.raises(LayoutError, match="TW402"):
        launches.Constants.of(Kind.of("ld.4"), [0, 0, 0])


class Driver:
    """A stand-in for the driver, which keeps its calls."""

    def __init__(self):
        self.calls, self.launched = [], []

    def __call__(self, function, *arguments):
        self.calls.append(function)

    @contextmanager
    def memory(self, *contents):
        yield [ctypes.c_uint64(512) for _ in contents]

    def launch(self, kernel, grid, threads, shared, values):
        request, _ = values
        self.launched.append((grid, threads, shared, list(request.addresses[1]), list(request.times)))


def test_the_program_under_the_profiler_launches_what_the_file_says(monkeypatch, tmp_path, capsys):
    driver = Driver()
    monkeypatch.setattr(counted_launches, "Driver", lambda: driver)
    first = list(enumerate(p for p in patterns.patterns("shared") if p.kind.name == "ld.8"))[:3]
    asked = launches.dealt(first, together=2)
    code, file = tmp_path / "code", tmp_path / "launches.json"
    code.write_bytes(b"code")
    file.write_text(json.dumps([launch.data() for launch in asked]), encoding="utf-8")
    counted_launches.main(str(code), str(file))
    assert capsys.readouterr().out == "2 launches\n"
    assert driver.calls == ["cuModuleLoadData", "cuModuleGetFunction", "cuCtxSynchronize"]
    (*shape, addresses, times), (*_, alone) = driver.launched
    assert shape == [(1, 1), 32, kernels.WINDOW]
    assert addresses == [kernels.NOBODY if a is None else a for a in first[1][1].addresses]
    assert (times, alone) == ([64, 4096, 0], [64, 0, 0])


def test_lanes_that_are_not_active_are_told_to_the_kernel_and_unread_rows_are_not():
    pattern = next(p for p in patterns.patterns("shared") if p.kind.name == "ldmatrix.x1")
    (launch,) = launches.dealt([(0, pattern)])
    request = counted_launches.requested(launch.data())
    assert list(request.addresses[0][8:]) == [0] * 24
    assert list(request.times) == [64, 0, 0]
    idle = next(p for p in patterns.patterns("shared") if p.addresses[0] is None)
    (launch,) = launches.dealt([(0, idle)])
    assert counted_launches.requested(launch.data()).addresses[0][0] == kernels.NOBODY


@pytest.mark.slow
def test_the_kernels_compile_for_hopper_and_each_has_its_one_instruction():
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC")
    ptx = nvrtc.compile_to_ptx(library, kernels.source(KINDS.values()), "--gpu-architecture=sm_90a")
    for kind in KINDS.values():
        body = ptx[ptx.index(f".entry {kind.kernel}(") :].partition("\n}")[0]
        found = re.findall(r"(?:ld|st|atom|cp\.async|ldmatrix|stmatrix)\.\S+", body)
        own = [word for word in found if not word.startswith(("ld.param", "cp.async.wait"))]
        looked_at = [] if kind.stores else ["st.global.u32"]
        assert own[1:] == looked_at, (kind.name, own)
        assert own[0].startswith(kind.operation), (kind.name, own)


def test_without_the_profiler_the_refusal_says_what_it_is(monkeypatch):
    monkeypatch.setattr(profiler.shutil, "which", lambda name: None)
    monkeypatch.setattr(profiler.Path, "glob", lambda path, pattern: [])
    with pytest.raises(Refused, match="Nsight Compute is not installed"):
        profiler.Profiler.found()


def test_a_program_that_does_not_end_is_ended_with_what_it_started():
    with pytest.raises(TimeoutError, match=r"more than 0 s"):
        profiler.run(["sh", "-c", "sleep 30 & sleep 30"], seconds=0.2)


CSV = """==PROF== Connected to process 130 (/usr/bin/python3.12)
==PROF== Profiling "counted_ld_4" - 0: 0%....50%....100% - 1 pass
2 launches
==PROF== Disconnected from process 130
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",\
"Device","CC","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum","memory_l1_wavefronts_shared"
"","","","","","","","","","","","",""
"0","130","python3.12","127.0.0.1","counted_ld_4","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","1,056","32 (32)"
"1","130","python3.12","127.0.0.1","counted_ld_4(Request, unsigned char *)","1","7","(32, 1, 1)",\
"(1, 1, 1)","0","9.0","2","n/a"
"""


def test_the_profilers_own_words_are_read():
    first, second = profiler.parsed(CSV)
    assert first.metrics == {
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 1056,
        "memory_l1_wavefronts_shared": 32,
    }
    assert second.metrics == {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 2}
    assert profiler.parsed("==ERROR== nothing") == []
