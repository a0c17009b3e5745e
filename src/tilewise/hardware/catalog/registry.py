"""All entries by name, and the search through them.

An engine is a line of `ENGINES`: the module whose `ENTRIES` it adds, imported only for an entry of it, or for
all. `entries.json` has the entries' texts. It also has names that the hardware has and the catalogue does
not, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module

from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.hardware.catalog.confirmed import confirmations
from tilewise.hardware.catalog.entry import Entry, did_you_mean, texts

ENGINES = {
    "wgmma": "tilewise.hardware.wgmma.catalog",
    "tcgen05": "tilewise.hardware.tcgen05.catalog",
    "mma": "tilewise.hardware.mma.catalog",
    "mfma": "tilewise.hardware.mfma.catalog",
    **dict.fromkeys(("ldmatrix", "stmatrix", "movmatrix"), "tilewise.hardware.matrices.catalog"),
    **dict.fromkeys(("awq", "gptq", "marlin", "gguf"), "tilewise.hardware.weights.catalog"),
}
"""{first word of the names: the module that holds the entries}."""

LIST = "tilewise catalog lists the entries"
_FIRST = re.compile(r"\s*([\w.:]*)")


class Registry(Mapping[str, Entry]):
    """Entries by name; each name once, each confirmed in some way.

    >>> [*Registry([find("wgmma.D")])]
    ['wgmma.D']
    """

    def __init__(self, entries: Sequence[Entry], absent: Mapping[str, str] | None = None) -> None:
        self._entries: dict[str, Entry] = {}
        self._absent = dict(absent or {})
        for entry in entries:
            if entry.name in self._entries or entry.name in self._absent:
                raise ValueError(f"{entry.name} is in the catalogue twice")
            if not entry.confirmed:
                raise ValueError(f"{entry.name} is confirmed by nothing")
            self._entries[entry.name] = entry

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def absent(self) -> Mapping[str, str]:
        """Return {name that is left out: the reason}."""
        return self._absent

    def find(self, name: str) -> Entry:
        """Return the entry of that name; raise an error with the nearest name, or refuse a name left out."""
        if of_kind(name, str, "the name of an entry", LIST) in self._entries:
            return self._entries[name]
        if reason := self._why_absent(name):
            raise Refused("TW602", reason, witness={"entry": name}, hint=LIST)
        first = name.partition(".")[0]
        near = did_you_mean(name, self._entries) or did_you_mean(first, ENGINES) * (first not in ENGINES)
        hint = near.strip() or LIST
        raise LayoutError("TW601", f"the catalogue has no entry {name}", hint=hint)

    def _why_absent(self, name: str) -> str:
        """Return the reason why a name is left out, or ""; names that continue it after a dot or :: are left
        out too.
        """
        left_out = (
            word for word in self._absent if name == word or name.startswith((f"{word}.", f"{word}::"))
        )
        return self._absent.get(max(left_out, key=len, default=""), "")

    def knows(self, word: str) -> bool:
        """Return True if a word names an entry, present or left out, or an instruction of one."""
        return word in self or bool(self._why_absent(word)) or self.taking(word) is not None

    def taking(self, word: str) -> Entry | None:
        """Return the entry that takes the words of an instruction; None for the name of an entry."""
        if word in self:
            return None
        low = word.lower()
        return next((entry for entry in self.values() if entry.looks and re.match(entry.looks, low)), None)

    def search(self, words: Sequence[str]) -> list[Entry]:
        """Return the entries whose text has every word, in any case; those of a named engine first."""
        wanted = [word.lower() for word in words]
        found = [entry for entry in self.values() if all(word in _text(entry) for word in wanted)]
        return sorted(found, key=lambda entry: entry.engine not in wanted)


@cache
def entries() -> Registry:
    """Return the whole catalogue, checked."""
    modules = [import_module(module) for module in dict.fromkeys(ENGINES.values())]
    whole = Registry([entry for module in modules for entry in module.ENTRIES], texts()["absent"])
    if unknown := (confirmations().keys() | texts()["entries"].keys()) - set(whole):
        raise ValueError(f"{sorted(unknown)[0]} stands in a table, and is no entry")
    return whole


@cache
def _of_module(name: str) -> Registry:
    """Return the entries of one module."""
    return Registry(import_module(name).ENTRIES, texts()["absent"])


def engine_knowing(words: str) -> Registry | None:
    """Return the entries of the engine named first, if it knows the name, call or instruction there."""
    word = _FIRST.findall(words)[0]
    module = ENGINES.get(word.partition(".")[0])
    own = _of_module(module) if module else None
    return own if own is not None and own.knows(word) else None


def engine_entries(words: str) -> Mapping[str, Entry]:
    """Return the entries of the engine named first; if no engine is named, {} without any import.

    >>> "wgmma.D" in engine_entries("wgmma.D(f32, n=64)"), len(engine_entries("S[(8, 8) : (8, 1)]"))
    (True, 0)
    """
    return engine_knowing(words) or {}


def knowing(words: str) -> Registry:
    """Return the entries to look words up in: those of one engine that knows them, to avoid further imports.

    >>> len(knowing("wgmma.D(f32, n=64)")) < len(knowing("wgmma.d"))
    True
    """
    own = engine_knowing(words)
    return entries() if own is None else own


def find(name: str) -> Entry:
    """Return the entry of that name; a known name imports no other engine.

    >>> print(find("wgmma.D")("f32", n=8).layout)
    S[((4, 2, 8), (1, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    """
    return knowing(of_kind(name, str, "the name of an entry", LIST)).find(name)


def search(*words: str) -> list[Entry]:
    """Return the entries whose text has every word.

    >>> [entry.name for entry in search("accumulator D")]
    ['wgmma.D']
    """
    return entries().search(words)


def _text(entry: Entry) -> str:
    parameters = " ".join(
        f"{p.name} {p.meaning} {p.rule} {' '.join(map(str, p.legal))}" for p in entry.parameters
    )
    return f"{entry.name} {entry.summary} {entry.words} {parameters} {entry.source}".lower()
