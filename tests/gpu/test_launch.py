"""Launching: what reaches the driver, with packages that are made up, and the arguments of the probe."""

import ctypes
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tilewise.gpu.device import Gpu
from tilewise.gpu.launch import Session
from tilewise.gpu.verify import wgmma
from tilewise.gpu.verify.wgmma import Bench, WgmmaProbe


class Driver:
    """Device memory as bytes by address, and what was called."""

    def __init__(self, monkeypatch):
        self.memory, self.said, self.status, self.waits = {}, [], 0, 0
        driver, core = ModuleType("cuda.bindings.driver"), ModuleType("cuda.core")
        driver.CUfunction_attribute = SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared"
        )
        driver.CUkernel = lambda handle: ("kernel", handle)
        driver.cuDeviceGet = lambda index: (0, f"device {index}")
        driver.cuKernelSetAttribute = lambda *words: self._say(words)
        driver.cuMemcpyHtoD = lambda to, at, size: self._say(("up", to, bytes_at(at, size)))
        driver.cuMemcpyDtoH = lambda at, source, size: self._give(at, source, size)
        core.Device = lambda index: SimpleNamespace(
            set_current=lambda: None,
            create_stream=lambda: SimpleNamespace(sync=self._wait),
            allocate=self._allocate,
        )
        core.ObjectCode = SimpleNamespace(
            from_cubin=lambda code: SimpleNamespace(get_kernel=lambda name: SimpleNamespace(handle=len(name)))
        )
        core.LaunchConfig = lambda **words: words
        core.launch = lambda stream, config, kernel, *arguments: self.said.append(
            (config, kernel.handle, arguments)
        )
        for name, module in {"cuda.core": core, "cuda.bindings.driver": driver}.items():
            monkeypatch.setitem(sys.modules, name.rpartition(".")[0], ModuleType("above"))
            monkeypatch.setitem(sys.modules, name, module)

    def _allocate(self, size, *, stream):
        handle = 4096 * (1 + len(self.memory))
        self.memory[handle] = size
        return SimpleNamespace(handle=handle, size=size)

    def _say(self, words):
        self.said.append(words)
        return (self.status,)

    def _give(self, at, source, size):
        np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(at))[:] = 7
        return self._say(("down", source, size))

    def _wait(self):
        self.waits += 1


def bytes_at(address, size):
    return ctypes.string_at(address, size)


@pytest.fixture
def driver(monkeypatch):
    return Driver(monkeypatch)


@pytest.fixture
def session(driver):
    return Session(Gpu(0, "made up", (9, 0)))


def test_arrays_go_there_whole_and_in_order_of_memory(driver, session):
    session.upload(np.arange(6, dtype=np.uint16).reshape(2, 3).T)
    assert driver.said == [("up", 4096, np.array([0, 3, 1, 4, 2, 5], np.uint16).tobytes())]


def test_an_empty_array_is_a_buffer_and_no_copy(driver, session):
    session.upload(np.zeros(0, np.uint32))
    assert driver.said == []
    assert driver.memory == {4096: 16}


def test_arrays_come_back_when_all_work_is_done(driver, session):
    array = session.download(session.empty(24), "<u2", (3, 4))
    assert (array.shape, array.dtype) == ((3, 4), np.uint16)
    assert (array == 0x0707).all()
    assert driver.waits == 1
    assert driver.said == [("down", 4096, 24)]


def test_an_error_of_the_driver_is_raised_with_its_status(driver, session):
    driver.status = 700
    with pytest.raises(RuntimeError, match="700"):
        session.upload(np.zeros(4, np.uint8))


@pytest.mark.parametrize(("shared", "asks"), [(0, False), (48 * 1024, False), (48 * 1024 + 16, True)])
def test_much_shared_memory_is_asked_for(driver, session, shared, asks):
    session.kernel(b"code", "abc", shared=shared)
    assert driver.said == ([("shared", shared, ("kernel", 3), "device 0")] if asks else [])


def test_a_launch_says_how_many_and_how_much(driver, session):
    session.kernel(b"code", "abc", shared=64)(5, 128, np.int32(1))
    assert driver.said == [({"grid": 5, "block": 128, "shmem_size": 64}, 3, (1,))]


def test_the_probe_is_given_what_its_kernel_takes(session):
    """One argument for each parameter, each of its kind, as many blocks as there is work."""
    given = []
    this = WgmmaProbe("f16", "f16", "f32", 8)
    Bench(session, {this: lambda *words: given.append(words)}).reads(this, "B", [1, 2])
    ((blocks, threads, *arguments),) = given
    assert (blocks, threads) == (2, 128)
    kinds = [parameter.rpartition(" ")[0] for parameter in wgmma.PARAMETERS.split(", ")]
    assert len(arguments) == len(kinds)
    for argument, kind in zip(arguments, kinds, strict=True):
        wanted = {"int": np.int32, "unsigned": np.uint32}.get(kind, SimpleNamespace)
        assert type(argument) is wanted, kind
