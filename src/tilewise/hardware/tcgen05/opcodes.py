"""tcgen05's instructions by their words in PTX: the values of the entries that they lead to.

What names no value, such as .sync.aligned or .collector::a::fill, is read and passed over; any other word is
an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import Value, did_you_mean
from tilewise.hardware.instructions import sort_words
from tilewise.hardware.tcgen05.copies import COPIES, SOURCES
from tilewise.hardware.tcgen05.loads import FORMS

Said = Callable[[str], Mapping[str, Value]]


def loads_said(store: bool) -> Said:
    """What reads the words of a load or of a store.

    >>> loads_said(store=False)("tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32")
    {'form': '16x64b', 'repeat': 'x8', 'pack': True}
    """
    name, half = ("st", "unpack") if store else ("ld", "pack")
    words = {
        "form": _any_of(FORMS),
        "repeat": r"x\d+",
        half: f"{half}::16b",
        "": "sync|aligned|b32",
    }
    return _reader(f"tcgen05.{name}", words, f"tcgen05.{name}.sync.aligned.32x32b.x8.{half}::16b.b32")


def copies_said() -> Said:
    """What reads the words of a copy.

    >>> copies_said()("tcgen05.cp.cta_group::1.32x128b.warpx4")
    {'cta_group': '1', 'form': '32x128b', 'multicast': 'warpx4'}
    """
    words = {
        "cta_group": _GROUP,
        "form": _any_of(copy.form for copy in COPIES),
        "multicast": _any_of(copy.multicast for copy in COPIES if copy.multicast),
        "source": _any_of(SOURCES),
        "": "b8x16",
    }
    return _reader("tcgen05.cp", words, "tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b4x16_p64")


def products_said() -> Said:
    """What reads the words of a product: those that say which shapes there are.

    >>> products_said()("tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale.scale_vec::2X")
    {'sparse': True, 'cta_group': '2', 'kind': 'mxf4'}
    """
    scales = "block_scale|scale_vec::[124]x|block(?:16|32)"
    words = {
        "ws": "ws",
        "sparse": "sp",
        "cta_group": _GROUP,
        "kind": r"kind::(\w+)",
        "": rf"{scales}|ashift|collector::(?:a|b[0-3])(?:::\w+)?",
    }
    return _reader("tcgen05.mma", words, "tcgen05.mma.cta_group::1.kind::f16")


def looks(name: str, but: str = "") -> str:
    """How the words of an instruction begin; tcgen05.ld.red is another one than tcgen05.ld."""
    return rf"tcgen05\.{name}\." + rf"(?!{but}\b)" * bool(but)


def beside(name: str, said: Said, known: Iterable[str]) -> Callable[[str], str]:
    """The one spelling of a form; of what stands behind a form in an instruction, where else it is said.

    >>> beside("cp", copies_said(), ["32x128b"])(".32x128b")
    '32x128b'
    """
    forms = tuple(dict.fromkeys(known))

    def normal(given: str) -> str:
        form, _, more = given.lower().removeprefix(".").partition(".")
        if form not in forms:
            hint = f"{did_you_mean(form, forms)}known: {' '.join(forms)}"
            raise LayoutError("TW601", f"{given!r} is no form", hint=hint)
        if not more:
            return form
        values = said(f"tcgen05.{name}.{form}.{more}")
        options = [f"--{word}" if value is True else f"--{word} {value}" for word, value in values.items()]
        raise LayoutError(
            "TW601",
            f"{more} is said beside the form, not in {given!r}",
            hint=f"{' '.join(options)}; or the whole instruction: tcgen05.{name}.{form}.{more}",
        )

    return normal


def _any_of(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, words))


def _reader(opcode: str, patterns: Mapping[str, str], such: str) -> Said:
    """Return what reads the words behind an opcode, each by the pattern that it fits."""

    def said(words: str) -> dict[str, Value]:
        found, odd = sort_words(words.lower().rstrip(";").removeprefix(f"{opcode}."), patterns)
        if odd:
            twice = next((name for name, one in patterns.items() if re.fullmatch(one, odd[0])), "")
            wrong = f"says its {twice} twice" if twice else f"has no word {odd[0]!r}"
            raise LayoutError("TW601", f"{opcode} {wrong}", hint=f"such as {such}")
        return {name: True if name in _FLAGS else word for name, word in found.items()}

    return said


_GROUP = r"cta_group::(\w+)"
_FLAGS = ("pack", "unpack", "ws", "sparse")
"""Values that are words of their own."""
