"""The types of the questions: `mypy --strict` passes a script with each of them, and no wrong call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tilewise

SCRIPT = """
from pathlib import Path

import tilewise
from tilewise import DType, Layout, S, Swizzle, laneid, m, reg

bf16 = DType.of("bf16")
tile: Layout = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
frag: Layout = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
r = tilewise.at(tile, (3, 4), bf16, base=0x400)
r = tilewise.at(tile, [3, 4], shape=[32, 128])
r = tilewise.at("S[M, N]", 5, let={"M": 4, "N": 4}, dialect=None)
r = tilewise.who(frag, {"laneid": 5})
r = tilewise.who(frag, {laneid: 5}, limit=3)
r = tilewise.who(frag, frag(1, 2, 0))
r = tilewise.who(tile, 5, shape=4096)
r = tilewise.table(tile, window=((0, 2), (3, 5)), npy=Path("x.npy"))
r = tilewise.table(tile, window=[slice(0, 2), range(3, 5)])
r = tilewise.table(tile, window=[None, 3])
r = tilewise.info(tile, bf16, unit="element")
r = tilewise.same(tile, "S[64]")
r = tilewise.relation(tile, tile, permute=(1, 0), reshape=4096, dtype_a=bf16)
r = tilewise.explain(tile, (1, 2))
r = tilewise.explain(tile, dtype=bf16, access=["ldmatrix.x4", S[(32, 8) : (64, 1)]])
r = tilewise.show(tile, window=((0, 2), (3, 5)), svg=Path("a.svg"), with_=[tile], theme="dark", colour=m)
r = tilewise.show(tile, access=S[(32, 8) : (64, 1)], panel="memory")
r = tilewise.say(tile, as_="cute")
r = tilewise.code(tile, lang="python", args=["i", "j"])
r = tilewise.explore(tile, open=True)
r = tilewise.catalog("wgmma.D", dtype=bf16, n=64, at=(3, 4))
r = tilewise.suggest("wgmma", bf16, operand="A", tile=(128, 64))
r = tilewise.match(tile, "wgmma.B", bf16, n=64, major="k", cta_group=1)
r = tilewise.descriptor(0x4000004000010000)
r = tilewise.descriptor("steps", None, bf16, operand="A", tile=(128, 64), mode="128B")
r = tilewise.idesc("encode", kind="f16", m=128, n=128, a=bf16, b="bf16")
r = tilewise.tma(tile, bf16, shape=(1024, 1024))
r = tilewise.tmem("tcgen05.D(f32, m=128, n=64)", "f32", form="32x32b")
r = tilewise.shuffle(frag, frag, "f16", without=["ballot"], permute=(0, 1, 2))
r = tilewise.agree(tile, tile, bf16)
r = tilewise.emit("wgmma", bf16, tile=(64, 64, 64))
r = tilewise.emit_move(tile, tile, bf16, shape=(8, 8), host=True)
r = tilewise.verify(list=True, only=["fragments.d"], report=Path("x"))
r = tilewise.banks(tile, bf16, access=("ldmatrix.x4", S[(32, 8) : (64, 1)]))
r = tilewise.banks(op="ld", bytes=4, addresses=range(0, 128, 4))
r = tilewise.coalesce(tile, bf16, access=["row:16B"])
r = tilewise.vector(tile, bf16, access=["row", "col"])
r = tilewise.read("kernel.cubin", grid=(4, 4), block=256, args=[None, 4096], let={"M": 8}, fail_on="local")
r = tilewise.read([Path("kernel.ttgir"), b"..."], kernel="k", html=Path("k.html"))
r = tilewise.swizzle((64, 64), bf16, read="ldmatrix.x4", write="cp.async")
plan = tilewise.plan(S[64, 64], S[(64, 64) : (1, 64)], bf16)
if tilewise.same(tile, tile) and not r.answer:
    print(r, r.wavefronts, r.data()["layout"])
"""

WRONG = [
    "tilewise.banks(tile, bf16, acess='row')",
    "tilewise.banks(tile, 5)",
    "tilewise.at(tile, 5.0)",
    "tilewise.at(5, 5)",
    "tilewise.code(tile, lang='rust')",
    "tilewise.info(tile, unit='words')",
]


def checked(script: str, folder: Path) -> str:
    file = folder / "script.py"
    file.write_text(script)
    source = str(Path(tilewise.__file__).parents[1])
    words = ["-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(folder / "cache"), str(file)]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        env={"MYPYPATH": source, "PATH": ""},
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_every_question_is_typed(tmp_path):
    pytest.importorskip("mypy")
    assert "no issues found" in checked(SCRIPT, tmp_path)
    found = checked(SCRIPT + "\n".join(WRONG), tmp_path)
    first = len(SCRIPT.splitlines()) + 1
    refused = {int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line}
    assert refused == {*range(first, first + len(WRONG))}, found
