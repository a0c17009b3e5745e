"""The host's part of a kernel, in C++: what is allowed, and the launch."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import check_free

PROGRAM = """\
$includes

$kernel

// The host's part, for nvcc $flags. A, B and D are on the device.
cudaError_t launch_$name(const void *A, const void *B, void *D, int M, int N, int K, cudaStream_t stream)
{
    if (M % $m || N % $n || K % $k)
        return cudaErrorInvalidValue;
    $maps
    const cudaError_t allowed =
        cudaFuncSetAttribute($name, cudaFuncAttributeMaxDynamicSharedMemorySize, $shared_bytes);
    if (allowed != cudaSuccess)
        return allowed;
    $name<<<dim3(N / $n, M / $m), $threads, $shared_bytes, stream>>>($arguments, ($element *)D, M, N, K);
    return cudaGetLastError();
}"""


@dataclass(frozen=True)
class Launch:
    """What the host needs to know of a kernel."""

    name: str
    asked: str
    """The name that a user chose; empty where it follows from the tile."""
    tile: tuple[int, int, int]
    threads: int
    shared_bytes: int
    element: str
    """D's, in C++."""
    flags: str
    arguments: tuple[str, ...] = ("(const unsigned char *)A", "(const unsigned char *)B")
    maps: str = ""
    includes: tuple[str, ...] = ()


def host_program(kernel: str, launch: Launch) -> str:
    """Kernel and host together, one .cu file."""
    m, n, k = launch.tile
    slots = {
        "includes": "\n".join([*launch.includes, "#include <cuda_runtime.h>"]),
        "kernel": kernel,
        "flags": launch.flags,
        "name": launch.name,
        "m": m,
        "n": n,
        "k": k,
        "maps": launch.maps,
        "shared_bytes": launch.shared_bytes,
        "threads": launch.threads,
        "arguments": ", ".join(launch.arguments),
        "element": launch.element,
    }
    check_free(launch.asked, filled(PROGRAM, slots | {"kernel": "", "name": ""}))
    return filled(PROGRAM, slots)
