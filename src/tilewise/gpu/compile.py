"""CUDA C++ to machine code with NVRTC: in parallel, kept on disk by its source, errors with the log.

It needs neither a GPU nor a driver.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tilewise.core.errors import LayoutError
from tilewise.gpu.device import package


@dataclass(frozen=True, slots=True)
class Source:
    """A program, and the architecture for which it is compiled."""

    name: str
    text: str
    arch: str = "sm_90a"


class CompileError(LayoutError):
    """The compiler refused a program that tilewise wrote; `log` is the compiler's text."""

    def __init__(self, name: str, log: str) -> None:
        super().__init__("TW608", f"{name} does not compile: {log.strip()[:2000]}")
        self.name, self.log = name, log

    def __reduce__(self) -> tuple[type[CompileError], tuple[str, str]]:
        return CompileError, (self.name, self.log)


def cubin(source: Source, *, cache: Path | None = None) -> bytes:
    """Return the machine code of a program; from the cache if it was compiled before.

    `cache` is a folder; None is the user's cache folder.
    """
    folder = cache or cache_folder()
    kept = folder / f"{_key(source, _compiler_version(folder))}.cubin"
    with suppress(OSError):
        if code := kept.read_bytes():
            return code
    core = package("cuda.core")
    log = io.StringIO()
    try:
        options = core.ProgramOptions(arch=source.arch, name=source.name, minimal=True)
        code = bytes(core.Program(source.text, "c++", options).compile("cubin", logs=log).code)
    except Exception as error:  # the binding has its own exceptions; the log is more detailed
        raise CompileError(source.name, f"{log.getvalue()}\n{error}") from error
    keep(kept, code)
    return code


def cubins(
    sources: Sequence[Source],
    *,
    workers: int | None = None,
    cache: Path | None = None,
    done: Callable[[str], None] = lambda name: None,
) -> list[bytes]:
    """Return the machine code of many programs, in their order; `done` gets the name of each when ready."""
    workers = min(len(sources), workers or _cores())
    if workers <= 1:
        codes = []
        for source in sources:
            codes.append(cubin(source, cache=cache))
            done(source.name)
        return codes
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(cubin, source, cache=cache): source.name for source in sources}
        for future in as_completed(futures):
            done(futures[future])
        return [future.result() for future in futures]


def cache_folder() -> Path:
    """Return the folder of machine code: $TILEWISE_CACHE, or `tilewise` in the user's cache folder.

    Without a home directory there is no safe cache: anyone could plant machine code in a shared folder.
    """
    if named := os.environ.get("TILEWISE_CACHE"):
        return Path(named)
    return _user_folder() / "tilewise"


def _user_folder() -> Path:
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:
        return Path(os.devnull)
    usual = {"win32": home / "AppData/Local", "darwin": home / "Library/Caches"}.get(sys.platform)
    return usual or home / ".cache"


def keep(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; a read-only folder only costs time.

    The temporary file has a random name: other threads, and processes of the same number in other containers,
    may write the same file.
    """
    part = path.with_suffix(f".{os.urandom(8).hex()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    ours = getattr(os, "sched_getaffinity", None)
    return len(ours(0)) if ours else os.cpu_count() or 1


def _key(source: Source, version: str) -> str:
    """Return a name that changes with the program, the target and the compiler."""
    words: Iterable[str] = (source.arch, version, source.name, source.text)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def _compiler_version(folder: Path) -> str:
    """Return the compiler's version.

    Its library takes longer to load than a kernel. A note beside the kernels keeps the version of the last
    load. It is valid as long as the library's file is unchanged.
    """
    note = folder / f"{hashlib.sha256(sys.prefix.encode()).hexdigest()[:16]}.compiler"
    if "cuda.bindings.nvrtc" not in sys.modules:
        with suppress(OSError, ValueError):
            version, library, stamp = note.read_text(encoding="utf-8").splitlines()
            if stamp == _stamp(library):
                return version
    error, major, minor = package("cuda.bindings.nvrtc").nvrtcVersion()
    version = f"{error}{major}.{minor}"
    with suppress(Exception):  # without the note the library is loaded again, nothing worse
        library = package("cuda.pathfinder").load_nvidia_dynamic_lib("nvrtc").abs_path
        said = "\n".join((version, library, _stamp(library))).encode()
        if not note.exists() or note.read_bytes() != said:
            keep(note, said)
    return version


def _stamp(file: str) -> str:
    """Return a text that changes with a file."""
    found = Path(file).stat()
    return f"{found.st_size} {found.st_mtime_ns}"
