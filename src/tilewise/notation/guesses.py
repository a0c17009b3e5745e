"""What was probably meant by a word that the notation does not know: other systems' words, near misses."""

from __future__ import annotations

from tilewise.core.errors import LayoutError
from tilewise.core.swizzles import NAMED_BITS
from tilewise.notation.calls import dotted
from tilewise.notation.tokens import END, NAME, Cursor, shortened

_LETTERS = ("S", "R", "O")
_ELSEWHERE = {
    "TileLayout": "drop the wrapper: S[...] + R[...], with 4@laneid for an axis",
    "ComposeLayout": "write Swizzle<B,M,S> o S[...]; TIRx's own order is (M, B, S)",
    "SwizzleLayout": "write Swizzle<B,M,S> o S[...]; TIRx's own order is (M, B, S)",
    "Layout": "a layout of CuTe is the whole text: Layout((8,4),(4,1)), or (8,4):(4,1)",
    "make_layout": "a layout of CuTe is the whole text: make_layout((8,4),(4,1)), or (8,4):(4,1)",
}


def unknown_word(cursor: Cursor, calls: bool = False) -> LayoutError | None:
    """Why the next word cannot begin an addend, or None where it may be the name of a number.

    With `calls`, also where it may be an entry of a catalogue.
    """
    words = dotted(cursor)
    first, last, after = words[0], words[-1], cursor.ahead(2 * len(words) - 1)
    span = (first.start, last.end)
    spelled = shortened(cursor.source[slice(*span)])
    if last.text in _ELSEWHERE:
        return cursor.error("TW002", f"'{spelled}' is not known", span, _ELSEWHERE[last.text])
    if len(words) > 1 and last.text in _LETTERS:
        hint = "drop the prefixes: S[...], R[...], 4@laneid"
        return cursor.error("TW002", f"'{spelled}' is not known", span, hint)
    if spelled in _LETTERS:
        return cursor.error("TW004", f"{spelled} takes square brackets", span, f"write {spelled}[...]")
    if spelled.upper().startswith("SWIZ"):
        return _swizzle(cursor, spelled, span)
    if after.text == "[":
        near = spelled.upper() if spelled.upper() in _LETTERS else "S"
        return cursor.error("TW002", f"'{spelled}[' is not known", span, f"did you mean {near}[?")
    if after.text == "<":
        return cursor.error("TW002", f"'{spelled}<' is not known", span, "did you mean Swizzle<B,M,S>?")
    if len(words) > 1 or after.text == "(":
        hint = "tilewise.parse knows the catalogue; or write the layout out: S[...]"
        return None if calls else cursor.error("TW001", f"'{spelled}' is no layout here", span, hint)
    if after.text == "=":
        return cursor.error("TW004", "a layout is given no name here", span, "write what follows the '='")
    if cursor.at == 0 and after.kind in (END, NAME):
        hint = "a layout looks like S[(8, 4) : (4, 1)]"
        return cursor.error("TW001", f"'{spelled}' is no layout", span, hint)
    return None


def _swizzle(cursor: Cursor, spelled: str, span: tuple[int, int]) -> LayoutError:
    if spelled == "Swizzle":
        hint = "write Swizzle<B,M,S> o S[...]"
        return cursor.error("TW002", "Swizzle has three numbers", span, hint)
    from difflib import get_close_matches

    known = {"SWIZZLE": "Swizzle<B,M,S>", **{mode: mode for mode in NAMED_BITS}}
    near = get_close_matches(spelled.upper(), known, n=1, cutoff=0.75)
    hint = f"did you mean {known[near[0]]}?" if near else f"swizzles are {', '.join(known.values())}"
    return cursor.error("TW002", f"'{spelled}' is not known", span, hint)
