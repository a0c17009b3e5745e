"""The place of each packed weight, by programs that define or read packed weights, and the way to record it.

Programs that pack are given matrices whose weights spell their own indices, a digit a run, and what they
pack is read from memory. Programs that unpack are given memory whose elements spell their own places. So the
record has, for each weight in the order of its index, its place: the first, and then the step to each next.

gguf and tinygrad are packages. The others answer as they stand in a folder that has their files, of
AutoAWQ, AutoGPTQ and marlin as their repositories have them, of vLLM as its package has them:

    FOLDER/AutoAWQ  FOLDER/AutoGPTQ  FOLDER/marlin  FOLDER/vllm

Single functions of theirs are run, without their packages, which need a GPU. With torch, gguf and tinygrad
installed, this writes the record anew:

    python -m tests.oracle.weight_packers FOLDER

Where the environment variable WEIGHT_PACKERS names such a folder, the tests ask it, and hold the record to
it.
"""

from __future__ import annotations

import ast
import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, pairwise, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

RECORD = Path(__file__).with_name("goldens") / "weight_packers.json.gz"
VARIABLE = "WEIGHT_PACKERS"
K, N = 64, 128
DEEP, GROUP = 256, 128
"""Inputs where they have scales and zeros, in two groups."""
GROUPS = DEEP // GROUP


@dataclass(frozen=True)
class Answer:
    """The answer of a program for one instance: the place of each element, in the order of their indices."""

    entry: str
    values: dict[str, int]
    function: str
    places: tuple[int, ...]

    def data(self) -> dict[str, Any]:
        """As the record keeps it."""
        steps = [self.places[0], *(b - a for a, b in pairwise(self.places))]
        return {"entry": self.entry, "values": self.values, "function": self.function, "steps": steps}


@cache
def recorded() -> dict[str, list[Answer]]:
    """{program and its version: what it says}."""
    kept = json.loads(gzip.decompress(RECORD.read_bytes()))
    return {
        program: [
            Answer(row["entry"], row["values"], row["function"], tuple(accumulate(row["steps"])))
            for row in rows
        ]
        for program, rows in kept.items()
    }


def answers_of(program: str) -> list[Answer]:
    """Return the answers of a program, by its name, of which the record has one version."""
    (found,) = (answers for name, answers in recorded().items() if name.split()[0] == program)
    return found


# -- asking ----------------------------------------------------------------------------------------

Memory = np.ndarray[Any, Any]
"""The memory that a program made or takes."""


def fields(memory: Memory, bits: int) -> Memory:
    """The elements of so many bits in the order of memory, the low bits of a byte first."""
    octets = np.frombuffer(np.ascontiguousarray(memory).tobytes(), np.uint8)
    return octets if bits == 8 else np.stack([octets & 15, octets >> 4], -1).reshape(-1)


def packed(elements: Memory, bits: int) -> Memory:
    """The bytes that elements of so many bits are."""
    octets = elements.astype(np.uint8)
    return octets if bits == 8 else octets[0::2] | octets[1::2] << np.uint8(4)


def spelled(count: int, run: Callable[[Memory], Memory], base: int) -> Memory:
    """The numbers 0 to count as they come out where a program carries them, digit by digit."""
    numbers, found, unit = np.arange(count), 0, 1
    while unit < count:
        found = found + unit * run(numbers // unit % base).astype(np.int64)
        unit *= base
    return np.asarray(found)


def places_where(indices: Memory) -> tuple[int, ...]:
    """The place of each index, of the index that is at each place."""
    assert sorted(indices.tolist()) == list(range(len(indices))), "some are lost, or there twice"
    return tuple(np.argsort(indices).tolist())


def where_packed(pack: Callable[[Any], Any], rows: int, columns: int, bits: int) -> tuple[int, ...]:
    """The place of each element of a matrix that a program packs."""
    import torch

    def run(digits: Memory) -> Memory:
        made = np.asarray(pack(torch.from_numpy(digits.reshape(rows, columns).astype(np.int32))))
        return made.reshape(-1) if bits == 16 else fields(made, bits)

    return places_where(spelled(rows * columns, run, 1 << min(bits, 8)))


def functions(file: Path, *names: str, **given: Any) -> SimpleNamespace:
    """Functions, classes and constants of a module, run with what they are given and nothing else."""
    kept = [node for node in ast.parse(file.read_text()).body if _name(node) in names]
    assert len(kept) == len(names), f"{file} has not all of {names}"
    space = dict(given)
    exec(compile(ast.Module(kept, []), str(file), "exec"), space)
    return SimpleNamespace(**{name: value for name, value in space.items() if name.isidentifier()})


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        first = target.elts[0] if isinstance(target, ast.Tuple) else target
        return first.id if isinstance(first, ast.Name) else ""
    return getattr(node, "name", "")


# -- the programs ----------------------------------------------------------------------------------


def _all(number: int, rows: int) -> Any:
    """A matrix of one number."""
    import torch

    return torch.full((rows, N), number, dtype=torch.int32)


def of_autoawq(folder: Path) -> Iterator[Answer]:
    """AutoAWQ packs weights and zeros of a layer whose scales are 1."""
    import torch

    file = folder / "awq/modules/linear/gemm.py"
    given = {"torch": torch, "nn": torch.nn, "get_best_device": lambda: "cpu"}
    layer = functions(file, "WQLinear_GEMM", **given).WQLinear_GEMM

    def made(weights: Any, zeros: Any) -> Any:
        """Its weights are rounded from what they stand for, (q - zero) * 1."""
        size = len(weights) // len(zeros)
        linear = torch.nn.Linear(len(weights), N, bias=False)
        linear.weight.data = (weights - zeros.repeat_interleave(size, 0)).t().float()
        return layer.from_linear(linear, 4, size, scales=torch.ones(len(zeros), N), zeros=zeros)

    weight = where_packed(lambda q: made(q, _all(0, 1)).qweight, K, N, 4)
    yield Answer("awq.weight", {"k": K, "n": N}, "WQLinear_GEMM.from_linear", weight)
    zero = where_packed(lambda z: made(_all(0, DEEP), z).qzeros, GROUPS, N, 4)
    yield Answer("awq.zero", {"k": DEEP, "n": N}, "WQLinear_GEMM.from_linear", zero)


def of_autogptq(folder: Path) -> Iterator[Answer]:
    """AutoGPTQ packs weights and zeros of 4 and 8 bits."""
    import torch

    class NoneSuch:
        """The kind of layer of another package."""

    file = folder / "auto_gptq/nn_modules/qlinear/qlinear_cuda_old.py"
    transformers = SimpleNamespace(pytorch_utils=SimpleNamespace(Conv1D=NoneSuch))
    given = {"torch": torch, "nn": torch.nn, "np": np, "transformers": transformers}
    layer = functions(file, "QuantLinear", **given).QuantLinear
    for bits in (4, 8):
        yield from _of_autogptq(layer, bits)


def _of_autogptq(layer: Any, bits: int) -> Iterator[Answer]:
    """Those of one width, from zeros that it stores less 1."""
    import torch

    def made(weights: Any, zeros: Any) -> Any:
        size = len(weights) // len(zeros)
        linear = torch.nn.Linear(len(weights), N, bias=False)
        linear.weight.data = (weights - zeros.repeat_interleave(size, 0)).t().float()
        own = SimpleNamespace(infeatures=len(weights), outfeatures=N, bits=bits, group_size=size)
        layer.pack(own, linear, torch.ones(N, len(zeros)), zeros.t().float().clone(), None)
        return own

    weight = where_packed(lambda q: made(q, _all(1, 1)).qweight, K, N, bits)
    yield Answer("gptq.weight", {"k": K, "n": N, "bits": bits}, "QuantLinear.pack", weight)
    zero = where_packed(lambda z: made(_all(0, DEEP), z + 1).qzeros, GROUPS, N, bits)
    yield Answer("gptq.zero", {"k": DEEP, "n": N, "bits": bits}, "QuantLinear.pack", zero)


def of_marlin(folder: Path) -> Iterator[Answer]:
    """Marlin packs weights, and orders scales of several groups and of one."""
    import torch

    file = folder / "marlin/__init__.py"
    given = {"torch": torch, "nn": torch.nn, "np": np}
    layer = functions(file, "_get_perms", "_perm", "Layer", **given).Layer

    def made(weights: Any, scales: Any) -> Any:
        """Its weights are what they stand for, (q - 8) scale."""
        k, size = len(weights), len(weights) // len(scales)
        linear = torch.nn.Linear(k, N, bias=False)
        linear.weight.data = ((weights - 8) * scales.repeat_interleave(size, 0)).t().half()
        words, kept = torch.empty(k // 16, 2 * N, dtype=torch.int32), torch.empty(len(scales), N)
        own = SimpleNamespace(k=k, n=N, groupsize=size, B=words, s=kept)
        layer.pack(own, linear, scales.t().half())
        return own

    for groups in (1, GROUPS):
        weight = where_packed(partial(lambda scales, q: made(q, scales).B, _all(1, groups)), K, N, 4)
        yield Answer("marlin.weight", {"k": K, "n": N}, "Layer.pack", weight)
        scale = where_packed(lambda s: made(_all(8, DEEP), s + 1).s - 1, groups, N, 16)
        values = {"k": DEEP, "n": N, "group_size": -1 if groups == 1 else GROUP}
        yield Answer("marlin.scale", values, "Layer.pack", scale)


def of_vllm(folder: Path) -> Iterator[Answer]:
    """vLLM packs AWQ's and GPTQ's weights in its tests, and Marlin's for its kernels."""
    import torch

    utils = folder / "model_executor/layers/quantization/utils"
    given: dict[str, Any] = {"torch": torch, "np": np, "numpy": np}
    names = ("get_pack_factor", "pack_rows", "pack_cols", "unpack_cols", "gptq_pack", "awq_pack")
    plain = functions(utils / "quant_utils.py", *names, **given)
    given |= vars(plain) | {"GPTQ_MARLIN_TILE": 16}
    names = ("get_scale_perms", "marlin_permute_scales", "marlin_zero_points", "awq_to_marlin_zero_points")
    marlin = functions(utils / "marlin_utils.py", *names, **given)
    names = ("marlin_permute_weights", "marlin_weights", "get_weight_perm")
    tiles = functions(utils / "marlin_utils_test.py", *names, **given)

    weight = where_packed(lambda q: plain.awq_pack(q, 4, K, N), K, N, 4)
    yield Answer("awq.weight", {"k": K, "n": N}, "awq_pack", weight)
    for bits in (4, 8):
        yield from _gptq_by_vllm(plain, bits)
    for bits, a_bits in product((4, 8), (16, 8)):
        yield _tiles_by_vllm(tiles, bits, a_bits)
    for size, a_bits in product((GROUP, -1), (16, 8)):
        yield _scales_by_vllm(marlin, size, a_bits)
    of_halves, of_bytes = (_zeros_by_vllm(marlin, a_bits) for a_bits in (16, 8))
    yield from (of_halves, of_bytes)

    def repacked(places: Memory) -> Memory:
        return fields(np.asarray(marlin.awq_to_marlin_zero_points(_zeros(places, 4), GROUPS, N, 4)), 4)

    was = spelled(GROUPS * N, repacked, 16)
    places = tuple(was[list(of_halves.places)].tolist())
    yield Answer("awq.zero", {"k": DEEP, "n": N}, "awq_to_marlin_zero_points", places)


def _gptq_by_vllm(plain: Any, bits: int) -> Iterator[Answer]:
    def unpacked(places: Memory) -> Memory:
        return np.asarray(plain.unpack_cols(_zeros(places, bits), bits, GROUPS, N)).reshape(-1)

    weight = where_packed(lambda q: plain.gptq_pack(q, bits, K, N), K, N, bits)
    yield Answer("gptq.weight", {"k": K, "n": N, "bits": bits}, "gptq_pack", weight)
    zero = tuple(spelled(GROUPS * N, unpacked, 1 << bits).tolist())
    yield Answer("gptq.zero", {"k": DEEP, "n": N, "bits": bits}, "unpack_cols", zero)


def _tiles_by_vllm(tiles: Any, bits: int, a_bits: int) -> Answer:
    perm = tiles.get_weight_perm(bits, a_bits == 8)
    weight = where_packed(lambda q: tiles.marlin_weights(q, K, N, bits, perm, a_bits == 8), K, N, bits)
    return Answer("marlin.weight", {"k": K, "n": N, "bits": bits, "a_bits": a_bits}, "marlin_weights", weight)


def _scales_by_vllm(marlin: Any, size: int, a_bits: int) -> Answer:
    def ordered(s: Any) -> Any:
        return marlin.marlin_permute_scales(s, DEEP, N, size, a_bits == 8)

    scale = where_packed(ordered, 1 if size == -1 else GROUPS, N, 16)
    values = {"k": DEEP, "n": N, "group_size": size, "a_bits": a_bits}
    return Answer("marlin.scale", values, "marlin_permute_scales", scale)


def _zeros_by_vllm(marlin: Any, a_bits: int) -> Answer:
    def ordered(z: Any) -> Any:
        return marlin.marlin_zero_points(z, GROUPS, N, 4, a_bits == 8)

    zero = where_packed(ordered, GROUPS, N, 4)
    return Answer("marlin.zero", {"k": DEEP, "n": N, "a_bits": a_bits}, "marlin_zero_points", zero)


def _zeros(places: Memory, bits: int) -> Any:
    """The words of zeros that spell their places."""
    import torch

    return torch.from_numpy(packed(places, bits).view(np.int32).reshape(GROUPS, -1))


# -- GGUF ------------------------------------------------------------------------------------------

ROWS, ROW = 2, 512
ONE = [0x00, 0x3C]
"""1 of f16."""
TYPES = {
    "q4_0": (2, 32, 4, ONE, lambda v: v + 8),
    "q8_0": (8, 32, 8, ONE, lambda v: v),
    "q4_k": (12, 256, 4, [*ONE, 0, 0, *[1] * 4, *[0] * 4, *[1] * 4], lambda v: v),
    "mxfp4": (39, 32, 4, [128], lambda v: np.searchsorted([0, 1, 2, 3, 4, 6, 8, 12], v)),
}
"""{type: (ggml's number, weights of a block, bits, the header of a scale of 1, from a value to the bits)}."""


def of_gguf(dequantize: Callable[[Memory, int], Memory], function: str) -> Iterator[Answer]:
    """A program says which value each weight has, of blocks whose elements spell their places."""
    for name in TYPES:
        yield Answer(f"gguf.{name}", {"rows": ROWS, "k": ROW}, function, _places_in_blocks(name, dequantize))


def _places_in_blocks(name: str, dequantize: Callable[[Memory, int], Memory]) -> tuple[int, ...]:
    number, weights, bits, header, read = TYPES[name]
    size = len(header) + weights * bits // 8

    def run(digits: Memory) -> Memory:
        octets = packed(digits, bits).reshape(-1, size)
        octets[:, : len(header)] = header
        return read(np.asarray(dequantize(octets, number)).reshape(-1))

    elements = ROWS * ROW // weights * size * 8 // bits
    of_no_sign = 1 << bits - 1
    return tuple(spelled(elements, run, of_no_sign).tolist())


def by_gguf(octets: Memory, number: int) -> Memory:
    """Return what gguf-py makes of blocks."""
    import gguf

    made = gguf.quants.dequantize(octets.reshape(ROWS, -1), gguf.GGMLQuantizationType(number))
    return np.asarray(made)


def by_tinygrad(octets: Memory, number: int) -> Memory:
    """Return what tinygrad makes of blocks, on its device that is Python alone."""
    os.environ.setdefault("DEV", "PYTHON")
    from tinygrad import Tensor
    from tinygrad.llm.gguf import ggml_data_to_tensor

    return np.asarray(ggml_data_to_tensor(Tensor(octets.reshape(-1)), ROWS * ROW, number).numpy())


PACKAGES: dict[str, Callable[[], Iterator[Answer]]] = {
    "gguf": lambda: of_gguf(by_gguf, "quants.dequantize"),
    "tinygrad": lambda: of_gguf(by_tinygrad, "ggml_data_to_tensor"),
}
SOURCES: dict[str, tuple[str, str, Callable[[Path], Iterator[Answer]]]] = {
    "AutoAWQ": ("AutoAWQ", "88e4c76b20755db275574e6a03c83c84ba3bece5", of_autoawq),
    "AutoGPTQ": ("AutoGPTQ", "9f7d37072917ab3a7545835f23e808294a542153", of_autogptq),
    "Marlin": ("marlin", "2f6d7c10e124b3c5fa29ff8d77d568bd7af3274c", of_marlin),
    "vLLM": ("vllm", "0.33.0", of_vllm),
}
"""{program: (its folder, the version that answered, the function that asks it)}."""


def main() -> None:
    from importlib.metadata import version

    folder = Path(sys.argv[1])
    found = {f"{name} {version(name)}": [*ask()] for name, ask in PACKAGES.items()}
    for name, (place, said, ask) in SOURCES.items():
        found[f"{name} {said}"] = [*ask(folder / place)]
    kept = {name: [answer.data() for answer in answers] for name, answers in found.items()}
    text = json.dumps(kept, separators=(",", ":"))
    RECORD.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
