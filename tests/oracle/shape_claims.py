"""The M and N of products of tcgen05, by an oracle; and by the assertions in CuTe's headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tests.oracle.claims import Claim
from tests.oracle.cute_traits import headers

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instance_of
from tilewise.hardware.tcgen05.kinds import KINDS, Product

Taken = Callable[[int, int], bool]


def claim_of_shapes(of: str, values: Mapping[str, Any], taken: Taken) -> Claim:
    """An oracle's word on every M and N, against ours."""
    entry = find("tcgen05.shapes")
    instance = instance_of(entry, values)
    legal = Product(KINDS[values["kind"]], values["cta_group"], values["sparse"], values["ws"]).shapes
    for m, n in product((32, 64, 128, 256), range(8, 264, 8)):
        ours = n in legal.get(m, ())
        if ours != taken(m, n):
            return Claim(entry.name, instance, of, f"M = {m}, N = {n} is {'refused' if ours else 'taken'}")
    return Claim(entry.name, instance, of)


# -- CuTe's headers --------------------------------------------------------------------------------

KINDS_OF = {
    "F16BF16": ("f16",),
    "TF32": ("tf32",),
    "S8": ("i8",),
    "F8F6F4": ("f8f6f4",),
    "MXF8F6F4": ("mxf8f6f4",),
    "MXF4": ("mxf4", "mxf4nvf4"),
    "MXF4NVF4": ("mxf4", "mxf4nvf4"),
}
"""{word of an operation's name: kinds}; one operation serves both of packed elements."""

FAULTS = {
    ("tcgen05.shapes", "i8"): "N = 24 is refused",
    ("tcgen05.shapes", "i8 sparse"): "N = 24 is refused",
    ("tcgen05.shapes", "f8f6f4 sparse"): "N in steps of 16 for M = 128",
    ("tcgen05.shapes", "f8f6f4 cta_group=2 sparse"): "N in steps of 32",
    (
        "tcgen05.shapes",
        "mxf8f6f4 cta_group=2",
    ): "M = 128 is refused, and the message says it is not",
}
"""{entry and instance: what CuTe's headers have otherwise}, in the version that pyproject.toml names."""

_OPERATION = re.compile(r"struct SM100_MMA_([A-Z0-9]+?)(_2x1SM)?_SS(_SPARSE)?\n\{(.*?)\n\};", re.DOTALL)
_WS = re.compile(r"struct tmem_frg_ws : tmem_frg_base\n\{(.*?)\n\};", re.DOTALL)
"""D of `.ws`, for which CuTe has no operation."""
_ASSERTION = re.compile(r'static_assert\((.*?),\s*"', re.DOTALL)


def missing() -> str | None:
    """Return why the headers have no answer here, or None."""
    return "nvidia-cutlass is not installed" if headers() is None else None


def claims() -> Iterator[Claim]:
    """Of every operation whose A is in shared memory and which asserts something of M and of N; and of D."""
    include = headers()
    assert include is not None
    text = (include / "cute/arch/mma_sm100_umma.hpp").read_text()
    for name, pair, sparse, body in _OPERATION.findall(text):
        said = _of_shapes(_ASSERTION.findall(body))
        if name not in KINDS_OF or not all(any(letter in words for words in said) for letter in "MN"):
            continue
        for kind in KINDS_OF[name]:
            of = {"kind": kind, "cta_group": 2 if pair else 1, "sparse": bool(sparse), "ws": False}
            yield claim_of_shapes(f"SM100_MMA_{name}{pair}_SS{sparse}", of, _taken(said))
    yield from _of_ws((include / "cute/atom/mma_traits_sm100.hpp").read_text())


def _of_ws(text: str) -> Iterator[Claim]:
    """Yield the assertions about D of dense products, which is the same for every kind."""
    found = _WS.search(text)
    assert found is not None
    said = [words.replace("_MMA", "") for words in _ASSERTION.findall(found[1])]
    taken = _taken(_of_shapes(said))
    for kind in KINDS.values():
        if not kind.scaled:
            of = {"kind": kind.name, "cta_group": 1, "sparse": False, "ws": True}
            yield claim_of_shapes("tmem_frg_ws", of, taken)


def _of_shapes(asserted: Iterable[str]) -> list[str]:
    """Of what is asserted what is of M or N."""
    return [words for words in asserted if re.search(r"\b[MN]\b", words)]


def _taken(said: list[str]) -> Taken:
    """The assertions, which are Python once their signs are words."""
    python = " and ".join(
        f"({' '.join(words.replace('&&', 'and').replace('||', 'or').split())})" for words in said
    )
    assert re.fullmatch(r"(?:[MN\d\s()=<>%]|and|or)+", python), python
    code = compile(python, "assertions", "eval")
    return lambda m, n: bool(eval(code, {"M": m, "N": n}))
