"""Stands where Nsight Compute does: a warp's wavefronts and sectors by plain loops, printed as its CSV.

    python -m tests.gpu.emulated_profiler --csv ... --metrics ... --log-file LOG PROGRAM... LAUNCHES.json

It shares no code with the model. EMULATED_PROFILER in the environment is JSON of what it does otherwise than
a right one: `rule` of merging (ones, warp, never), `sectors` of lanes in groups, `launch` and `instruction`
constants, `without` metrics, `refuses` with a word, `ends` after so many launches.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

HEAD = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size")
HEAD += ("Grid Size", "Device", "CC")
NOBODY = 0xFFFFFFFF
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}"
COPIES = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts"
KNOWN = (SHARED, COPIES, *(f"{SHARED}_op_{op}" for op in ("ld", "st", "atom")))
KNOWN += tuple(GLOBAL.format(what, op) for what in ("sectors", "requests") for op in ("ld", "st"))
SOURCE = ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")


def main(arguments: list[str]) -> int:
    """As the profiler's own command line."""
    odd = json.loads(os.environ.get("EMULATED_PROFILER", "{}"))
    if "--version" in arguments:
        print("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2000.1.0.0 (build 1)")
        return 0
    if "--query-metrics" in arguments:
        print("Device Emulated (SM 9.0)")
        for name in KNOWN:
            if name not in odd.get("without", ()):
                print(f"{name:<60} Counter         wavefronts # of something")
        return 0
    log = Path(arguments[arguments.index("--log-file") + 1])
    if odd.get("refuses"):
        log.write_text(f"==ERROR== {odd['refuses']} - see the pages\n", encoding="utf-8")
        return 1
    metrics = arguments[arguments.index("--metrics") + 1].split(",") if "--metrics" in arguments else SOURCE
    for metric in metrics if "--metrics" in arguments else ():
        if metric in odd.get("without", ()) or metric.removesuffix(".sum") in odd.get("without", ()):
            log.write_text(f"==ERROR== Failed to find metric {metric}\n", encoding="utf-8")
            return 1
    asked = json.loads(Path(arguments[-1]).read_text(encoding="utf-8"))
    lines = ["==PROF== Connected to process 7", '==PROF== Profiling "counted": 0%....100% - 1 pass']
    lines += [quoted([*HEAD, *metrics]), quoted([""] * (len(HEAD) + len(metrics)))]
    for number, launch in enumerate(asked[: odd.get("ends")]):
        found = counted(launch, odd)
        row = [str(number), "7", "python3", "h", launch["kernel"], "1", "7", "(32, 1, 1)", "(1, 1, 1)", "0"]
        lines.append(quoted([*row, "9.0", *(f"{found.get(metric, 0):,}" for metric in metrics)]))
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(asked)} launches")
    return 0


def quoted(cells: list[str]) -> str:
    """A row of the CSV."""
    return ",".join(f'"{cell}"' for cell in cells)


def counted(launch: dict, odd: dict) -> dict[str, int]:
    """Every metric of one launch."""
    name = launch["kernel"].removeprefix("counted_")
    beyond, name = name.startswith("global_"), name.removeprefix("global_")
    operation = re.match("cp_async|[a-z]+", name)[0]
    matrices = int(re.search(r"_x(\d)", name)[1]) if "matrix" in operation else 0
    size = 16 if matrices else int(re.search(r"_(\d+)$", name)[1])
    found: dict[str, int] = {}
    for addresses, times in zip(launch["addresses"], launch["times"], strict=True):
        lanes = {n: a for n, a in enumerate(addresses) if a != NOBODY and (not matrices or n < 8 * matrices)}
        if beyond:
            each = 128 // max(4, size) if odd.get("sectors") == "groups" else 32
            asked = {(n // each, byte // 32) for n, a in lanes.items() for byte in range(a, a + size)}
            for what, count in (("sectors", len(asked)), ("requests", 1)):
                key = GLOBAL.format(what, operation) + ".sum"
                found[key] = found.get(key, 0) + count * times
            continue
        copies = operation == "cp_async"
        parts = [] if copies else dealt(lanes, operation, size, odd.get("rule", "warp"))
        op = {"ldmatrix": "ld", "stmatrix": "st"}.get(operation, operation)
        own = COPIES if copies else f"{SHARED}_op_{op}"
        count = copied(lanes, size) if copies else sum(map(busiest, parts))
        count += odd.get("instruction", 0)
        for key in (f"{SHARED}.sum", f"{own}.sum"):
            found[key] = found.get(key, 0) + count * times
        page = on_the_page(lanes, operation, size)
        found[SOURCE[0]] = found.get(SOURCE[0], 0) + page * times
        found[SOURCE[1]] = found.get(SOURCE[1], 0) + min(page, -(-size * len(lanes) // 128)) * times
    constant = odd.get("launch", 1)
    return {key: count + constant * key.endswith(".sum") for key, count in found.items()}


def on_the_page(lanes: dict[int, int], operation: str, size: int) -> int:
    """Count as the source page does: two phases go together only where one wavefront is enough for both."""
    apart = [busiest(part) for part in dealt(lanes, operation, size, "never")]
    joined = [busiest(part) for part in dealt(lanes, operation, size, "warp")]
    if len(joined) == len(apart):
        return sum(apart)
    return sum(
        one if one < 2 else left + right
        for one, left, right in zip(joined, apart[::2], apart[1::2], strict=True)
    )


def dealt(lanes: dict[int, int], operation: str, size: int, rule: str) -> list[list[int]]:
    """The words that each phase asks for."""
    together = min(32, 128 // size)
    if operation == "ld" and together < 32:
        pairs = {"warp": (1, 2), "ones": (1,), "never": ()}[rule]
        if any(all(lanes.get(n ^ d, a) == a for n, a in lanes.items()) for d in pairs):
            together *= 2
    parts = []
    for part in range(32 // together):
        asked = [(n, a) for n, a in lanes.items() if n // together == part]
        words = [w for n, a in asked for w in range(a // 4, (a + size + 3) // 4)]
        parts.append(sorted(words if operation == "atom" else set(words)))
    return parts


def copied(lanes: dict[int, int], size: int) -> int:
    """The wavefronts of copies whose lane n reads 16 n: it goes after those before it in its banks."""
    total = 0
    for first in range(0, 32, 128 // size):
        last: Counter[tuple[str, int]] = Counter()
        for n in sorted(set(lanes) & set(range(first, first + 128 // size))):
            banks = {
                (end, (at + byte) // 4 % 32)
                for end, at in (("to", lanes[n]), ("from", 16 * n))
                for byte in range(size)
            }
            last.update(dict.fromkeys(banks, 0))
            turn = 1 + max(last[bank] for bank in banks)
            last |= Counter(dict.fromkeys(banks, turn))
        total += max(last.values(), default=0)
    return total


def busiest(words: list[int]) -> int:
    """Return how many words the busiest bank has."""
    return max(Counter(word % 32 for word in words).values(), default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
