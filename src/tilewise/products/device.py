"""Kernels with tensor maps on a GPU: loaded once, launched with the addresses of a call."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from tilewise.codegen.gemm import HopperPlan, kernel_source
from tilewise.codegen.parts.pipeline import tma_type
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.gpu import device as devices
from tilewise.gpu.compile import Source, cubin
from tilewise.gpu.device import checked, context, in_context
from tilewise.hardware.modes import Mode

ALIGNED = 16
"""Bytes of which TMA takes addresses and pitches as multiples."""
TOTAL_THREADS, TOTAL_BLOCKS = 256, 8
"""Threads of a block that adds sums up, and such blocks of a multiprocessor."""
MAP = 128
"""Bytes of a tensor map; it begins at a multiple of half of them."""
MAPS = 256
"""Addresses of a matrix whose maps are remembered, at most."""


@dataclass(frozen=True)
class TmaMatrix:
    """A matrix, or several, as TMA sees it: extents from the fastest, and strides in bytes of all others."""

    dtype: DType
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    mode: Mode

    @property
    def reach(self) -> int:
        """Return the bytes from the first element to the end of the last one."""
        steps = zip(self.extents[1:], self.strides, strict=True)
        line = self.extents[0] * self.dtype.bits // 8
        return line + sum((extent - 1) * stride for extent, stride in steps)


class Launches:
    """Launches by the facts of their tensors, of which the first are forgotten for new ones."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept: dict[Any, Any] = {}
        self.get = self._kept.get

    def put(self, key: Any, launch: Any) -> None:
        """Remember a launch."""
        with self._lock:
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = launch


class Arguments:
    """Room for the arguments of a kernel, of which some change from call to call."""

    def __init__(self, maps: int, words: Sequence[str], sizes: Sequence[int]) -> None:
        count = len(words) + len(sizes)
        self._room = ctypes.create_string_buffer(maps * MAP + 8 * count + MAP // 2)
        first = -(-ctypes.addressof(self._room) // (MAP // 2)) * (MAP // 2)
        self.maps = [first + MAP * at for at in range(maps)]
        after = [first + MAP * maps + 8 * at for at in range(count)]
        kinds = [ctypes.c_float if word == "f32" else ctypes.c_uint64 for word in words]
        self._cells = [kind.from_address(at) for kind, at in zip(kinds, after, strict=False)]
        for at, size in zip(after[len(words) :], sizes, strict=True):
            ctypes.c_int64.from_address(at).value = size
        self._pointers = (ctypes.c_uint64 * (maps + count))(*self.maps, *after)
        self.address = ctypes.addressof(self._pointers)

    def put(self, words: Sequence[Any]) -> None:
        """Set the words that change."""
        for cell, word in zip(self._cells, words, strict=True):
            cell.value = word


class BoundKernel:
    """A kernel with its arguments, for tensors of some extents. A call with addresses launches it."""

    def __init__(
        self,
        index: int,
        function: Any,
        config: Any,
        matrices: Mapping[str, TmaMatrix],
        words: Sequence[str],
        sizes: Sequence[int],
    ) -> None:
        self._driver = devices.driver()
        self._function, self._config, self._context = function, config, context(index)
        self._names, self._matrices, self._lock = tuple(matrices), tuple(matrices.values()), Lock()
        self._reach = [own.reach for own in self._matrices]
        self._arguments = Arguments(len(matrices), words, sizes)
        self._maps: list[dict[int, bytes]] = [{} for _ in matrices]
        self._known: Sequence[int] = ()

    def __call__(self, addresses: Sequence[int], words: Sequence[Any], stream: int) -> None:
        """Launch on a stream, and return at once."""
        with self._lock:
            if addresses != self._known:
                self._check_apart(addresses)
                maps = [self._map(at, address) for at, address in enumerate(addresses)]
                for place, content in zip(self._arguments.maps, maps, strict=True):
                    ctypes.memmove(place, content, MAP)
                self._known = addresses
            self._arguments.put(words)
            self._config.hStream = stream
            driver, launch = self._driver, (self._config, self._function, self._arguments.address, 0)
            checked(in_context(driver, self._context, driver.cuLaunchKernelEx, *launch))

    def _check_apart(self, addresses: Sequence[int]) -> None:
        """Refuse a result, which is the last one, over others, and tensors without storage of their own."""
        if 0 in addresses:
            hint = "x.to_local() is a DTensor's part on this device"
            raise LayoutError("TW704", f"{self._names[addresses.index(0)]} has no storage", hint=hint)
        out, end = addresses[-1], addresses[-1] + self._reach[-1]
        for name, begin, reach in zip(self._names[:-1], addresses, self._reach, strict=False):
            if begin < end and out < begin + reach:
                hint = "out= of storage of its own"
                raise LayoutError("TW704", f"the result and {name} lie in one span of memory", hint=hint)

    def _map(self, at: int, address: int) -> bytes:
        """Return the tensor map of a matrix at an address."""
        known, own = self._maps[at], self._matrices[at]
        if address in known:
            return known[address]
        if address % ALIGNED:
            raise LayoutError(
                "TW704",
                f"{self._names[at]} begins at byte {address % ALIGNED} of {ALIGNED}",
                hint="TMA takes multiples: x.clone() begins at one",
            )
        if len(known) >= MAPS:
            known.clear()
        names, rank = self._driver, len(own.extents)
        made = checked(
            names.cuTensorMapEncodeTiled(
                getattr(names.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{tma_type(own.dtype)}"),
                rank,
                address,
                [names.cuuint64_t(extent) for extent in own.extents],
                [names.cuuint64_t(stride) for stride in own.strides],
                [names.cuuint32_t(extent) for extent in own.box],
                [names.cuuint32_t(1)] * rank,
                names.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
                getattr(names.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{own.mode.name.upper()}"),
                names.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                names.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        )
        known[address] = ctypes.string_at(int(made.getPtr()), MAP)
        return known[address]


def bound_product(
    plan: HopperPlan,
    index: int,
    matrices: Mapping[str, TmaMatrix],
    words: Sequence[str],
    sizes: Sequence[int],
) -> BoundKernel:
    """Return the kernel of a plan for matrices, of which D is the last."""
    function = _function(plan, index)
    return BoundKernel(
        index, function, _of_all(plan.first, index, function, matrices["D"]), matrices, words, sizes
    )


class BoundTotal:
    """The kernel that adds up the sums of all parts of K."""

    def __init__(self, plan: HopperPlan, index: int, words: Sequence[str], sizes: Sequence[int]) -> None:
        self._driver = devices.driver()
        self._function, self._context = _function(plan, index, "_total"), context(index)
        self._arguments, self._lock = Arguments(0, ["at", "at", *words], sizes), Lock()
        pairs = sizes[0] * sizes[1] // 2
        self._blocks = max(1, min(TOTAL_BLOCKS * multiprocessors(index), -(-pairs // TOTAL_THREADS)))

    def __call__(self, words: Sequence[Any], stream: int) -> None:
        """Launch on a stream, and return at once."""
        with self._lock:
            self._arguments.put(words)
            grid = self._blocks, 1, 1, TOTAL_THREADS, 1, 1
            launch = self._function, *grid, 0, stream, self._arguments.address, 0
            checked(in_context(self._driver, self._context, self._driver.cuLaunchKernel, *launch))


def _of_all(plan: HopperPlan, index: int, function: Any, d: TmaMatrix) -> Any:
    """Return how a kernel is launched: as many blocks as the GPU runs at once, or as there are tiles."""
    driver = devices.driver()
    names, (down, along) = driver.CUlaunchAttributeID, plan.cluster
    tiles = -(-d.extents[1] // (plan.m * down)) * -(-d.extents[0] // (plan.n * along))
    tiles *= d.extents[2] if plan.turns else 1
    blocks = plan.blocks * (multiprocessors(index) // plan.blocks)
    config = configured((blocks, 1, 1), plan.threads, plan.shared_bytes)
    ahead, cluster = driver.CUlaunchAttribute(), driver.CUlaunchAttribute()
    ahead.id = names.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    ahead.value.programmaticStreamSerializationAllowed = 1
    cluster.id = names.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    cluster.value.clusterDim.x, cluster.value.clusterDim.y, cluster.value.clusterDim.z = plan.blocks, 1, 1
    config.attrs, config.numAttrs = [ahead, cluster], 2
    most = int(
        checked(in_context(driver, context(index), driver.cuOccupancyMaxActiveClusters, function, config))
    )
    config.gridDimX = plan.blocks * (most if plan.grouped else min(tiles, most))
    return config


def configured(grid: tuple[int, int, int], threads: int, shared: int) -> Any:
    """Return how a kernel is launched: its blocks, their threads, and their bytes of shared memory."""
    config = devices.driver().CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.sharedMemBytes = shared
    return config


@lru_cache(maxsize=64)
def multiprocessors(index: int) -> int:
    """Return the multiprocessors of a GPU."""
    driver = devices.driver()
    device = checked(driver.cuDeviceGet(index))
    asked = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    return int(checked(driver.cuDeviceGetAttribute(asked, device)))


@lru_cache(maxsize=1024)
def _function(plan: HopperPlan, index: int, which: str = "") -> Any:
    """Return a kernel of a plan, loaded on a GPU."""
    source = Source(f"{plan.called}.cu", kernel_source(plan))
    return loaded(source, f"{plan.called}{which}", index, 0 if which else plan.first.shared_bytes)


def loaded(source: Source, name: str, index: int, shared: int) -> Any:
    """Return a kernel of a program, loaded on a GPU and allowed so much shared memory."""
    driver, own = devices.driver(), context(index)
    function = checked(
        in_context(driver, own, driver.cuModuleGetFunction, _module(source, index), name.encode())
    )
    limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    checked(in_context(driver, own, driver.cuFuncSetAttribute, function, limit, shared))
    return function


@lru_cache(maxsize=1024)
def _module(source: Source, index: int) -> Any:
    driver = devices.driver()
    devices.find(index, capability=devices.HOPPER)
    return checked(in_context(driver, context(index), driver.cuModuleLoadData, cubin(source)))
