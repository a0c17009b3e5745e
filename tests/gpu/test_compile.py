"""Compiling: kept by what was compiled, in order, with the compiler's log; NVIDIA's packages are made up."""

import os
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tilewise import LayoutError
from tilewise.gpu import compile as compiling
from tilewise.gpu.compile import CompileError, Source, cache_folder, cubin, cubins, keep


class Compiler:
    """Stands where NVRTC does: the machine code is the program backwards."""

    version = (0, 13, 0)

    def __init__(self, monkeypatch):
        self.compiled = []
        for name in ("cuda", "cuda.bindings"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        core, nvrtc = ModuleType("cuda.core"), ModuleType("cuda.bindings.nvrtc")
        core.ProgramOptions = SimpleNamespace
        core.Program = lambda text, kind, options: SimpleNamespace(
            compile=lambda target, logs: self.compile(text, kind, options, target, logs)
        )
        nvrtc.nvrtcVersion = lambda: self.version
        monkeypatch.setitem(sys.modules, "cuda.core", core)
        monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", nvrtc)

    def compile(self, text, kind, options, target, logs):
        assert (kind, target) == ("c++", "cubin")
        self.compiled.append((options.name, options.arch, text))
        assert options.minimal
        if "mistake" in text:
            logs.write("line 1: a mistake")
            raise RuntimeError("NVRTC_ERROR_COMPILATION")
        return SimpleNamespace(code=text[::-1].encode())


@pytest.fixture
def compiler(monkeypatch):
    """A compiler without a library: where a test before this one has found the real one, it is hidden."""
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    return Compiler(monkeypatch)


def test_a_program_is_compiled_once(compiler, tmp_path):
    source = Source("k", "abc")
    assert cubin(source, cache=tmp_path) == cubin(source, cache=tmp_path) == b"cba"
    assert compiler.compiled == [("k", "sm_90a", "abc")]


@pytest.mark.parametrize("other", [Source("k", "abd"), Source("k", "abc", "sm_100a"), Source("j", "abc")])
def test_another_program_or_target_is_another_entry(compiler, tmp_path, other):
    cubin(Source("k", "abc"), cache=tmp_path)
    cubin(other, cache=tmp_path)
    assert len(compiler.compiled) == 2


def test_another_compiler_is_another_entry(compiler, tmp_path):
    cubin(Source("k", "abc"), cache=tmp_path)
    compiler.version = (0, 13, 1)
    cubin(Source("k", "abc"), cache=tmp_path)
    assert len(compiler.compiled) == 2


class Unloaded:
    """A compiler whose library is a file, and which counts its loads."""

    def __init__(self, compiler, monkeypatch, folder):
        self.loaded, self.file = 0, folder / "libnvrtc.so"
        self.file.write_text("13.0")
        self.nvrtc = sys.modules["cuda.bindings.nvrtc"]
        pathfinder = ModuleType("cuda.pathfinder")
        pathfinder.load_nvidia_dynamic_lib = lambda name: SimpleNamespace(abs_path=str(self.file))
        monkeypatch.setitem(sys.modules, "cuda.pathfinder", pathfinder)
        monkeypatch.delitem(sys.modules, "cuda.bindings.nvrtc")
        self.package = compiling.package
        monkeypatch.setattr(compiling, "package", self.load)

    def load(self, name):
        if name != "cuda.bindings.nvrtc":
            return self.package(name)
        self.loaded += 1
        return self.nvrtc


@pytest.fixture
def unloaded(compiler, monkeypatch, tmp_path_factory):
    return Unloaded(compiler, monkeypatch, tmp_path_factory.mktemp("library"))


def test_what_is_kept_is_found_without_the_compiler(compiler, unloaded, tmp_path):
    for _ in range(3):
        assert cubin(Source("k", "abc"), cache=tmp_path) == b"cba"
    assert (unloaded.loaded, len(compiler.compiled)) == (1, 1)


def test_another_library_is_asked_for_its_version(compiler, unloaded, tmp_path):
    cubin(Source("k", "abc"), cache=tmp_path)
    unloaded.file.write_text("a newer one")
    compiler.version = (0, 13, 1)
    cubin(Source("k", "abc"), cache=tmp_path)
    assert (unloaded.loaded, len(compiler.compiled)) == (2, 2)


@pytest.mark.parametrize("text", ["", "half a", "a\nb\nc\nd", "0.13.0\n/nowhere/libnvrtc.so\n1 2"])
def test_a_note_that_says_nothing_is_written_anew(compiler, unloaded, tmp_path, text):
    cubin(Source("k", "abc"), cache=tmp_path)
    (note,) = tmp_path.glob("*.compiler")
    said = note.read_bytes()
    note.write_text(text)
    cubin(Source("k", "abc"), cache=tmp_path)
    assert note.read_bytes() == said
    assert (unloaded.loaded, len(compiler.compiled)) == (2, 1)


def test_no_half_written_file_is_left(compiler, tmp_path):
    cubin(Source("k", "abc"), cache=tmp_path / "new" / "folder")
    (kept,) = (tmp_path / "new" / "folder").iterdir()
    assert kept.suffix == ".cubin"
    assert kept.read_bytes() == b"cba"


def test_a_cache_that_cannot_be_written_costs_time_alone(compiler, tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert cubin(Source("k", "abc"), cache=tmp_path / "file") == b"cba"
    assert cubin(Source("k", "abc"), cache=tmp_path / "file") == b"cba"
    assert len(compiler.compiled) == 2


def test_a_file_that_is_found_is_whole_whoever_else_writes_it(tmp_path, monkeypatch):
    """Others have their parts of it elsewhere, though they have our process's number, as in a container."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    kept, codes, wrong = tmp_path / "one.cubin", [bytes([own]) * (1 << 20) for own in range(4)], []
    keep(kept, codes[0])
    done = threading.Event()

    def read():
        while not done.is_set():
            if kept.read_bytes() not in codes:
                wrong.append("unfinished")

    def write(code):
        for _ in range(20):
            keep(kept, code)

    reader, *writers = [
        threading.Thread(target=read),
        *(threading.Thread(target=write, args=(c,)) for c in codes),
    ]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert wrong == []
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_no_part_is_left_of_what_could_not_be_written(tmp_path, monkeypatch, error):
    def failed(part, path):
        raise error

    monkeypatch.setattr(Path, "replace", failed)
    with pytest.raises(KeyboardInterrupt) if isinstance(error, KeyboardInterrupt) else nullcontext():
        keep(tmp_path / "one.cubin", b"code")
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_may_be_read_by_whom_the_folder_is_shared_with(tmp_path):
    keep(tmp_path / "one.cubin", b"code")
    (tmp_path / "plain").write_bytes(b"code")
    assert (tmp_path / "one.cubin").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_without_code_is_none(compiler, tmp_path):
    """As one may be left by a machine that went down."""
    cubin(Source("k", "abc"), cache=tmp_path)
    (kept,) = tmp_path.glob("*.cubin")
    kept.write_bytes(b"")
    assert cubin(Source("k", "abc"), cache=tmp_path) == kept.read_bytes() == b"cba"


def test_a_mistake_comes_with_the_log(compiler, tmp_path):
    with pytest.raises(CompileError, match="k does not compile: line 1: a mistake") as caught:
        cubin(Source("k", "mistake"), cache=tmp_path)
    assert isinstance(caught.value, LayoutError)
    assert "NVRTC_ERROR_COMPILATION" in caught.value.log
    assert list(tmp_path.iterdir()) == []


def test_the_error_reaches_the_parent_of_a_worker():
    import pickle

    back = pickle.loads(pickle.dumps(CompileError("k", "line 1")))
    assert (back.name, back.log, str(back)) == ("k", "line 1", str(CompileError("k", "line 1")))


def test_many_come_in_order_and_are_told(compiler, tmp_path):
    told = []
    sources = [Source(f"k{i}", "abc"[: i + 1]) for i in range(3)]
    assert cubins(sources, workers=1, cache=tmp_path, done=told.append) == [b"a", b"ba", b"cba"]
    assert told == ["k0", "k1", "k2"]
    assert cubins([], cache=tmp_path) == []


def test_workers_give_what_one_does(compiler, tmp_path):
    """They are processes of their own, which do not know the compiler made up here: the cache has it all."""
    sources = [Source(f"k{i}", "abc"[: i + 1]) for i in range(3)]
    alone = cubins(sources, workers=1, cache=tmp_path)
    told = []

    def in_threads(workers, mp_context):
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(workers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "ProcessPoolExecutor", in_threads)
        assert cubins(sources, workers=2, cache=tmp_path, done=told.append) == alone
    assert sorted(told) == ["k0", "k1", "k2"]
    assert len(compiler.compiled) == 3


def test_the_cache_is_where_the_user_keeps_such_things(monkeypatch, tmp_path):
    monkeypatch.delenv("TILEWISE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tilewise"
    monkeypatch.setenv("TILEWISE_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("TILEWISE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().name == "tilewise"
    assert cache_folder().is_relative_to(Path.home())


@pytest.fixture
def homeless(monkeypatch):
    """A user without a home, as in a container that is run under any number."""

    def none():
        raise RuntimeError("Could not determine home directory.")

    for name in ("TILEWISE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", none)


@pytest.mark.parametrize(("name", "folder"), [("TILEWISE_CACHE", "."), ("XDG_CACHE_HOME", "tilewise")])
def test_a_folder_that_is_named_is_taken_without_a_home(homeless, monkeypatch, tmp_path, name, folder):
    monkeypatch.setenv(name, str(tmp_path))
    assert cache_folder() == tmp_path / folder


def test_without_a_home_nothing_is_kept_and_nothing_of_anybody_is_read(homeless, compiler):
    for _ in range(2):
        assert cubin(Source("k", "abc")) == b"cba"
    assert len(compiler.compiled) == 2
    with pytest.raises(NotADirectoryError):
        cache_folder().mkdir(parents=True)
