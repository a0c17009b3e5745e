"""Record what Triton 3.9 makes of kernels and of conversions: dumps.zip and conversions.zip beside this file.

    python tests/compiled/ttgir/record.py           both
    python tests/compiled/ttgir/record.py dumps     one of them
    python tests/compiled/ttgir/record.py some      prints other conversions

dumps.zip has the TTGIR of eight kernels (kernels.py) for eleven targets, and how often each instruction that
reaches memory stands in the PTX for NVIDIA's, by its bytes. conversions.zip has modules with one conversion
each, and the exchanges, accesses of shared memory and barriers of its PTX, and the bytes of shared memory.
No GPU is needed. Triton aborts on some texts, so children compile.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from random import Random

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ.setdefault("TRITON_HIP_LLD_PATH", sys.executable)  # Triton wants a linker, which goes unused
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # else it warns

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))  # the tests are a package of this folder

from tests.compiled.ttgir.drawn import KINDS, drawn  # noqa: E402
from tests.compiled.ttgir.kernels import KERNELS, ODD  # noqa: E402

TARGETS = (
    *(f"cuda:{capability}" for capability in (75, 80, 90, 100, 120)),
    *("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"),
)
CONVERSIONS = 400
ACCESS = re.compile(
    r"\b(?P<op>ld|st)\.(?:volatile\.|relaxed\.|sys\.)*(?P<space>global|shared)\S*?(?:\.v(?P<many>\d))?\.[bfsu](?P<bits>\d+)\b"
    r"|\b(?P<matrix>ldmatrix|stmatrix)\.sync\.aligned\.m8n8\.x(?P<tiles>\d)"
    r"|\b(?P<copy>cp\.async)\.c[ag]\.shared\.global \[[^\]]*\], \[[^\]]*\], (?P<bytes>0x\w+|\d+)"
)


class Made(Exception):
    """The texts of the stages so far: the compiler goes no further."""


def made(source, target: str, options: dict[str, int], last: str) -> tuple[dict[str, str], dict]:
    """Return {stage: its text} down to the last one, and the metadata."""
    if target.startswith("cuda"):
        gpu = GPUTarget("cuda", int(target.removeprefix("cuda:")), 32)
    else:
        gpu = GPUTarget("hip", target, 32 if target.startswith("gfx1") else 64)
    backend = type(make_backend(gpu))
    add_stages = backend.add_stages
    texts: dict[str, str] = {}

    def add_stages_and_stop(self, stages, *rest):
        add_stages(self, stages, *rest)
        for name, lower in list(stages.items()):
            stages[name] = kept(name, lower)

    def kept(name, lower):
        def run(module, metadata):
            found = lower(module, metadata)
            texts[name] = str(found)
            if name == last:
                raise Made(metadata)
            return found

        return run

    backend.add_stages = add_stages_and_stop
    try:
        triton.compile(source, target=gpu, options=options)
    except Made as made:
        return texts, made.args[0]
    finally:
        backend.add_stages = add_stages
    raise ValueError("compiled without that stage")


def in_a_child(work, *given):
    """Return what a child's work returns, as JSON has it; None where it dies or refuses."""
    with tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                json.dump(work(*given), answer)
                answer.flush()
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        return json.load(answer) if status == 0 else None


def bare(text: str) -> str:
    """Return a text whose files have no folder of this machine; Triton's library keeps its own."""
    text = re.sub(r'"[^"]*/(triton/(?:language|experimental)/[^"]*)":', r'"\1":', text)
    return re.sub(r'"/[^"]*/([^"/]*)":', r'"\1":', text)


# -- kernels ---------------------------------------------------------------------------------------


def dump(name: str, target: str) -> dict:
    """Return the TTGIR of a kernel, and the accesses of its PTX."""
    kernel, types, constants = KERNELS[name]
    odd = ODD.get(name, ())
    signature = {key: types.get(key, "i32") for key in kernel.arg_names if key not in constants}
    signature |= dict.fromkeys(constants, "constexpr")
    promised = {
        (at,): [["tt.divisibility", 16]]
        for at, key in enumerate(kernel.arg_names)
        if key not in constants and key not in odd and not signature[key].startswith(("f", "bf"))
    }
    source = ASTSource(kernel, {key: signature[key] for key in kernel.arg_names}, constants, promised)
    nvidia = target.startswith("cuda")
    texts, metadata = made(source, target, {"num_warps": 4}, "ptx" if nvidia else "ttgir")
    counts = accesses(texts["ptx"]) if nvidia else {}
    return {"ttgir": bare(texts["ttgir"]), "ptx": counts, "shared": metadata.get("shared")}


def accesses(ptx: str) -> dict[str, int]:
    """Return {instruction and bytes of a lane: how often it stands in a text}.

    >>> accesses("ld.shared.v4.b32 {%r1}; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1};")
    {'ld.shared 16': 1, 'ldmatrix 4': 1}
    """
    found: Counter[str] = Counter()
    for match in ACCESS.finditer(ptx):
        if match["matrix"]:
            found[f"{match['matrix']} {match['tiles']}"] += 1
        elif match["copy"]:
            found[f"cp.async {int(match['bytes'], 0)}"] += 1
        else:
            width = int(match["many"] or 1) * int(match["bits"]) // 8
            found[f"{match['op']}.{match['space']} {width}"] += 1
    return dict(sorted(found.items()))


# -- conversions -----------------------------------------------------------------------------------


def facts(text: str) -> dict[str, int]:
    """Return what the PTX of a module has of each kind of instruction, and its bytes of shared memory."""
    with tempfile.NamedTemporaryFile("w", suffix=".ttgir") as file:
        file.write(text)
        file.flush()
        texts, metadata = made(file.name, "cuda:90", {}, "ptx")
    ptx = texts["ptx"]
    return {
        "shuffles": len(re.findall(r"\bshfl\.sync\b", ptx)),
        "loads": len(re.findall(r"\b(?:ld\.shared|ldmatrix)\b", ptx)),
        "stores": len(re.findall(r"\b(?:st\.shared|stmatrix)\b", ptx)),
        "barriers": len(re.findall(r"\b(?:bar\.sync|barrier\.sync)\b", ptx)),
        "shared": metadata["shared"],
    }


def main() -> None:
    for name in sys.argv[1:] or ("dumps", "conversions"):
        {"dumps": record_dumps, "conversions": record_conversions, "some": print_some}[name]()


def record_dumps() -> None:
    dumps = {f"{name}, {target}": in_a_child(dump, name, target) for name in KERNELS for target in TARGETS}
    write("dumps", {name: own for name, own in dumps.items() if own})
    print("without", [name for name, own in dumps.items() if own is None])


def record_conversions() -> None:
    write("conversions", conversions(0, CONVERSIONS))


def print_some() -> None:
    """Print conversions that are drawn otherwise than those of the record."""
    print(json.dumps(conversions(1, 24)))


def conversions(seed: int, many: int) -> list[dict]:
    """Return modules that Triton compiles, with the facts of their PTX."""
    random, found = Random(seed), []
    while len(found) < many:
        text = drawn(random, KINDS[len(found) % len(KINDS)])
        known = in_a_child(facts, text)
        if known is not None:
            found.append({"ttgir": text, **known})
    return found


def write(name: str, found: object) -> None:
    """Write an archive that is the same whenever it is written."""
    with zipfile.ZipFile(HERE / f"{name}.zip", "w") as archive:
        inner = zipfile.ZipInfo(f"{name}.json", (1980, 1, 1, 0, 0, 0))
        archive.writestr(inner, json.dumps(found, indent=0), zipfile.ZIP_LZMA)


if __name__ == "__main__":
    main()
