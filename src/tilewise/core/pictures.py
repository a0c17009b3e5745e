"""Who draws a layout that shows itself in a notebook. The core does not draw: `tilewise` says who does."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewise.core.layout import Layout

drawer: Callable[[Layout, str], str | None] | None = None
"""From a layout and a form, svg or html, to its picture; None where it has none."""


def picture(layout: Layout, form: str) -> str | None:
    """The picture of a layout, if there is one."""
    return None if drawer is None else drawer(layout, form)
