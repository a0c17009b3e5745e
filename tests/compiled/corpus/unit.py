"""A unit of the corpus: what one compiler made of one source, and how its kernels are launched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.compiled.corpus.launch import Launch

_FILE = re.compile(r'^(\s*\.file\s+\d+\s+")[^"]*/([^"/]+")', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unit:
    """The texts that one compiler made of one source."""

    compiler: str
    source: str
    """The file, from the corpus's folder."""
    name: str
    arch: str
    ptx: str
    launches: Sequence[Launch]
    ttgir: str = ""
    assembler: tuple[str, ...] = ("ptxas", "-O3", "--generate-line-info")
    """The assembler of the PTX, with its options."""

    @property
    def stem(self) -> str:
        """The path of its files, without what tells them apart."""
        return f"{self.compiler}/{self.name}"

    def write(self, folder: Path, nvdisasm: str) -> list[dict[str, Any]]:
        """Write PTX, machine code and its text to a folder; return the launches as JSON."""
        at = folder / self.stem
        at.parent.mkdir(parents=True, exist_ok=True)
        ptx = at.with_name(at.name + ".ptx")
        ptx.write_text(bare_names(self.ptx), encoding="utf-8")
        names = ptx.name, f"{self.name}.cubin"
        ran(*self.assembler, f"-arch={self.arch}", names[0], "-o", names[1], folder=at.parent)
        sass = ran(nvdisasm, "-g", names[1], folder=at.parent)
        at.with_name(f"{self.name}.sass").write_text(sass, encoding="utf-8")
        if self.ttgir:
            at.with_name(f"{self.name}.ttgir").write_text(self.ttgir, encoding="utf-8")
        files = {"ptx": f"{self.stem}.ptx", "sass": f"{self.stem}.sass", "cubin": f"{self.stem}.cubin"}
        files |= {"ttgir": f"{self.stem}.ttgir"} if self.ttgir else {}
        symbols = entries(self.ptx)
        return [
            {
                "name": launch.name,
                "compiler": self.compiler,
                "source": self.source,
                "kernel": symbol_of(launch.kernel, symbols),
                "arch": self.arch,
                **launch.data(),
                "files": files,
            }
            for launch in self.launches
        ]


def bare_names(ptx: str) -> str:
    """Return PTX whose lines are of files without their folders.

    >>> bare_names('\\t.file\\t1 "/a/b/copies.cu"')
    '\\t.file\\t1 "copies.cu"'
    """
    return _FILE.sub(r"\1\2", ptx)


def entries(ptx: str) -> list[str]:
    """Return the symbols of the kernels of PTX.

    >>> entries(".visible .entry _Z1kPf(")
    ['_Z1kPf']
    """
    return re.findall(r"\.entry\s+([\w$.]+)", ptx)


def symbol_of(kernel: str, symbols: Sequence[str]) -> str:
    """Return the symbol of the kernel that a source calls so."""
    plain = {
        symbol: ran("c++filt", symbol).strip().removeprefix("void ").partition("(")[0] for symbol in symbols
    }
    found = [symbol for symbol, called in plain.items() if kernel in (symbol, called)]
    assert len(found) == 1, f"{kernel}: {plain}"
    return found[0]


def ran(*command: str, folder: Path | None = None) -> str:
    """Run a command in a folder and return what it printed."""
    environment = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def tool(name: str) -> str:
    """Return the path of a program of CUDA."""
    found = shutil.which(name)
    assert found, f"{name} is not on the PATH"
    return found
