"""Layouts as source text: the function from an index to its place, and the inverse.

from tilewise.codegen import source_of

source              the way in: a layout, a language, and a direction
functions           a function before its text: arguments, results, an expression for each result, a comment
forward, backward   the function of a layout, to its places and back
readings            from digits to the cheapest expression: shifts and masks, or runs without masks
bits                the GF(2) view: bits that move together, and swizzles folded into them
expressions         sums, shifts, masks and quotients with what is known of their values
names               identifiers
text, c, cute       a function in a language: Python and Triton, C and CUDA, CuTe
parts               the plan and the text of a kernel; an engine fills its part
wgmma, mma          the part of an engine
feeding, shuffle    the address and the loads of a lane; moves inside a warp
tma, suggested      calls of the driver; the suggested tile as code
"""

from __future__ import annotations

from tilewise.codegen.functions import Range
from tilewise.codegen.source import LANGUAGES, Source, source_of

__all__ = ["LANGUAGES", "Range", "Source", "source_of"]
