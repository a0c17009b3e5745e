"""The explorer's panels in a notebook: Jupyter, marimo, VS Code. They need the extra `tilewise[notebook]`.

The widget draws what `tilewise.pictures.scene` builds, by the component that the explorer's page has. What is
clicked comes back to Python as flat indices, and `selected` says what they are and where they live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout, as_layout
from tilewise.core.vectors import Vector
from tilewise.pictures.paper.html import ending
from tilewise.pictures.scene.build import document_of
from tilewise.pictures.scene.compare import compared
from tilewise.pictures.scene.model import Document

try:
    import anywidget
    import traitlets
except ImportError:
    raise LayoutError(
        "TW403",
        "the widget needs anywidget, which is not installed",
        hint="pip install 'tilewise[notebook]'; `tilewise explore` needs nothing but a browser",
    ) from None

NO_STEP = -1
THEMES = ("auto", "light", "dark")


def explore(
    layout: Layout,
    *,
    dtype: DType | str | None = None,
    shape: Any = None,
    access: Layout | str | None = None,
    beside: Layout | None = None,
) -> Explorer:
    """A widget that shows where every element of a layout lives, or of two, side by side.

    With `shape` the grid has that one; with `dtype` there are bytes and banks, with `access` its wavefronts
    are the steps. `selection`, `step` and `theme` go both ways: what is clicked in the page is in Python.

        refused  what `Layout` refuses, and TW301 what is too large to be drawn

    >>> from tilewise import S, laneid, reg
    >>> widget = explore(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], shape=(8, 8))
    >>> widget.select((5, 7))
    >>> widget.selection, widget.selected
    ([47], (Selected(flat=47, index=(5, 7), places=(23@laneid + 1@reg,), beside=()),))
    """
    return Explorer(layout, dtype=dtype, shape=shape, access=access, beside=beside)


@dataclass(frozen=True, slots=True)
class Selected:
    """An element that is selected: its index, and where it lives."""

    flat: int
    index: tuple[int, ...]
    """In the shape that is shown."""
    places: tuple[Vector, ...]
    """All its copies."""
    beside: tuple[Vector, ...] = ()
    """Its places in the layout beside; none where there is one layout."""


class NotTaken(LayoutError, traitlets.TraitError):
    """A value that the widget refuses, from Python or from the page; what was there before stays.

    traitlets takes a value back for its own errors alone, so this is one of them.
    """


class Explorer(anywidget.AnyWidget):
    """The widget that `explore` makes.

    invariant  `selection` has elements that are shown, each once
    refused    TW101, TW201 a selection or a step that there is not, TW401 a theme, another document
    """

    _esm = ending("render", "export default{render:{}};\n")

    document = traitlets.Dict().tag(sync=True)
    """What is drawn, as JSON has it; `look` replaces it."""
    selection: traitlets.List[int] = traitlets.List().tag(sync=True)
    """The flat indices of the elements that are selected."""
    step = traitlets.Any(NO_STEP).tag(sync=True)
    """Which step is shown; -1 for none."""
    theme = traitlets.Any("auto").tag(sync=True)
    """auto, light or dark."""
    options = traitlets.Dict().tag(sync=True)
    """What else is asked of the component, such as {"table": True}."""

    _layouts: tuple[Layout, Layout | None]
    _shape: Any
    _shown: dict[str, Any]

    def __init__(self, layout: Layout, **options: Any) -> None:
        self._take(layout, **options)
        super().__init__(document=self._shown)

    def look(self, layout: Layout, **options: Any) -> None:
        """Show a layout, or two, in place of what is shown; the options are those of `explore`.

        Elements that were selected stay so where there are such; steps begin anew.

        >>> from tilewise import S
        >>> widget = explore(S[(8, 8)])
        >>> widget.selection = [3, 40]
        >>> widget.look(S[(4, 4) : (1, 4)])
        >>> widget.selected
        (Selected(flat=3, index=(0, 3), places=(12@m,), beside=()),)
        """
        self._take(layout, **options)
        with self.hold_sync():
            self.selection = [flat for flat in self.selection if flat < layout.size]
            self.document, self.step = self._shown, NO_STEP

    def select(self, *indices: int | Sequence[Any]) -> None:
        """Select elements by their indices: flat, or one number a mode of the shape that is shown.

        >>> from tilewise import S
        >>> widget = explore(S[(8, 8) : (1, 8)])
        >>> widget.select(3, (2, 1))
        >>> widget.selection
        [3, 17]
        """
        layout, _ = self._layouts
        given = (tuple(index) if isinstance(index, Sequence) else (index,) for index in indices)
        self.selection = [layout.flat_index(*index, shape=self._shape) for index in given]

    @property
    def selected(self) -> tuple[Selected, ...]:
        """What is selected, one after the other as it was: indices and places.

        >>> from tilewise import S, R, gpuid_x, laneid, m
        >>> mesh = S[(2, 4) : (4@m, 1@m)] + R[2 : 1@gpuid_x]
        >>> widget = explore(mesh, beside=S[(2, 4) : (1@laneid, 2@laneid)])
        >>> widget.selection = [5]
        >>> widget.selected[0].places, widget.selected[0].beside
        ((5@m + 0@gpuid_x, 5@m + 1@gpuid_x), (3@laneid,))
        """
        return tuple(map(self._selected, self.selection))

    def _take(
        self, layout: Layout, *, beside: Layout | None = None, shape: Any = None, **options: Any
    ) -> None:
        shown = (
            document_of(layout, shape=shape, **options)
            if beside is None
            else _pair(layout, beside, shape=shape, **options)
        )
        self._layouts, self._shape, self._shown = (layout, beside), shape, shown.as_dict()

    def _selected(self, flat: int) -> Selected:
        layout, beside = self._layouts
        return Selected(
            flat,
            layout.coordinates(flat, self._shape),
            layout.places(flat),
            () if beside is None else beside.places(flat),
        )

    @traitlets.validate("document")
    def _a_document(self, proposal: Any) -> Any:
        if proposal.value != self._shown:
            raise NotTaken(
                "TW401", "the document is made of a layout", hint="widget.look(layout) shows another"
            )
        return proposal.value

    @traitlets.validate("selection")
    def _a_selection(self, proposal: Any) -> list[int]:
        """The flat indices, each once: hosts send them anew, and pages send what they like."""
        flats = list(dict.fromkeys(_whole(flat, "a selected element") for flat in proposal.value))
        size = self._layouts[0].size
        for flat in flats:
            if not 0 <= flat < size:
                hint = f"the layout has {size}; select(...) takes indices with one number a mode"
                raise NotTaken("TW201", f"there is no element {flat}", hint=hint)
        return flats

    @traitlets.validate("step")
    def _a_step(self, proposal: Any) -> int:
        step = _whole(proposal.value, "a step")
        steps = max(len(scene["steps"]) for scene in self._shown["scenes"])
        if not NO_STEP <= step < steps:
            raise NotTaken(
                "TW201", f"step {step}, and there are {steps}", hint="they count from 0; -1 is none"
            )
        return step

    @traitlets.validate("theme")
    def _a_theme(self, proposal: Any) -> str:
        if proposal.value not in THEMES:
            raise NotTaken("TW401", f"no theme {proposal.value!r:.40}", hint=f"one of {', '.join(THEMES)}")
        return str(proposal.value)


def _pair(first: Layout, second: Layout, **options: Any) -> Document:
    """Two layouts side by side, of as many elements: a selection is of both; each has its own name."""
    if as_layout(first).size != as_layout(second).size:
        raise LayoutError(
            "TW202",
            f"layouts of {first.size} and {second.size} elements are not of one tensor",
            hint="two widgets show two tensors",
        )
    return compared(first, second, title="", **options)


def _whole(value: Any, what: str) -> int:
    try:
        return as_int(value, what)
    except LayoutError as error:
        raise NotTaken(error.code, error.message, hint=error.hint) from None
