"""Kernels of moves for compute-sanitizer: each launched once, on storages that end with their last byte.

    python -m tests.gpu.sanitized_moves prepare FOLDER [PAIRS [FIRST]]
    compute-sanitizer --tool memcheck --error-exitcode 9 python -m tests.gpu.sanitized_moves run FOLDER

`prepare` draws pairs that take a kernel, compiles them on all cores and makes their results on the CPU; `run`
needs the driver and nothing else, so that the sanitizer sees the kernels alone. Elements of 4 bits whose rows
begin amid bytes are changed in words of 4 bytes; storage ends with one, as every allocator gives it.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import numpy as np
from tests.codegen.driver import Driver

PAIRS = 50


def prepare(folder: Path, pairs: int = PAIRS, first: int = 0) -> list[dict]:
    """The launches of so many pairs, with sources and results, as files of a folder."""
    from tests.gpu.test_move import shifted
    from tests.moves.pairs import case
    from tests.moves.test_move import element, storage

    from tilewise import plan
    from tilewise.gpu.compile import Source, cubins
    from tilewise.gpu.device import find
    from tilewise.moves import move
    from tilewise.moves.kernels.checked import WORD
    from tilewise.moves.kernels.spelling import NAME
    from tilewise.moves.kernels.tile_kernel import STATIC
    from tilewise.moves.memory import ALIGNED

    arch, launches, seed = find().arch, [], first
    while len(launches) < pairs:
        asked = case(seed, 60_000 if seed % 5 == 0 else 6000)
        offset = shifted(asked, seed)
        words = {"dtype": asked.dtype, "shape": asked.shape, "fill": element(asked)}
        found = plan(asked.source, asked.target, **words, aligned=offset & -offset or ALIGNED)
        seed += 1
        if not found.kernel:
            continue
        source = storage(asked, seed - 1)
        result = move(source, asked.source, asked.target, **words)
        np.savez(folder / f"{len(launches)}.npz", source=source, result=result)
        blocks, threads, shared = found.launch
        launches.append(
            {
                "said": f"{seed - 1}: {asked}",
                "kind": found.kind,
                "kernel": NAME,
                "text": found.kernel,
                "launch": (blocks, threads, shared if shared > STATIC else 0),
                "offset": offset,
                "fill": found.fill.hex() if found.fills else "",
                "ends_with": WORD if found.changes_words else 1,
            }
        )
    codes = cubins([Source(f"{NAME}.cu", own.pop("text"), arch) for own in launches])
    for number, code in enumerate(codes):
        (folder / f"{number}.cubin").write_bytes(code)
    (folder / "launches.json").write_text(json.dumps(launches), encoding="utf-8")
    return launches


def run(folder: Path) -> None:
    """All launches, one after the other, each compared with its result; and a word when they are done."""
    launches = json.loads((folder / "launches.json").read_text(encoding="utf-8"))
    driver, wrong = Driver(), []
    for number, own in enumerate(launches):
        arrays, code = np.load(folder / f"{number}.npz"), (folder / f"{number}.cubin").read_bytes()
        wanted = arrays["result"].tobytes()
        if moved(driver, own, code, arrays["source"], len(wanted)) != wanted:
            wrong.append(own["said"])
    kinds = sorted(own["kind"] for own in launches)
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    print(f"{len(launches)} pairs ({counts}), {len(wrong)} wrong", *wrong, sep="\n  ", flush=True)
    sys.exit(bool(wrong))


def moved(driver: Driver, own: dict, code: bytes, source: np.ndarray, size: int) -> bytes:
    """Return what one launch leaves in a target."""
    blocks, threads, shared = own["launch"]
    offset, fill = own["offset"], bytes.fromhex(own["fill"]) or b"\x5a"
    target = (fill * -(-size // len(fill)))[:size]
    before, after = bytes(offset), bytes(-(offset + size) % own["ends_with"])
    with (
        driver.memory(before + source.tobytes(), before + target + after) as buffers,
        driver.kernel(code, own["kernel"], shared) as kernel,
    ):
        places = [ctypes.c_uint64(buffer.value + offset) for buffer in buffers]
        driver.launch(kernel, (blocks, 1), threads, shared, places)
        return driver.read(buffers[1], offset + size)[offset:]


if __name__ == "__main__":
    asked, where, *numbers = sys.argv[1:]
    if asked == "prepare":
        Path(where).mkdir(parents=True, exist_ok=True)
        prepare(Path(where), *map(int, numbers))
    else:
        run(Path(where))
