"""The explorer's panels in a notebook: Jupyter, marimo, VS Code. They need the extra `tilewise[notebook]`.

The widget draws the scene of `tilewise.pictures.scene`, by the component of the explorer's page. A click
comes back to Python as flat indices; `selected` has their elements and places.
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
    """Return a widget that shows the place of every element of a layout, or of two, side by side.

    `shape` is the shape of the grid; with `dtype` there are bytes and banks; with `access` the steps are its
    wavefronts. `selection`, `step` and `theme` go both ways: clicks in the page arrive in Python.

        refused  layouts that `Layout` refuses, and TW301 layouts too large to draw

    >>> from tilewise import S, laneid, reg
    >>> widget = explore(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], shape=(8, 8))
    >>> widget.select((5, 7))
    >>> widget.selection, widget.selected
    ([47], (Selected(flat=47, index=(5, 7), places=(23@laneid + 1@reg,), beside=()),))
    """
    return Explorer(layout, dtype=dtype, shape=shape, access=access, beside=beside)


@dataclass(frozen=True, slots=True)
class Selected:
    """A selected element: its index, and its places."""

    flat: int
    index: tuple[int, ...]
    """The index in the shown shape."""
    places: tuple[Vector, ...]
    """The places of all its copies."""
    beside: tuple[Vector, ...] = ()
    """Its places in the layout beside; empty without one."""


class NotTaken(LayoutError, traitlets.TraitError):
    """A value that the widget refuses, from Python or from the page; the value before stays.

    traitlets restores a value only for its own errors, so this class is one of them.
    """


class Explorer(anywidget.AnyWidget):
    """The widget that `explore` makes.

    invariant  `selection` has elements that are shown, each once
    refused    TW101, TW201 a selection or a step that does not exist, TW401 a theme, another document
    """

    _esm = ending("render", "export default{render:{}};\n")

    document = traitlets.Dict().tag(sync=True)
    """The drawing as JSON; `look` replaces it."""
    selection: traitlets.List[int] = traitlets.List().tag(sync=True)
    """The flat indices of the selected elements."""
    step = traitlets.Any(NO_STEP).tag(sync=True)
    """The step that is shown; -1 for none."""
    theme = traitlets.Any("auto").tag(sync=True)
    """auto, light or dark."""
    options = traitlets.Dict().tag(sync=True)
    """Further options of the component, such as {"table": True}."""

    _layouts: tuple[Layout, Layout | None]
    _shape: Any
    _shown: dict[str, Any]

    def __init__(self, layout: Layout, **options: Any) -> None:
        self._take(layout, **options)
        super().__init__(document=self._shown)

    def look(self, layout: Layout, **options: Any) -> None:
        """Show a layout, or two, in place of the old one; the options are those of `explore`.

        Selected elements stay selected if they still exist; steps begin anew.

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
        """Select elements by their indices: flat, or one number a mode of the shown shape.

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
        """Return the selected elements in the order of selection: indices and places.

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
        """Return the flat indices, each once: hosts send copies, and pages may send anything."""
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
                "TW201", f"step {step}, and there are {steps}", hint="they count from 0; -1 is no step"
            )
        return step

    @traitlets.validate("theme")
    def _a_theme(self, proposal: Any) -> str:
        if proposal.value not in THEMES:
            raise NotTaken("TW401", f"no theme {proposal.value!r:.40}", hint=f"one of {', '.join(THEMES)}")
        return str(proposal.value)


def _pair(first: Layout, second: Layout, **options: Any) -> Document:
    """Return two layouts side by side, of as many elements: a selection covers both; each has a name."""
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
