"""What TMA does on the device at hand, asked in a few hundred boxes and the driver's rules: a first look.

    python -m tilewise.gpu.probes.tma --out FILE

Each case runs in a worker of its own process; a case that ends the worker is noted, and the next worker
goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np

from tilewise.gpu.probes import tensor_arguments, tensor_boxes
from tilewise.gpu.probes.tensor_copy import (
    UNTOUCHED,
    Aligned,
    Box,
    Landed,
    TensorCopies,
    encode,
    encoder,
    place_of,
)
from tilewise.hardware.modes import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TextIO

    from numpy.typing import NDArray

MOST_WORKERS = 20
MOST_SECONDS = 90


def cases() -> list[tuple[str, Box]]:
    """All boxes with the name of their kind, what may end a context last."""
    kinds = {
        "inner rows": tensor_boxes.every_inner_row(),
        "too wide": tensor_boxes.too_wide(),
        "corners": tensor_boxes.every_corner(1),
        "random": tensor_boxes.at_random(2, 500),
        "nan": tensor_boxes.filled_with_nan(),
        "steps": tensor_boxes.with_steps(3, 60),
        "interleaved": tensor_boxes.interleaved(),
        "misaligned": tensor_boxes.misaligned(),
    }
    return [(kind, box) for kind, boxes in kinds.items() for box in boxes]


# -- what we expect --------------------------------------------------------------------------------


def expected(box: Box, padded: bool = False, relative: bool = False) -> NDArray[np.int64]:
    """The slots of the window after the copy, by one reading of the documents."""
    each = box.bytes_each
    slots = np.full(box.window // each, UNTOUCHED, np.int64)
    slots[_bytes_of(box, padded, relative) // each] = place_of(box).ravel()
    return slots


def _bytes_of(box: Box, padded: bool, relative: bool) -> NDArray[np.int64]:
    each, mode = box.bytes_each, Mode.of(box.mode)
    inner = box.landed[-1] * each
    pitch = max(inner, mode.width) if padded and mode.bits else inner
    flat = np.arange(int(np.prod(box.landed)))
    linear = flat // box.landed[-1] * pitch + flat % box.landed[-1] * each
    start = 0 if relative else box.start
    moved = linear + start
    moved ^= (moved >> 3) & (((1 << mode.bits) - 1) << 4)
    return moved + (box.start - start)


READINGS = {
    "packed": (False, False),
    "padded": (True, False),
    "packed, relative": (False, True),
    "padded, relative": (True, True),
}


def judged(kind: str, box: Box, landed: Landed | int) -> dict[str, Any]:
    """A line of the report."""
    line: dict[str, Any] = {"kind": kind, "box": asdict(box)}
    if isinstance(landed, int):
        return line | {"refused": landed}
    line |= {"complete": landed.complete, "missing": landed.missing, "state": hex(landed.state)}
    if box.interleave != "none":
        return line | _described(landed.slots)
    fits = [
        name for name, reading in READINGS.items() if np.array_equal(expected(box, *reading), landed.slots)
    ]
    line["fits"] = fits
    if "padded" not in fits:
        want, got = expected(box, padded=True), landed.slots
        different = np.flatnonzero(want != got)
        line["different"] = len(different)
        line["first"] = [[int(i) * box.bytes_each, int(want[i]), int(got[i])] for i in different[:12]]
        line |= _described(landed.slots)
    return line


def _described(slots: NDArray[np.int64]) -> dict[str, Any]:
    """The slots as runs: (first slot, what is there, how many that count on by one)."""
    counted = np.where(slots > 0, 1, 0)
    breaks = np.flatnonzero(np.diff(slots, prepend=slots[0] - 7) != counted)
    starts = [int(i) for i in breaks]
    ends = [*starts[1:], len(slots)]
    return {"runs": [[a, int(slots[a]), b - a] for a, b in zip(starts, ends, strict=True)][:200]}


# -- workers ---------------------------------------------------------------------------------------


def work(first: int, out: TextIO) -> None:
    """Load every box from the first one on, a line each."""
    device = TensorCopies()
    _say(out, {"device": device.describe()})
    for index, (kind, box) in enumerate(cases()):
        if index < first:
            continue
        _say(out, {"begin": index})
        try:
            line = judged(kind, box, device.load(box))
        except (RuntimeError, ValueError) as error:
            _say(out, {"index": index, "kind": kind, "box": asdict(box), "failed": str(error)})
            if isinstance(error, RuntimeError):
                return
            continue
        _say(out, {"index": index} | line)
    _say(out, {"end": True})


def judge_rules(out: TextIO) -> None:
    """What the driver says of all arguments, a line each."""
    device = TensorCopies()  # the driver judges for the device of a context
    function, room, base = encoder(), Aligned(128), device.anywhere
    every = [*tensor_arguments.at_the_bounds(), *tensor_arguments.at_random(5, 1000)]
    for arguments in dict.fromkeys(every):
        result = encode(function, room, base + arguments.address, arguments.numbers)
        _say(out, {"arguments": asdict(arguments), "result": result, "broken": arguments.broken})
    _say(out, {"end": True})


def _say(out: TextIO, line: dict[str, Any]) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()


def _run(words: list[str], path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a worker, which may die or be ended after a while."""
    command = [sys.executable, "-m", "tilewise.gpu.probes.tma", *words, "--out", str(path)]
    try:
        run = subprocess.run(command, timeout=MOST_SECONDS, check=False)
        if run.returncode:
            print(f"worker {words} ended with {run.returncode}")
    except subprocess.TimeoutExpired:
        print(f"worker {words} was ended after {MOST_SECONDS} s")
    if path.exists():
        for text in path.read_text().splitlines():
            try:
                yield json.loads(text)
            except json.JSONDecodeError:
                return


def everything(out: Path) -> list[dict[str, Any]]:
    """All lines of all workers."""
    part = out.with_suffix(".part")
    lines = list(_run(["--rules"], part))
    print(f"rules: {len(lines)} lines")
    first, total = 0, len(cases())
    for _ in range(MOST_WORKERS):
        part.unlink(missing_ok=True)
        found = list(_run(["--first", str(first)], part))
        lines += found
        begun = max((line["begin"] for line in found if "begin" in line), default=first - 1)
        if any("end" in line for line in found) or not found:
            break
        print(f"the worker ended at case {begun} of {total}")
        first = begun + 1
    part.unlink(missing_ok=True)
    return lines


# -- the report ------------------------------------------------------------------------------------


def report(lines: list[dict[str, Any]]) -> None:
    """Counts, and the first differences of each kind."""
    for line in lines:
        if "device" in line:
            print(line["device"])
            break
    boxes = [line for line in lines if "box" in line]
    tally: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for line in boxes:
        verdict = _verdict(line)
        key = f"{line['kind']:12} {verdict}"
        tally[key] += 1
        if ("padded" not in line.get("fits", ()) or not line.get("complete")) and shown[key] < 3:
            shown[key] += 1
            brief = {name: value for name, value in line.items() if name not in ("kind", "index", "runs")}
            brief["runs"] = line.get("runs", [])[:12]
            print(f"{key}: {json.dumps(brief)}")
    print("\nboxes")
    for key, count in sorted(tally.items()):
        print(f"  {count:5} {key}")
    states = Counter(line["state"] for line in boxes if line.get("complete"))
    print("barrier states at the end of complete copies", states.most_common(5))
    _report_rules([line for line in lines if "arguments" in line])


def _verdict(line: dict[str, Any]) -> str:
    if "failed" in line:
        return f"failed: {line['failed'][:60]}"
    if "refused" in line:
        return f"refused {line['refused']}"
    done = "complete" if line["complete"] else f"incomplete, missing {line['missing']}"
    if line["box"]["interleave"] != "none":
        return done
    return f"{done}; fits {line['fits']}"


def _report_rules(lines: list[dict[str, Any]]) -> None:
    print(f"\nrules: {len(lines)} arguments, {sum(not line['result'] for line in lines)} accepted")
    tally: Counter[str] = Counter()
    for line in lines:
        if line["broken"] is None:
            key = f"outside our tables: {line['result']}"
        elif bool(line["broken"]) == bool(line["result"]):
            key = f"agreed: {line['result']}"
        else:
            key = f"DIFFERENT: driver {line['result']}, we {line['broken']}"
        tally[key] += 1
        if (key.startswith("DIFF") and tally[key] <= 4) or (line["broken"] is None and not line["result"]):
            print(f"  {key}: {json.dumps(line['arguments'])}")
    for key, count in sorted(tally.items()):
        print(f"  {count:5} {key}")


def main() -> None:
    """Run all and print; or be one worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int)
    parser.add_argument("--rules", action="store_true")
    args = parser.parse_args()
    if args.rules or args.first is not None:
        with args.out.open("w") as out:
            judge_rules(out) if args.rules else work(args.first, out)
        return
    begin = time.monotonic()
    lines = everything(args.out)
    with args.out.open("w") as out:
        for line in lines:
            if "begin" not in line and "end" not in line:
                _say(out, line)
    report(lines)
    print(f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
