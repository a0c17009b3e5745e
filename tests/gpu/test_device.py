"""Finding a GPU: what is there, and a plain refusal for all that is not."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tilewise import Refused
from tilewise.gpu.device import HOPPER, Gpu, find, package


class DynamicLibNotFoundError(RuntimeError):
    """The binding's, by name."""


@pytest.fixture
def core(monkeypatch):
    """A `cuda.core` that is made up; the test says what its Device is."""
    module = ModuleType("cuda.core")
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.core", module)
    return module


def device(name, major, minor):
    return lambda index: SimpleNamespace(name=name, compute_capability=(major, minor))


def raising(error):
    def fail(index):
        raise error

    return fail


def test_what_is_there_is_found(core):
    core.Device = device("NVIDIA H200", 9, 0)
    assert find() == find(capability=HOPPER) == Gpu(0, "NVIDIA H200", (9, 0))


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((8, 0), "sm_80"), ((9, 0), "sm_90a"), ((10, 0), "sm_100a"), ((12, 1), "sm_121a")],
)
def test_the_target_has_the_generations_own_instructions(capability, arch):
    assert Gpu(0, "", capability).arch == arch


def test_another_generation_is_refused_with_both_numbers(core):
    core.Device = device("NVIDIA A100", 8, 0)
    assert find().arch == "sm_80"
    with pytest.raises(Refused, match=r"NVIDIA A100 has compute capability 8.0; 9.0 is needed") as caught:
        find(capability=HOPPER)
    assert caught.value.code == "TW608"
    assert caught.value.witness == {"name": "NVIDIA A100", "capability": "8.0", "wanted": "9.0"}
    assert "H200" in caught.value.hint


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DynamicLibNotFoundError("libcuda.so: long story"), "no NVIDIA driver is installed"),
        (RuntimeError("CUDA_ERROR_NO_DEVICE: none\nmore"), "CUDA_ERROR_NO_DEVICE: none"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_the_binding_raises_is_a_refusal_of_one_line(core, error, said):
    core.Device = raising(error)
    with pytest.raises(Refused) as caught:
        find(3)
    assert caught.value.reason == f"no GPU 3 can be used here: {said}"
    assert caught.value.code == "TW608"
    assert caught.value.__cause__ is error


def test_a_package_that_is_missing_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    with pytest.raises(Refused, match=r"cuda\.core is not installed") as caught:
        package("cuda.core")
    assert caught.value.hint == "pip install 'tilewise[gpu]'"
    with pytest.raises(Refused, match="is not installed"):
        find()
