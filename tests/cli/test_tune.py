"""`plan --tune` and `emit gemm --tune` with a GPU to measure on, which is made up, and without one."""

from dataclasses import replace

import pytest

from tilewise.codegen.gemm import GemmProblem
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.gpu.device import Gpu
from tilewise.moves.arrays import tuned
from tilewise.products import choice
from tilewise.products import tuned as products

ASKED = ("transpose(512, 256)", "--dtype", "f32", "--tune")


def test_what_is_measured_is_told(tilewise, monkeypatch):
    monkeypatch.setattr(tuned, "gpu_of", lambda index: Gpu(index, "made up", (9, 0)))
    monkeypatch.setattr(
        tuned, "_measured", lambda plans, index: [10e-6 - i * 1e-6 for i in range(len(plans))]
    )
    kept = []
    monkeypatch.setattr(tuned.kept, "remember", lambda file, *words: kept.append(words))
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


# -- products --------------------------------------------------------------------------------------

PRODUCT = ("emit", "gemm", "--dtype", "bf16", "--problem", "512x28672x4096", "--tune")


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """A GPU that is made up, on which tiles of 192 columns are the fastest."""
    monkeypatch.setenv("TILEWISE_CACHE", str(tmp_path))
    products.kept.known.cache_clear()
    gpu = Gpu(0, "made up", (9, 0))
    for module in (products, choice):
        monkeypatch.setattr(module, "find", lambda index, capability=None: gpu)
    monkeypatch.setattr(products, "_torch", lambda: None)
    monkeypatch.setattr(products, "multiprocessors", lambda index: 132)
    monkeypatch.setattr(products, "cubins", lambda sources: None)
    times = {(128, 192): 150e-6, (128, 224): 170e-6}
    monkeypatch.setattr(
        products,
        "_seconds",
        lambda torch, problem, plans, choices, index: [
            times.get(own.tile, 200e-6) + 1e-6 * own.group for own in choices
        ],
    )
    yield
    products.kept.known.cache_clear()


def test_the_fastest_tile_of_a_product_is_written_and_remembered(tilewise, measured):
    run = tilewise(*PRODUCT, "--json")
    assert run.code == 0
    assert run.json["tile"] == [128, 192, 64]
    assert run.json["schedule"]["group"] == 4
    assert run.json["measured"][0].endswith("kernels, measured on made up:")
    assert run.json["measured"][-1].startswith("128x192 in clusters of ")
    assert run.json["measured"][-1].endswith("groups of 4: 154.0 us")
    text = tilewise(*PRODUCT).out
    assert "// 128x224 in clusters of 2x1, groups of 8: 178.0 us" in text
    problem = GemmProblem(500, 28672, 4096, (DType.of("bf16"),) * 2)
    assert choice.choice_of(problem, 0).tile == (128, 192)  # of as many rows, up to a power of two
    assert choice.choice_of(replace(problem, m=300), 0).tile == (128, 192)
    assert choice.choice_of(replace(problem, m=513), 0) == replace(problem, m=513).chosen
    assert choice.choice_of(replace(problem, majors=("mn", "k")), 0).tile != (128, 192)


def test_what_is_faster_by_chance_is_not_taken(tilewise, measured, monkeypatch):
    monkeypatch.setattr(products, "_seconds", lambda *words: [100e-6] + [99.5e-6] * (len(words[3]) - 1))
    assert tilewise(*PRODUCT, "--json").json["tile"] == [128, 224, 64]


def test_a_product_is_not_measured_without_a_problem_a_gpu_or_torch(tilewise, measured, monkeypatch):
    assert "there is no problem to measure" in tilewise("emit", "gemm", "--dtype", "bf16", "--tune").err

    def missing(*words, **more):
        raise Refused("TW608", "no GPU 0 can be used here", hint="take one")

    for name in ("find", "_torch"):
        monkeypatch.setattr(products, name, missing)
        run = tilewise(*PRODUCT)
        assert run.code == 2
        assert "nothing is measured: no GPU 0 can be used here" in run.err
    run = tilewise("emit", "gemm", "--dtype-a", "bf16", "--dtype-b", "e4m3", *PRODUCT[4:])
    assert run.code != 0
