"""The verification's framework, with devices that are made up: resuming, recording, differences, reports."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from tests.gpu.parts import DEVICE, Squares, broken_part
from tools.questions.__main__ import DRAWN
from tools.record import confirmed, main, record, table_text

from tilewise import LayoutError
from tilewise.gpu.verify.part import Questions, kept_questions
from tilewise.gpu.verify.parts import PARTS, chosen
from tilewise.gpu.verify.run import Verification, run
from tilewise.gpu.verify.truth import Truth, load, save
from tilewise.hardware.catalog.confirmed import checked, confirmations


def outcomes_of(tmp_path, *parts, **options):
    return list(run(parts, DEVICE, state=tmp_path / "state", **options))


# -- part after part -------------------------------------------------------------------------------


def test_a_device_that_does_what_the_catalogue_says_is_right(tmp_path):
    (outcome,) = outcomes_of(tmp_path, Squares().part)
    assert outcome.right
    assert (outcome.comparison.cases, outcome.comparison.numbers) == (10, 10)
    assert outcome.comparison.covered == {"parity": {"even": 5, "odd": 5}}
    assert outcome.truth.device == DEVICE


def test_a_planted_difference_is_found_with_its_witness(tmp_path):
    (outcome,) = outcomes_of(tmp_path, Squares(wrong=(3, 7)).part)
    assert not outcome.right
    assert outcome.comparison.different == 2
    assert outcome.comparison.differences[0].data() == {
        "case": "x = 3",
        "message": "10",
        "witness": {"x": 3, "found": 10},
    }


def test_only_so_many_differences_are_kept_and_all_are_counted(tmp_path):
    (outcome,) = outcomes_of(tmp_path, Squares(count=300, wrong=tuple(range(250))).part)
    assert outcome.comparison.different == 250
    assert len(outcome.comparison.differences) == 100
    assert "and 245 more" in Verification(DEVICE, [outcome]).text()


def test_a_part_that_ends_the_device_is_told_and_the_others_go_on(tmp_path):
    first, second = outcomes_of(tmp_path, broken_part(), Squares().part)
    assert first.failed == "RuntimeError: an illegal address"
    assert not first.right
    assert second.right


def test_how_far_it_is_is_told(tmp_path):
    told = []
    outcomes_of(
        tmp_path, Squares(count=3).part, told=lambda part, done, total: told.append((part.name, done, total))
    )
    assert told == [("toy.squares", 1, 3), ("toy.squares", 2, 3), ("toy.squares", 3, 3)]


# -- resuming --------------------------------------------------------------------------------------


def test_a_resumed_part_is_compared_again_and_not_asked_again(tmp_path):
    toy = Squares(wrong=(2,))
    outcomes_of(tmp_path, toy.part)
    (again,) = outcomes_of(tmp_path, toy.part, resume=True)
    assert toy.asked == 1
    assert again.resumed
    assert again.comparison.different == 1


def test_without_resume_it_is_asked_again(tmp_path):
    toy = Squares()
    outcomes_of(tmp_path, toy.part)
    outcomes_of(tmp_path, toy.part)
    assert toy.asked == 2


def test_only_what_is_missing_is_asked(tmp_path):
    done, broken = Squares("toy.done"), broken_part()
    outcomes_of(tmp_path, done.part, broken)
    mended = Squares(broken.name)
    outcomes = outcomes_of(tmp_path, done.part, mended.part, resume=True)
    assert [outcome.resumed for outcome in outcomes] == [True, False]
    assert (done.asked, mended.asked) == (1, 1)


@pytest.mark.parametrize("other", [{"name": "NVIDIA H100"}, {"driver": "590.00, CUDA 13.5"}])
def test_answers_of_another_device_or_driver_are_not_kept(tmp_path, other):
    toy = Squares()
    outcomes_of(tmp_path, toy.part)
    list(run([toy.part], DEVICE | other, state=tmp_path / "state", resume=True))
    assert toy.asked == 2


def test_answers_to_fewer_cases_are_not_kept(tmp_path):
    outcomes_of(tmp_path, Squares(count=9).part)
    more = Squares(count=10)
    (outcome,) = outcomes_of(tmp_path, more.part, resume=True)
    assert more.asked == 1
    assert not outcome.resumed


# -- the record ------------------------------------------------------------------------------------


def test_a_record_gives_back_what_was_said(tmp_path):
    rng = np.random.default_rng(4)
    extremes = np.array([-(2**31), 2**31 - 1, 0, -1, 2**31 - 1, -(2**31)], np.int32)
    truths = [
        Truth("a.b", [{"length": 6}], {"extremes": extremes}, DEVICE),
        Truth("a.c", [{"length": 700}], {"random": rng.integers(-9, 9, 700), "more": np.arange(700)}, DEVICE),
        Truth("a.none", [], {"nothing": np.zeros(0, np.int32)}, DEVICE),
    ]
    save(tmp_path / "a.zip", truths)
    for given, back in zip(truths, load(tmp_path / "a.zip"), strict=True):
        assert (back.part, back.cases, back.device) == (given.part, given.cases, given.device)
        assert back.arrays.keys() == given.arrays.keys()
        for name, array in given.arrays.items():
            assert np.array_equal(back.arrays[name], array)


def test_the_same_truth_is_the_same_file(tmp_path):
    truth = Truth("a.b", [{"length": 2}], {"x": np.array([3, 4])}, DEVICE)
    save(tmp_path / "one.zip", [truth])
    save(tmp_path / "two.zip", [truth])
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


@pytest.mark.parametrize("numbers", [[2**31, 0, -1], [2**63 - 1, -(2**63), 7], [-(2**31), 2**31 - 1]])
def test_wide_numbers_are_not_cut(tmp_path, numbers):
    save(tmp_path / "a.zip", [Truth("a.b", [], {"x": np.array(numbers)})])
    (back,) = load(tmp_path / "a.zip")
    assert back.arrays["x"].tolist() == numbers


def test_a_record_that_is_short_of_numbers_says_so():
    truth = Truth("a.b", [{"length": 2}, {"length": 2}], {"x": np.arange(3)})
    with pytest.raises(LayoutError, match="3 numbers of x for cases of 4"):
        list(truth.parted("x"))


def test_what_is_no_record_says_so(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"nothing")
    with pytest.raises(LayoutError, match="no record of a device") as caught:
        load(tmp_path / "a.zip")
    assert caught.value.code == "TW402"
    with pytest.raises(LayoutError, match=r"there is no record .*b\.zip"):
        load(tmp_path / "b.zip")


def test_parts_of_a_family_share_a_file_and_newer_ones_take_the_place_of_older(tmp_path):
    old, kept = Squares("toy.one", wrong=(1,)), Squares("toy.two")
    record(outcomes_of(tmp_path, old.part, kept.part), tmp_path / "truth")
    record(outcomes_of(tmp_path, Squares("toy.one").part), tmp_path / "truth")
    one, two = load(tmp_path / "truth" / "toy.zip")
    assert (one.part, two.part) == ("toy.one", "toy.two")
    assert one.arrays["answers"].tolist() == two.arrays["answers"].tolist()


def test_the_answers_of_a_run_become_a_record(tmp_path, monkeypatch, capsys):
    toy = Squares(wrong=(4,))
    monkeypatch.setattr("tools.record.PARTS", {toy.part.name: toy.part})
    outcomes_of(tmp_path, toy.part)
    assert main([str(tmp_path / "state"), str(tmp_path / "truth")]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / "truth" / name) for name in ("toy.zip", "confirmed.json")
    ]
    (truth,) = load(tmp_path / "truth" / "toy.zip")
    assert toy.part.compare(truth).different == 1


def test_what_was_recorded_compares_as_what_was_measured(tmp_path):
    toy = Squares(wrong=(4,))
    outcomes = outcomes_of(tmp_path, toy.part)
    record(outcomes, tmp_path)
    (truth,) = load(tmp_path / "toy.zip")
    assert toy.part.compare(truth).differences == outcomes[0].comparison.differences


# -- what is confirmed -----------------------------------------------------------------------------


def test_a_device_confirms_what_every_part_of_an_entry_says(tmp_path):
    table = checked({"wgmma.D": ["document"], "wgmma.A": ["document"], "other": ["document"]})
    outcomes = outcomes_of(tmp_path, Squares().part)
    assert confirmed(outcomes, table) == table | checked({"wgmma.D": ["document", "device: H200"]})
    twice = confirmed(outcomes, confirmed(outcomes, table))
    assert [*twice["wgmma.D"]] == ["document", "device: H200"]


def test_one_difference_and_the_device_confirms_it_no_longer(tmp_path):
    table = checked({"wgmma.D": ["document", "device: H200", "oracle: CuTe"]})
    outcomes = outcomes_of(tmp_path, Squares().part, Squares("toy.wrong", wrong=(1,)).part)
    assert confirmed(outcomes, table) == checked({"wgmma.D": ["document", "oracle: CuTe"]})


def test_a_part_without_answers_confirms_nothing(tmp_path):
    table = checked({"wgmma.A": ["document"], "wgmma.D": ["document"]})
    assert confirmed(outcomes_of(tmp_path, broken_part()), table) == table


def confirming(part, *words):
    questions = Questions(words, part.cases())
    return replace(part, questions=lambda name: questions)


def test_a_device_confirms_instance_by_instance(tmp_path):
    right = confirming(Squares("toy.right").part, "mma.A x f16", "mma.A x bf16")
    wrong = confirming(Squares("toy.wrong", wrong=(1,)).part, "mma.A x bf16", "mma.A x s8")
    table = checked({"mma.A": {"document": "all", "device: H200": ["x: s8 f64", "y: f64"]}})
    found = confirmed(outcomes_of(tmp_path, right, wrong), table)
    assert found == checked({"mma.A": {"document": "all", "device: H200": ["x: f16 f64", "y: f64"]}})


def test_the_table_is_written_as_the_catalogue_reads_it(tmp_path):
    record(outcomes_of(tmp_path, Squares().part), tmp_path)
    written = checked(json.loads((tmp_path / "confirmed.json").read_text()))
    assert written.keys() == confirmations().keys()
    assert [*written["wgmma.D"]][-1] == "device: H200"
    assert table_text(written) == (tmp_path / "confirmed.json").read_text()


# -- the report ------------------------------------------------------------------------------------


@pytest.fixture
def report(tmp_path):
    return Verification(DEVICE, outcomes_of(tmp_path, Squares("toy.<b>", wrong=(3,)).part, broken_part()))


def test_the_report_in_text(report):
    text = report.text()
    assert text.startswith("name NVIDIA H200, driver 580.00, CUDA 13.0, date 2026-01-01\n")
    assert "toy.<b>     differs      10 cases           10 answers      1 differ" in text
    assert "  x = 3\n    10\n" in text
    assert "toy.broken  failed        0 cases" in text
    assert "  RuntimeError: an illegal address\n" in text
    assert text.endswith("1 difference in 10 cases and 10 answers; 1 part without answers")


def test_the_report_in_json(report):
    data = json.loads(json.dumps(report.data()))
    assert (data["answer"], data["cases"], data["answers"], data["different"]) == (False, 10, 10, 1)
    assert data["reason"] == "toy.<b>: x = 3: 10"
    assert data["witness"] == {"x": 3, "found": 10}
    assert [part["name"] for part in data["parts"]] == ["toy.<b>", "toy.broken"]
    assert data["parts"][0]["covered"] == {"parity": {"even": 5, "odd": 5}}
    assert data["parts"][1]["failed"] == "RuntimeError: an illegal address"


def test_a_right_report_has_no_reason(tmp_path):
    right = Verification(DEVICE, outcomes_of(tmp_path, Squares().part))
    assert right.data()["answer"] is True
    assert "reason" not in right.data()
    assert right.verdict == "0 differences in 10 cases and 10 answers"


def test_a_failed_part_alone_is_the_reason(tmp_path):
    failed = Verification(DEVICE, outcomes_of(tmp_path, broken_part()))
    assert failed.reason == "toy.broken: RuntimeError: an illegal address"
    assert failed.data()["witness"] is None


# -- parts by name ---------------------------------------------------------------------------------


def test_parts_are_chosen_by_name_or_family():
    assert chosen([]) == list(PARTS.values())
    assert [part.name for part in chosen(["tma.rules"])] == ["tma.rules"]
    assert [part.name for part in chosen(["tma"])] == ["tma.boxes", "tma.rules", "tma.faults"]


def test_an_unknown_part_is_refused():
    with pytest.raises(LayoutError, match="no part 'tam'") as caught:
        chosen(["tma", "tam"])
    assert caught.value.code == "TW601"
    assert "tma.boxes" in caught.value.hint


def test_the_questions_are_those_that_are_drawn():
    assert DRAWN.keys() == PARTS.keys()
    for name, draw in DRAWN.items():
        assert json.loads(json.dumps(asdict(draw()))) == asdict(kept_questions(name)), name


def test_every_part_has_cases_and_confirms_something():
    for part in PARTS.values():
        assert part.confirms
        assert len(part.cases()) > 10
        assert part == replace(part)
