"""`plan --tune` with a GPU to measure on, which is made up, and without one."""

import pytest

from tilewise.core.errors import Refused
from tilewise.gpu.device import Gpu
from tilewise.moves.arrays import tuned

ASKED = ("transpose(512, 256)", "--dtype", "f32", "--tune")


def test_what_is_measured_is_told(tilewise, monkeypatch):
    monkeypatch.setattr(tuned, "gpu_of", lambda index: Gpu(index, "made up", (9, 0)))
    monkeypatch.setattr(
        tuned, "_measured", lambda plans, index: [10e-6 - i * 1e-6 for i in range(len(plans))]
    )
    kept = []
    monkeypatch.setattr(tuned, "_remember", lambda *words: kept.append(words))
    run = tilewise("plan", *ASKED, "--json")
    assert run.code == 0
    assert len(run.json["measured"]) > 1
    assert run.json["measured"][-1].startswith(" x ".join(map(str, run.json["tile"]["elements"])))
    assert [words[0] for words in kept] == ["made up"]
    assert "10.0 us" in tilewise("plan", *ASKED).out


@pytest.mark.parametrize("words", [ASKED, (*ASKED, "--json")])
def test_without_a_gpu_nothing_is_measured(tilewise, monkeypatch, words):
    def missing(index):
        raise Refused("TW608", "no GPU 0 can be used here", hint="take one")

    monkeypatch.setattr(tuned, "gpu_of", missing)
    run = tilewise("plan", *words)
    assert run.code == 2
    assert "nothing is measured: no GPU 0 can be used here" in run.out + run.err
