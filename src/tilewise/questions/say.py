"""The layout in another notation.

  tilewise say '((8,2),(4,4)):((8,64),(1,4))'
  tilewise say 'S[(8, 64) : (64, 1)]' --as cute
  tilewise say 'S[(8, 4) : (4@laneid, 1@laneid)]' --as json | tilewise at - 3,2

Without --as, in all that can say it. `--as DIALECT` writes what Triton, JAX, XLA and others print, or says
why the dialect has no word for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import indent

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.polynomials import LeftOpen, Stuck
from tilewise.questions.asking import LAYOUT, asks
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts, misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from tilewise.questions.asking import LayoutText, TensorOptions, Type

_OWN = ("tilewise", "python", "cute", "latex", "markdown", "json")


@asks(layout=LAYOUT, as_="NOTATION: one notation alone, such as cute or triton")
def say(
    layout: LayoutText, dtype: Type | None = None, *, as_: str | None = None, **reading: Unpack[TensorOptions]
) -> Report:
    """Return the texts of a layout in all notations that can say it, or in one.

    >>> say("S[(8, 64) : (64, 1)]", as_="cute").data()["text"]
    '(8,64):(64,1)'
    """
    texts = Texts(dtype, **reading)
    notations = _notations()
    if as_ is not None and as_ not in notations:
        raise misused(f"there is no notation {as_!r} to write", f"known: {' '.join(notations)}")
    spelled = texts.layout(layout)
    said: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    for name in [as_] if as_ else notations:
        is_wanted = as_ is not None or name in _OWN
        try:
            said[name] = _writer(name, texts)(spelled)
        except LayoutError as error:
            if is_wanted:
                said[name], reasons[name] = None, error.message
        except (LeftOpen, Stuck):  # no one text for all values of names
            if is_wanted:
                raise
    if as_:
        fields = {"as": as_, "text": said[as_], "layout": spelled}
        if said[as_] is None:
            return texts.report(fields | {"reason": reasons[as_]}, reasons[as_], False)
        return texts.report(fields, said[as_])
    lines = [
        f"{name}\n{indent(text or 'cannot say this: ' + reasons[name], '    ')}"
        for name, text in said.items()
    ]
    return texts.report({"text": said, "reasons": reasons}, "\n".join(lines))


def _notations() -> list[str]:
    from tilewise.notation.dialects import DIALECTS

    return [*dict.fromkeys((*_OWN, *(name for name, dialect in DIALECTS.items() if dialect.writes)))]


def _writer(notation: str, texts: Texts) -> Callable[[Layout], str]:
    """Return the function that writes a layout in a notation."""
    from tilewise.core.dtypes import DType
    from tilewise.notation import to_cute, to_json, to_latex, to_markdown
    from tilewise.notation.dialects import DIALECTS, Given, write

    own: dict[str, Callable[[Layout], str]] = {
        "tilewise": lambda layout: str(layout.in_order("row")),
        "python": repr,
        "cute": to_cute,
        "latex": to_latex,
        "markdown": to_markdown,
        "json": lambda layout: json.dumps(to_json(layout)),
    }
    if notation in own:
        return own[notation]
    given = Given(dtype=None if texts.dtype is None else DType.of(texts.dtype), triton=texts.triton)
    return lambda layout: write(DIALECTS[notation], layout, given)
