"""A seeded sample of the algebra's soak; that it notices a fault; and CuTe's rule against its values."""

import pytest
from tests.soak import algebra, families

from tilewise.core.algebra import composition as module

SAMPLE_SIZE = 3_000


def test_a_sample_has_no_fault(capsys, times):
    assert algebra.main(["--count", str(times(SAMPLE_SIZE)), "--seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert "0 wrong" in printed
    for name in algebra.checks():
        assert f"{name:26}" in printed


def test_every_family_of_operations_is_soaked():
    assert {"compose", "compose_swizzled", "slice"} <= algebra.checks().keys()
    assert {"affine", "code", "strides", "view"} <= algebra.checks().keys()


def test_what_engines_can_use_is_soaked(capsys):
    assert algebra.main(["--hardware", "--count", "30", "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{name:26}" in printed for name in ("match", "plan", "agree", "banks"))


def test_a_fault_is_noticed_and_met_again(monkeypatch, capsys):
    right = module.digits_of
    monkeypatch.setattr(
        module, "digits_of", lambda form, extent: [(e, s + 1) for e, s in right(form, extent)]
    )
    assert algebra.main(["--count", "400", "--only", "compose"]) == 1
    first = capsys.readouterr().out.strip().splitlines()[0]
    assert first.startswith("compose is wrong: --seed 1 --first ")
    assert algebra.main(first.split(": ")[1].split()) == 1


@pytest.mark.parametrize("family", families.FAMILIES)
def test_more_is_answered_than_by_cutes_rule_and_nothing_is_wrong(family, times):
    report = algebra.check_chunk((11, range(times(1500)), (family,)))
    assert not report.fault
    counts = {key: n for (_, key), n in report.families.items()}
    assert counts["answered"] == counts["exact exists"]
    assert counts["answered"] >= counts["rule right"]
    assert counts.get("rule wrong", 0) == 0 or family != "powers of two everywhere"


@pytest.mark.parametrize(
    ("a", "b", "modes"),
    [
        ([(6, 8), (2, 2)], [(4, 3), (3, 1)], [[(2, 24), (2, 2)], [(3, 8)]]),
        ([(6, 8), (8, 1)], [(12, 4)], [[(2, 32), (6, 1)]]),
        ([(16, 5), (5, 1)], [(16, 4), (2, 6)], [[(4, 20), (4, 1)], [(2, 30)]]),
        ([(4, 2), (6, 3), (8, 5)], [(6, 3)], [[(2, 6), (3, 3)]]),
        ([(10, 16), (2, 4)], [(5, 1), (4, 5)], [[(5, 16)], [(2, 80), (2, 4)]]),
    ],
)
def test_cutes_rule_gives_its_published_results_right_or_wrong(a, b, modes):
    assert families.cute_rule(a, b) == modes
