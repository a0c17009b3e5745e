"""NVRTC through ctypes: CUDA's compiler as a library, which needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path

_SUCCESS = 0

MINIMAL = "--minimal"
"""An option that `tilewise.gpu` compiles with: programs that it runs are tested by it too."""


def load(major: int | None = None) -> ctypes.CDLL | None:
    """Return the newest library of the system, or of a package nvidia-cuda-nvrtc; None where no path has one.

    `major` asks for one major version: 12 is the last one that knows sm_70.
    """
    for path in _paths():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        if major in (None, version(library)[0]):
            return library
    return None


def _paths() -> Iterator[str]:
    package = find_spec("nvidia")
    for folder in package.submodule_search_locations or [] if package else []:
        found = Path(folder).glob("*/lib/libnvrtc.so.*[0-9]")
        yield from map(str, sorted(found, key=lambda path: int(path.suffix[1:]), reverse=True))
    found = find_library("nvrtc")
    if found is not None:
        yield found
    yield "/usr/local/cuda/lib64/libnvrtc.so"


def version(library: ctypes.CDLL) -> tuple[int, int]:
    """Major and minor version of a library."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    assert library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == _SUCCESS
    return major.value, minor.value


def architectures(library: ctypes.CDLL) -> tuple[int, ...]:
    """The compute capabilities, times ten, that a library compiles for."""
    count = ctypes.c_int()
    assert library.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == _SUCCESS
    found = (ctypes.c_int * count.value)()
    assert library.nvrtcGetSupportedArchs(found) == _SUCCESS
    return tuple(found)


def compile_to_ptx(library: ctypes.CDLL, source: str, *options: str) -> str:
    """PTX of a program; AssertionError with the compiler's log where it warns."""
    code, log = _compiled(library, source, options, "PTX")
    assert "warning" not in log, log
    return code.removesuffix(b"\0").decode()


def compile_to_cubin(library: ctypes.CDLL, source: str, *options: str) -> tuple[bytes, str]:
    """Machine code of a program, so that the assembler has seen it too, and what the compilers said."""
    return _compiled(library, source, options, "CUBIN")


def _compiled(library: ctypes.CDLL, source: str, options: Sequence[str], kind: str) -> tuple[bytes, str]:
    # Seen of NVRTC 13.5: once asked for, it compiles fast for the rest of the process, whatever is asked.
    assert not any("Ofast-compile" in option for option in options), "other tests would get other code"
    program = ctypes.c_void_p()
    text = source.encode()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text, b"program.cu", 0, None, None) == _SUCCESS
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), words)
    try:
        log = _bytes(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
        said = log.removesuffix(b"\0").decode()
        assert failed == _SUCCESS, said
        size_of, get = (getattr(library, f"nvrtcGet{kind}{part}") for part in ("Size", ""))
        return _bytes(size_of, get, program), said
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(size_of, get, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    assert size_of(program, ctypes.byref(size)) == _SUCCESS
    buffer = ctypes.create_string_buffer(size.value)
    assert get(program, buffer) == _SUCCESS
    return buffer.raw
