"""The layouts in CuTe's headers of a warp's instructions, printed by a program that is compiled from them.

The headers name every instruction in words, `"mma.sync.aligned. ..."`, inside the struct of its operation,
and give the layouts of its operands in the traits of that struct. So the list of what CuTe has is read from
the headers' text, and what it means by it is printed by CuTe itself: no GPU is needed, and nothing is
written down twice.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MMA_ARCH = ("sm70", "sm75", "sm80", "sm89", "sm90", "sm120", "sm120_sparse")
COPY_ARCH = ("sm75", "sm90", "sm100")

_NAMESPACE = re.compile(r"^(?:namespace ([\w:]+)|\} *// *(?:end )?namespace ([\w:]+))")
_STRUCT = re.compile(r"^struct ([\w:]+(?:<[^>]*>)?)")
_WORDS = re.compile(r'"((?:mma\.sync|ldmatrix|stmatrix|movmatrix)[^ {"]*)')
_BYTES = re.compile(r"uchar4 dst(\d)_\{(.*)\};")


@dataclass(frozen=True)
class Atom:
    """An operation of CuTe's and the instruction that it is."""

    name: str
    instruction: str
    tables: dict[str, list[list[int]]]
    """{operand: for each thread, for each value, the index in the operand, columns one after another}."""
    threads: list[int]
    """The lane of each thread."""
    bytes: tuple[int, ...] = ()
    """Of each byte of CuTe's registers, the byte of the instruction's that it is, where CuTe moves them."""

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """M, N, K."""
        said = re.search(r"m(\d+)n(\d+)k(\d+)", self.instruction)
        assert said is not None, self.instruction
        m, n, k = map(int, said.groups())
        return m, n, k

    @property
    def shape_word(self) -> str:
        """Such as m16n8k16."""
        return "m{}n{}k{}".format(*self.shape)

    @cached_property
    def types(self) -> list[str]:
        """Those of D, A, B, C, and of the scales."""
        return re.findall(r"\.(f16|bf16|tf32|f32|f64|[su](?:4|8|32)|b1|e\dm\d|ue\dm\d)\b", self.instruction)

    def coordinates(self, operand: str) -> Iterator[tuple[int, int, int, int]]:
        """(lane, value, row, column) of every element of an operand."""
        m, n, _ = self.shape
        rows = n if operand in ("B", "SFB") else m
        for lane, value, index in self.values(operand):
            yield lane, value, index % rows, index // rows

    def values(self, table: str) -> Iterator[tuple[int, int, int]]:
        """(lane, value, index) of a table; none where CuTe's layout cannot be evaluated."""
        for lane, values in zip(self.threads, self.tables[table], strict=False):
            for value, index in enumerate(values):
                yield lane, value, index


def headers() -> Path | None:
    """CuTe's, of the package nvidia-cutlass."""
    package = find_spec("cutlass_library")
    folders = [] if package is None else list(package.submodule_search_locations or [])
    found = [Path(folder) / "source/include" for folder in folders]
    return found[0] if found and (found[0] / "cute/tensor.hpp").exists() else None


def missing() -> str | None:
    """Why nothing can be compiled here, if so."""
    if headers() is None:
        return "nvidia-cutlass is not installed"
    return "there is no nvcc on this machine" if shutil.which("nvcc") is None else None


@dataclass
class Operation:
    """An operation in the text of a header: its instructions, and its moves of bytes after them."""

    instructions: list[str] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)


def operations(include: Path, kind: str, arch: str) -> dict[str, Operation]:
    """The operations of one header, but for those that are made of several instructions."""
    spaces: list[str] = []
    found: dict[str, Operation] = {}
    name = ""
    for line in (include / f"cute/arch/{kind}_{arch}.hpp").read_text().splitlines():
        if said := _NAMESPACE.match(line):
            opened, closed = said.groups()
            spaces = [*spaces, opened] if opened else spaces[: spaces.index(closed)]
        if said := _STRUCT.match(line):
            name = "::".join([*spaces, said[1]])
        elif said := _WORDS.search(line):
            found.setdefault(name, Operation()).instructions.append(said[1])
        elif said := _BYTES.search(line):
            came = re.findall(r"tmp(\d)_\.(\w)", said[2])
            found[name].bytes += [4 * int(register) + "xyzw".index(byte) for register, byte in came]
    return {name: operation for name, operation in found.items() if len(operation.instructions) == 1}


def atoms(folder: Path, kind: str) -> list[Atom]:
    """Every operation of mma.sync, or of ldmatrix, stmatrix and movmatrix, as CuTe prints it."""
    include = headers()
    assert include is not None
    arches = MMA_ARCH if kind == "mma" else COPY_ARCH
    every = {
        _instance(name, operation.instructions[0]): operation
        for arch in arches
        for name, operation in operations(include, kind, arch).items()
    }
    heads = "".join(f"#include <cute/atom/{kind}_traits_{arch}.hpp>\n" for arch in arches)
    calls = "".join(f'    {kind}<{name}>("{name}", "{of.instructions[0]}");\n' for name, of in every.items())
    found = printed(folder, kind, f"{_HEAD}{heads}{_PRINT}int main()\n{{\n{calls}}}\n")
    return [Atom(**atom, bytes=tuple(every[atom["name"]].bytes)) for atom in found]


def printed(folder: Path, name: str, program: str) -> list[dict[str, Any]]:
    """Return the objects that a program prints, compiled from CuTe's headers: a line of JSON for each."""
    (folder / f"{name}.cpp").write_text(program)
    command = ["nvcc", "-std=c++17", "-x", "c++", f"-I{headers()}", "-o", name, f"{name}.cpp"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-4000:]
    done = subprocess.run([folder / name], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _instance(name: str, words: str) -> str:
    """A template over the columns that share a scale, at the number that the instruction has."""
    scales, k = re.search(r"scale_vec::(\d)X", words), re.search(r"m\d+n\d+k(\d+)", words)
    return name.replace("VS>", f"{int(k[1]) // int(scales[1])}>") if scales and k else name


_HEAD = """\
#include <cstdio>
#include <type_traits>
#include <cute/tensor.hpp>
"""

_PRINT = """
using namespace cute;

template <class Layout> void table(char const *name, Layout const &layout, int step = 1)
{
    printf(", \\"%s\\": [", name);
    if constexpr (decltype(congruent(shape(layout), stride(layout)))::value) {  // else it cannot be called
        for (int t = 0; t < int(size<0>(layout)); t++) {
            printf(t ? ", [" : "[");
            for (int v = 0; v < int(size<1>(layout)); v += step)
                printf(v ? ",%d" : "%d", int(layout(t, v)) / step);
            printf("]");
        }
    }
    printf("]");
}

template <class Threads> void head(char const *name, char const *words, Threads const &threads)
{
    printf("{\\"name\\": \\"%s\\", \\"instruction\\": \\"%s\\", \\"threads\\": [", name, words);
    for (int t = 0; t < int(size(threads)); t++) printf(t ? ",%d" : "%d", int(threads(t)));
    printf("], \\"tables\\": {\\"none\\": []");
}

template <class Traits, class = void> struct Scales { static void print() {} };
template <class Traits> struct Scales<Traits, std::void_t<typename Traits::SFALayout>> {
    static void print()
    {
        table("SFA", typename Traits::SFALayout{});
        table("SFB", typename Traits::SFBLayout{});
    }
};

template <class Traits, class = void> struct Metadata { static void print() {} };
template <class Traits> struct Metadata<Traits, std::void_t<typename Traits::ELayout>> {
    static void print() { table("E", typename Traits::ELayout{}); }
};

template <class Operation> void mma(char const *name, char const *words)
{
    using Traits = MMA_Traits<Operation>;
    head(name, words, typename Traits::ThrID{});
    table("A", typename Traits::ALayout{});
    table("B", typename Traits::BLayout{});
    table("C", typename Traits::CLayout{});
    Scales<Traits>::print();
    Metadata<Traits>::print();
    printf("}}\\n");
}

template <class Operation> void copy(char const *name, char const *words)
{
    using Traits = Copy_Traits<Operation>;
    head(name, words, typename Traits::ThrID{});
    table("source", typename Traits::SrcLayout{}, 8);
    table("destination", typename Traits::DstLayout{}, 8);
    printf("}}\\n");
}

"""
