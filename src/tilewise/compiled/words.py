"""The words for what was counted, which the text, the page and the claims of tests share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewise.compiled.kernel import ReadKernel, Row
from tilewise.compiled.lines import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.compiled.engines import ProductRow, TransferRow

OPERATIONS = {"ld": "load", "st": "store", "cp.async": "copy", "atom": "atomic", "red": "atomic"}

ONE = {"addresses": "address"}
"""Counts whose singular is not the plural without its s."""

TOO_MUCH = 1.25
"""A cost is marked from so many times its ideal on."""


def many(count: int, name: str) -> str:
    """Return a count with its name, which is a plural.

    >>> many(1, "wavefronts"), many(1, "addresses"), many(4096, "sectors")
    ('1 wavefront', '1 address', '4,096 sectors')
    """
    return f"{count:,} {ONE.get(name, name.removesuffix('s')) if count == 1 else name}"


def cost_words(cost: Mapping[str, int]) -> str:
    """Return the cost of a finding in words: the first count beside its ideal, then the others.

    >>> cost_words({"wavefronts": 512, "ideal": 32, "requests": 32})
    '512 wavefronts where 32 would do, in 32 requests'
    >>> cost_words({"requests": 32, "ideal": 8}), cost_words({"bytes": 4096, "barriers": 1})
    ('32 requests where 8 would do', '4,096 bytes, 1 barrier')
    """
    counts = {name: count for name, count in cost.items() if name != "ideal"}
    (first, count), *others = counts.items()
    words = many(count, first)
    if "ideal" in cost:
        words += f" where {cost['ideal']:,} would do"
        return ", in ".join([words, *(many(more, name) for name, more in others)])
    return ", ".join([words, *(many(more, name) for name, more in others if more)])


def sentence(text: str) -> str:
    """Return a text with a capital letter at its begin, where that is a word.

    >>> sentence("a load of 4 bytes"), sentence("slice(1, #mma) becomes #blocked")
    ('A load of 4 bytes', 'slice(1, #mma) becomes #blocked')
    """
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def access_words(row: Row) -> str:
    """Return an access in two words, such as `shared load`."""
    return f"{row.space} {OPERATIONS.get(row.operation, row.operation)}"


def times(cost: int, ideal: int) -> str:
    """Return how many times the ideal a cost is, where it is more.

    >>> times(512, 32), times(100, 99), times(8, 8)
    ('16.0x', '', '')
    """
    return f"{cost / ideal:.1f}x" if ideal and cost * 20 > ideal * 21 else ""


def launch_words(kernel: ReadKernel) -> str:
    """Return the text that was counted, the target and the launch.

    >>> launch_words(ReadKernel("k"))
    'TTGIR'
    """
    words = ", ".join(filter(None, (kernel.source, kernel.target)))
    if kernel.run is None:
        return words
    launch = kernel.run.launch
    return f"{words}; grid {extents(launch.grid)}, block {extents(launch.block)}"


def extents(given: Sequence[int]) -> str:
    """Return extents without the ones at their end.

    >>> extents((4, 1, 1)), extents((32, 8, 1)), extents((1, 1, 1))
    ('4', '32,8', '1')
    """
    last = max((place for place, extent in enumerate(given) if extent != 1), default=0)
    return ",".join(str(extent) for extent in given[: last + 1])


@dataclass(frozen=True, slots=True)
class AccessSum:
    """The sums of the launch of one space and direction."""

    name: str
    """Such as `shared load`."""
    instructions: int
    requests: int
    cost: int
    counted: str
    """wavefronts or sectors."""
    ideal: int
    unknown: int


def sums_of(kernel: ReadKernel) -> list[AccessSum]:
    """Return the sums that are not empty."""
    found = []
    for space, kinds in kernel.totals.items():
        for kind, sums in kinds.items():
            counted = "wavefronts" if "wavefronts" in sums else "sectors"
            numbers = (sums["instructions"], sums["requests"], sums[counted], counted, sums["ideal"])
            if sums["instructions"]:
                found.append(AccessSum(f"{space} {kind}", *numbers, sums["unknown"]))
    return found


# -- engines ---------------------------------------------------------------------------------------------


def spans_words(found: Mapping[str, Any] | None, unit: str = "") -> str:
    """Return numbers by the first and their steps.

    >>> steps = [{"count": 3, "by": 8192}, {"count": 4, "by": 32}]
    >>> spans_words({"first": 1024, "last": 17504, "different": 12, "steps": steps}, " B")
    '1,024; 3 steps of 8,192 B, 4 of 32 B'
    >>> spans_words({"first": 0, "last": 96, "different": 3, "steps": None}), spans_words(None)
    ('3 from 0 to 96', 'unknown')
    """
    if found is None:
        return "unknown"
    if found["steps"] is None:
        return f"{found['different']:,} from {found['first']:,} to {found['last']:,}"
    words = [f"{step['count']:,} of {step['by']:,}{unit}" for step in found["steps"]]
    first = f"{found['first']:,}"
    return f"{first}; {', '.join(words).replace(' of', ' steps of', 1)}" if words else first


def product_words(row: ProductRow) -> str:
    """Return a product in words: `wgmma m64n128k16, bf16 into f32`."""
    words = row.words
    if words.shape is None or words.types is None:
        return words.engine
    m, n, k = words.shape
    a, b, d = words.types
    types = a if a == b else f"{a} x {b}"
    return f"{'sparse ' if words.sparse else ''}{words.engine} m{m}n{n}k{k}, {types} into {d}"


def product_rows(row: ProductRow) -> Iterator[tuple[str, ...]]:
    """Yield each operand of a product: its letter, how it lies, its starts, and two commands.

    The commands show the first descriptor, and its layout. A product without operands yields its reason.
    """
    if not row.operands:
        yield "", row.reason, "", "", ""
    for one in row.operands:
        if one.engine is None or one.reads is None or one.word is None:
            yield one.letter, one.reason or f"in {one.source}", "", "", ""
            continue
        first, major = one.descriptors[0][0], one.reads.major
        ignored = one.engine.ignored(first, major, one.reads)
        read = [f"{name.upper()} {getattr(first, name):,}" for name in ("lbo", "sbo") if name not in ignored]
        starts = spans_words(one.starts, " B")
        lies = ", ".join([f"{major.upper()}-major {first.mode}", *read])
        yield one.letter, lies, starts, one.command(one.word), one.explore or ""


def transfer_words(row: TransferRow) -> tuple[str, str, str, str]:
    """Return a bulk copy: which it is, its bytes, its places in shared memory, its coordinates."""
    words, bytes = row.words, "unknown bytes"
    if row.bytes is not None:
        bytes = f"{row.bytes:,} B each"
    elif row.expected:
        bytes = f"{row.expected['bytes']:,} B in {row.expected['copies']} copies to a barrier"
    kind = "bytes" if words.dimensions is None else f"box of {words.dimensions}D tensor"
    coordinates = ", ".join(f"({spans_words(one)})" for one in row.coordinates)
    shared = spans_words(row.shared, " B") if "shared" in (words.source, words.target) else ""
    return f"{kind}, {words.source} to {words.target}", bytes, shared, coordinates


# -- what is left out ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Missing:
    """Accesses that the sums leave out, for one reason."""

    reason: str
    what: tuple[str, ...]
    """Instructions with the times that each was left out and its line."""


def missing_of(kernel: ReadKernel) -> list[Missing]:
    """Return what is left out, by its reason."""
    found: dict[str, dict[str, int]] = {}
    for one in kernel.left_out:
        line = one["line"]
        name = one["instruction"].partition(" ")[0]
        where = f" at {place_of(line)}" if line else ""
        of_reason = found.setdefault(one["reason"], {})
        of_reason[f"{name}{where}"] = of_reason.get(f"{name}{where}", 0) + one["times"]
    return [
        Missing(reason, tuple(f"{count:,} {what}" for what, count in of_reason.items()))
        for reason, of_reason in found.items()
    ]


def place_of(line: Mapping[str, object]) -> str:
    """Return a line of plain data as `file:number`."""
    return f"{bare(str(line['file']))}:{line['number']}"


def place(line: Line | None) -> str:
    """Return a line of the source with the bare name of its file.

    >>> place(Line("/home/me/kernels/a.cu", 7)), place(None)
    ('a.cu:7', '')
    """
    return "" if line is None else f"{bare(line.file)}:{line.number}"


def bare(file: str) -> str:
    """Return the name of a file without its folders, those of Windows among them."""
    return file.replace("\\", "/").rsplit("/", 1)[-1]
