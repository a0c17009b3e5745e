"""The catalogue: every layout of the hardware by name, with its parameters, its source, its confirmations.

find("wgmma.D")("f32", n=64)     the layout, and what follows from the values
knowing("wgmma.D")               the entries of its engine, or all where no engine has the word
search("fragment")               the entries that speak of that
parse("wgmma.D(f32, n=64)")      a call, wherever a layout is read
"""

from __future__ import annotations

from tilewise.hardware.catalog.entry import Built, Entry, Parameter
from tilewise.hardware.catalog.registry import Registry, entries, find, knowing, search

__all__ = ["Built", "Entry", "Parameter", "Registry", "entries", "find", "knowing", "search"]
