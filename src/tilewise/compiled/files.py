"""Files that compilers leave, and the tools that turn one into another: which they are, and their texts.

cubin           machine code; nvdisasm makes a text of it
nvdisasm's and cuobjdump's text, PTX, TTGIR
a folder of Triton's cache, or a compiled kernel with `.asm`
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ELF = b"\x7fELF"
FATBIN = b"\x50\xed\x55\xba"
MOST_BYTES = 1 << 28
SECONDS = 120
SUFFIXES = (".cubin", ".sass", ".ptx", ".ttgir")
"""The files of a folder that are read."""

CODE, PTX, TTGIR = "machine code", "PTX", "TTGIR"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One text of a compiler."""

    kind: str
    """`machine code`, `PTX` or `TTGIR`."""
    text: str
    name: str = ""
    """The file; empty for a text that was given as it is."""
    folder: str = ""


def artifacts_of(given: Iterable[Any]) -> list[Artifact]:
    """Return the texts of files, folders, texts, bytes and compiled kernels."""
    found = [artifact for one in given for artifact in _artifacts(one)]
    if not found:
        hint = f"of a folder those files are read that end in {', '.join(SUFFIXES)}"
        raise LayoutError("TW804", "there is nothing to read", hint=hint)
    return found


def _artifacts(given: Any) -> Iterator[Artifact]:
    asm = given if isinstance(given, Mapping) else getattr(given, "asm", None)
    if isinstance(asm, Mapping):
        for name in ("cubin", "sass", "ptx", "ttgir"):
            content = asm.get(name)
            if content and not (name == "sass" and "cubin" in asm):
                yield _artifact(content.encode() if isinstance(content, str) else bytes(content), name)
    elif isinstance(given, bytes | bytearray):
        yield _artifact(bytes(given), "")
    elif given == "-" and sys.stdin is None:
        raise LayoutError("TW402", "there is no standard input to read")
    elif given == "-":
        stream = getattr(sys.stdin, "buffer", None)  # a stream of text alone has none
        content = sys.stdin.read(MOST_BYTES).encode() if stream is None else stream.read(MOST_BYTES)
        yield _artifact(content, "standard input")
    elif isinstance(given, str) and "\n" in given:
        yield _artifact(given.encode(), "")
    elif isinstance(given, str | Path) and str(given):
        yield from _files(Path(given).expanduser())
    else:
        hint = "a file, a folder, a text, or a compiled kernel with .asm"
        raise LayoutError("TW804", f"{given!r:.60} is no kernel", hint=hint)


def _files(path: Path) -> Iterator[Artifact]:
    try:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
            cubins = {file.with_suffix("") for file in files if file.suffix == ".cubin"}
            for file in files:
                if file.suffix != ".sass" or file.with_suffix("") not in cubins:
                    yield _artifact(file.read_bytes(), str(file))
            return
        if path.stat().st_size > MOST_BYTES:
            raise LayoutError("TW804", f"{path} is larger than {MOST_BYTES >> 20} MB")
        yield _artifact(path.read_bytes(), str(path))
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise LayoutError("TW804", message, hint="a cubin, PTX, TTGIR, or nvdisasm's text") from None


def _artifact(content: bytes, name: str) -> Artifact:
    folder = str(Path(name).parent) if name else ""
    if content.startswith(ELF):
        return Artifact(CODE, disassembled(content), name, folder)
    if content.startswith(FATBIN):
        hint = "cuobjdump -xelf all FILE takes the cubins out of it"
        raise LayoutError("TW804", f"{name or 'the file'} is a fat binary", hint=hint)
    text = content.decode("utf-8", "replace")
    return Artifact(kind_of(text, name), text, name, folder)


def kind_of(text: str, name: str = "") -> str:
    """Return what a text is, by its looks.

    >>> kind_of(".version 8.4\\n.target sm_90\\n.address_size 64\\n")
    'PTX'
    """
    if re.search(r"^\s*\.version\s+\d|^\s*(?:\.visible\s+)?\.entry\s", text, re.MULTILINE):
        return PTX
    if re.search(r"^//-+ \.text\.|^\s*Function : \S|^\s*/\*[0-9a-f]{4}\*/\s", text, re.MULTILINE):
        return CODE
    if re.search(r"\btt\.func\b|#ttg\.|#triton_gpu\.", text):
        return TTGIR
    message = f"{name or 'the text'} is no kernel that is read here"
    raise LayoutError(
        "TW804", message, hint="a cubin, nvdisasm's or cuobjdump's text, PTX, or Triton's TTGIR"
    )


# -- tools -----------------------------------------------------------------------------------------------


def disassembled(cubin: bytes) -> str:
    """Return the text of machine code, with the lines of the source."""
    tool = found("nvdisasm")
    if tool is None:
        raise LayoutError(
            "TW805",
            "nvdisasm, which reads machine code, is not on this machine",
            hint="pip install 'tilewise[sass]', or give the text that nvdisasm -gi prints",
        )
    for options in (("-gi",), ("-g",), ()):  # without lines in the file, -g is refused
        answer = _run([tool, *options], cubin, ".cubin")
        if answer is not None:
            return answer.decode("utf-8", "replace")
    raise LayoutError("TW804", "nvdisasm does not read the machine code")


def assembled(ptx: str, architecture: str) -> bytes | None:
    """Return the machine code of PTX, or None where no ptxas is found or it refuses the text."""
    tool = found("ptxas")
    if tool is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernel.cubin"
        answer = _run([tool, f"-arch={architecture}", "-lineinfo", "-o", str(target)], ptx.encode(), ".ptx")
        return target.read_bytes() if answer is not None and target.exists() else None


def _run(command: list[str], content: bytes, suffix: str) -> bytes | None:
    """Return the output of a tool over a file with some content, or None if it fails."""
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(content)
        file.flush()
        try:
            done = subprocess.run([*command, file.name], capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None


def found(tool: str) -> str | None:
    """Return the path of a tool of CUDA: on the PATH, in NVIDIA's packages, in Triton's."""
    on_path = shutil.which(tool)
    if on_path is not None:
        return on_path
    for package, inside in (("nvidia", "*/bin"), ("triton", "backends/nvidia/bin")):
        spec = find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            for path in sorted(Path(folder).glob(f"{inside}/{tool}"), reverse=True):
                return str(path)
    usual = sorted(Path("/usr/local").glob(f"cuda*/bin/{tool}"), reverse=True)
    return str(usual[0]) if usual else None
