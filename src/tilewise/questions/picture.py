"""Scenes as pictures: the panels of `tilewise show`, in a terminal and in files."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.questions.accesses import listed
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts, misused, refuse_given, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.pictures.scene.model import Document
    from tilewise.questions.asking import LayoutText, Many, Ranges

ALL = "all"


@dataclass(frozen=True)
class Picture:
    """The scenes of one layout or of several, with the panels and the step that are wanted."""

    texts: Texts
    layout: LayoutText
    beside: Many
    window: Ranges | None
    colour: str | None
    panel: Sequence[str]
    access: Layout | str | None
    step: int | None
    theme: str | None

    def are_files(self, files: Mapping[str, str], *, ascii: bool, json: bool) -> bool:
        """Return True if pictures go to files; refuse options that do not fit."""
        if not files:
            if self.theme is not None:
                raise misused("--theme is of a picture in a file", "add --svg FILE, --png or --html")
            return False
        refuse_given({"colour": self.colour, "ascii": ascii}, "is of the picture in a terminal")
        if self.panel and "html" in files:
            raise misused("--panel is of a picture, and the page has all panels")
        if list(files.values()).count("-") > (0 if json else 1):
            said = "--json writes to standard output" if json else "one picture goes to standard output"
            raise misused(said, "name a file for the others")
        return True

    def in_terminal(self, room: tuple[int, int], *, ascii: bool, json: bool) -> Report:
        """Return the panels in so many columns, and so many rows each; the fields are the document."""
        from tilewise.pictures.leaf import lines_of
        from tilewise.pictures.scene.words import refuse_step
        from tilewise.pictures.sheet import Room

        document = self._document(self._layouts(self._given()))
        refuse_step(document, self.step)
        if json:
            return Report(document.as_dict(), "")
        lines = [*lines_of(document, Room(*room), step=self.step, ruled=ascii)]

        def draw() -> None:
            from tilewise.pictures.terminal import print_out

            print_out(lines, plain=ascii)

        return Report(document.as_dict(), draw)

    def files(self, files: Mapping[str, str]) -> Report:
        """Write the files; one that was there before is replaced, as by any compiler."""
        contents = self._contents(files)
        written = {form: content for form, content in contents.items() if files[form] != "-"}
        for form, content in written.items():
            _write(files[form], content)
        told = [
            {"form": form, "file": files[form], "bytes": len(content)} for form, content in written.items()
        ]
        lines = "\n".join(f"{files[form]}: {len(content)} bytes" for form, content in written.items())
        piped = [content for form, content in contents.items() if files[form] == "-"]
        if not piped:
            return Report({"files": told}, lines)
        return Report({"files": told}, lambda: _print(piped[0]), asides=(lines,) if lines else ())

    # -- scenes ---------------------------------------------------------------------------------------

    def _given(self) -> list[LayoutText]:
        """Return the layout and those beside it, where they are texts as texts."""
        given = [self.layout, *listed(self.beside)]
        if given.count("-") > 1:
            raise misused("only one layout can come from standard input")
        return [text_from(each, self.texts.let) if isinstance(each, str) else each for each in given]

    def _layouts(self, given: Sequence[LayoutText]) -> list[Layout]:
        return [self.texts.layout(each) for each in given]

    def _document(self, layouts: Sequence[Layout]) -> Document:
        """Return the scenes of layouts, with the panels that are wanted."""
        from tilewise.pictures.scene.build import document_of
        from tilewise.pictures.scene.compare import compared
        from tilewise.pictures.scene.lines import BY_HEADS, cut
        from tilewise.pictures.scene.panels import colour_of

        window = self.texts.window(self.window)
        names = _panels(self.panel or [ALL])
        of_panel = window is not None and {*names} <= {*BY_HEADS}
        options: dict[str, Any] = {
            "dtype": self.texts.dtype,
            "shape": self.texts.asked_shape,
            "window": None if of_panel else window,
            "access": self.access,
        }
        made = compared(*layouts, **options) if len(layouts) > 1 else document_of(layouts[0], **options)
        _refuse_absent(names, made)
        scenes = []
        for scene, layout in zip(made.scenes, layouts, strict=True):
            colour = scene.colour if self.colour is None else colour_of(layout, scene.axes, self.colour)
            panels = [panel for panel in scene.panels if ALL in names or panel.kind in names]
            if window is not None and of_panel:
                panels = [cut(panel, window) for panel in panels]
            scenes.append(replace(scene, colour=colour, panels=tuple(panels)))
        return replace(made, scenes=tuple(scenes))

    # -- files ----------------------------------------------------------------------------------------

    def _contents(self, files: Mapping[str, str]) -> dict[str, bytes]:
        """Return {form: bytes} of each picture; all of them are there before one is written."""
        from tilewise.pictures.paper.compose import drawing_of

        given = self._given()
        layouts = self._layouts(given)
        # The explorer draws more than fits on paper: its page then has the head alone where scripts are off.
        drawing = drawing_of(self._document(layouts), step=self.step, or_head=files.keys() == {"html"})
        theme = self.theme or "auto"
        contents: dict[str, bytes] = {}
        for form in files:
            if form == "svg":
                from tilewise.pictures.paper.svg import svg_of

                contents[form] = svg_of(drawing, theme).encode()
            elif form == "png":
                from tilewise.pictures.paper.png import png_of

                contents[form] = png_of(drawing, theme)
            else:
                from tilewise.pictures.paper.html import html_of

                shown = self._on_the_page(given, layouts)
                title = drawing.title  # with layouts as the page says them
                for layout, text in zip(layouts, shown, strict=True):
                    title = title.replace(str(layout), text)
                page = html_of(self._address(given, shown), replace(drawing, title=title))
                contents[form] = page.encode()
        return contents

    def _on_the_page(self, given: Sequence[LayoutText], layouts: Sequence[Layout]) -> list[str]:
        """Return the text of each layout for the page: a call that it knows as such."""
        from tilewise.pictures.address import call_in, page_knows_call

        plain = not self.texts.let and self.texts.unit == "element"
        return [
            text if isinstance(text, str) and plain and page_knows_call(call_in(text)) else str(layout)
            for text, layout in zip(given, layouts, strict=True)
        ]

    def _address(self, given: Sequence[LayoutText], shown: Sequence[str]) -> str:
        """Return what the page shows first, as its addresses say it."""
        from tilewise.pictures.address import dtype_of_call, fragment, page_knows

        dtype = self.texts.dtype
        access = None if self.access is None else str(self.access)
        if access is not None and not page_knows(access, dtype):
            raise misused(f"the page does not know the access {access}", "--svg and --png draw it")
        if len(given) > 2:
            raise misused(f"the page shows two layouts, not {len(given)}", "--svg and --png draw them")
        if dtype is None and shown[0] != given[0]:  # the page is given a layout, which does not say it
            dtype = dtype_of_call(str(given[0]), self.texts.let)
        steps = {} if self.step is None else {"c": str(self.step)}
        themes = {"t": self.theme} if self.theme in ("light", "dark") else {}
        return fragment(
            shown[0],
            dtype,
            e2=shown[1] if len(shown) > 1 else None,
            a=access,
            s=self._in_numbers(self.texts.spelled_shape),
            w=self._in_numbers(self.window),
            **steps,
            **themes,
        )

    def _in_numbers(self, given: object) -> str | None:
        """Return the text of a shape or a window with numbers for its names, which the page does not know."""
        if given is None:
            return None
        if not isinstance(given, str):
            return ",".join(
                str(part)
                if isinstance(part, int)
                else ":".join("" if end is None else str(end) for end in part)
                for part in _tuple(given)
            )
        return re.sub(r"\b[^\W\d]\w*", lambda name: str(self.texts.let[name[0]]), given)


def _tuple(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _panels(asked: Sequence[str]) -> list[str]:
    """Return the panels that words name."""
    from tilewise.pictures.scene.model import SHORT

    words = (" ".join(name.lower().replace("-", " ").split()) for names in asked for name in names.split(","))
    return [SHORT.get(word, word) for word in words]


def _refuse_absent(names: Sequence[str], document: Document) -> None:
    """Refuse a panel that no scene has, or that is too large to be drawn."""
    from tilewise.pictures.scene.model import KINDS, SHORT
    from tilewise.pictures.scene.panels import undrawn

    short = {meant: f"{meant} ({word})" for word, meant in SHORT.items()}
    there = dict.fromkeys(panel.kind for scene in document.scenes for panel in scene.panels)
    for name in names:
        if name in there or ALL in names:
            continue
        for scene in document.scenes:
            for note in scene.notes:
                if note.text.startswith(undrawn(name)):
                    ends = ", ".join(f"{axis.name} = {axis.low}..{axis.high}" for axis in scene.axes)
                    raise LayoutError(
                        "TW301",
                        f"{note.text}: the elements are too far apart, at {ends}",
                        hint="a --window of elements that are nearer has fewer; --panel index draws all",
                    )
        known = "this layout has no such panel" if name in KINDS else "there is no such panel"
        having = ", ".join(short.get(kind, kind) for kind in there)
        raise misused(f"--panel {name}: {known}", f"it has {having}; or {ALL}")


def _write(file: str, content: bytes) -> None:
    from pathlib import Path

    try:
        Path(file).write_bytes(content)
    except OSError as error:
        raise LayoutError("TW402", f"{file} cannot be written: {error.strerror}") from None


def _print(content: bytes) -> None:
    """Print bytes as they are, where standard output takes them."""
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(content.decode())
    else:
        binary.write(content)
        binary.flush()
