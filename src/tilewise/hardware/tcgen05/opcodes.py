"""tcgen05's instructions by their words in PTX: the values of the entries that they lead to.

Words without a value, such as .sync.aligned or .collector::a::fill, are accepted and ignored. Any other word
is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import Value, did_you_mean
from tilewise.hardware.instructions import sort_words, values
from tilewise.hardware.tcgen05.copies import COPIES, SOURCES
from tilewise.hardware.tcgen05.loads import FORMS


@dataclass(frozen=True, slots=True)
class Opcode:
    """An instruction: the words that may stand behind its opcode, and one that is right.

    >>> LOAD.said("tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32")
    {'form': '16x64b', 'repeat': 'x8', 'pack': True}
    >>> COPY.said("tcgen05.cp.cta_group::1.32x128b.warpx4")
    {'cta_group': '1', 'form': '32x128b', 'multicast': 'warpx4'}
    >>> PRODUCT.said("tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale.scale_vec::2X")
    {'sparse': True, 'cta_group': '2', 'kind': 'mxf4'}
    """

    name: str
    patterns: Mapping[str, str]
    """{a value of the entry: the words for it}; words under no name have no value."""
    such: str
    flags: tuple[str, ...] = ()
    """Values that stand as words themselves."""
    but: str = ""
    """The word behind the opcode that makes it another instruction."""

    @property
    def looks(self) -> str:
        """Return a pattern for the beginning of its words."""
        return self.name.replace(".", r"\.") + r"\." + rf"(?!{self.but}\b)" * bool(self.but)

    def said(self, words: str) -> dict[str, Value]:
        """Return the values that words give, each by the pattern that it fits."""
        found, odd = sort_words(words.lower().rstrip(";").removeprefix(f"{self.name}."), self.patterns)
        if odd:
            twice = next((name for name, one in self.patterns.items() if re.fullmatch(one, odd[0])), "")
            wrong = f"says its {twice} twice" if twice else f"has no word {odd[0]!r}"
            raise LayoutError("TW601", f"{self.name} {wrong}", hint=f"such as {self.name}.{self.such}")
        return {name: True if name in self.flags else word for name, word in found.items()}

    def form(self, given: str) -> str:
        """Return the one spelling of a form; refuse words after it, with the options for them.

        >>> COPY.form(".32x128b")
        '32x128b'
        """
        forms = self.patterns["form"].split("|")
        form, _, more = given.lower().removeprefix(".").partition(".")
        if form not in forms:
            hint = f"{did_you_mean(form, forms)}known: {' '.join(forms)}"
            raise LayoutError("TW601", f"{given!r} is no form", hint=hint)
        if not more:
            return form
        whole = f"{self.name}.{form}.{more}"
        values = self.said(whole).items()
        options = [f"--{word}" if value is True else f"--{word} {value}" for word, value in values]
        raise LayoutError(
            "TW601",
            f"{more} stands beside the form, not in {given!r}",
            hint=f"{' '.join(options)}; or the whole instruction: {whole}",
        )


_GROUP = r"cta_group::(\w+)"
_WORD = {"form": "|".join(FORMS), "repeat": r"x\d+"}
_AROUND = {"": "sync|aligned|b32"}
_SCALES = "block_scale|scale_vec::[124]x|block(?:16|32)"

LOAD = Opcode(
    "tcgen05.ld",
    _WORD | {"pack": "pack::16b"} | _AROUND,
    "sync.aligned.32x32b.x8.pack::16b.b32",
    ("pack",),
    but="red",
)
STORE = Opcode(
    "tcgen05.st",
    _WORD | {"unpack": "unpack::16b"} | _AROUND,
    "sync.aligned.32x32b.x8.unpack::16b.b32",
    ("unpack",),
    but="red",
)
COPY = Opcode(
    "tcgen05.cp",
    {
        "cta_group": _GROUP,
        "form": "|".join(values(COPIES, "form")),
        "multicast": "|".join(filter(None, values(COPIES, "multicast"))),
        "source": "|".join(SOURCES),
        "": "b8x16",
    },
    "cta_group::1.32x128b.warpx4.b8x16.b4x16_p64",
)
PRODUCT = Opcode(
    "tcgen05.mma",
    {
        "ws": "ws",
        "sparse": "sp",
        "cta_group": _GROUP,
        "kind": r"kind::(\w+)",
        "": rf"{_SCALES}|ashift|collector::(?:a|b[0-3])(?:::\w+)?",
    },
    "cta_group::1.kind::f16",
    ("ws", "sparse"),
)
