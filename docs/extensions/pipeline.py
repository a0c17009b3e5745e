"""The directive `pipeline`: the schedule of a product's kernel, over the time of its first tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from tilewise.codegen.gemm import HopperPlan, planned

LATENCY = 2.0
"""The time from a request of TMA to its bytes; a chain of products takes 1."""
BOX = 0.5
"""The time in which a warpgroup fills a box of D."""
WIDTH, HEIGHT, LEFT, GAP = 30, 24, 92, 8
"""Points: the width of a unit of time, the height of a row, room for names, and the gap between rows."""


@dataclass(frozen=True)
class Span:
    """A part of a row: when it begins and ends, its text, the number of its tile."""

    row: str
    begin: float
    end: float
    text: str
    tile: int


class PipelinePicture(Directive):
    """`pipeline` TYPE, with the options tile, steps, tiles and caption."""

    required_arguments = 1
    option_spec: ClassVar = dict.fromkeys(
        ("tile", "steps", "tiles", "caption"), directives.unchanged_required
    )

    def run(self) -> list[nodes.Node]:
        """Return the picture, as HTML."""
        tile = tuple(int(extent) for extent in self.options.get("tile", "128x256").split("x"))
        plan = planned(tile, self.arguments[0], out=self.arguments[0])
        steps, tiles = (int(self.options.get(name, usual)) for name, usual in (("steps", 6), ("tiles", 2)))
        return [nodes.raw("", figure(plan, steps, tiles, self.options.get("caption", "")), format="html")]


def spans(plan: HopperPlan, steps: int, tiles: int) -> Iterator[Span]:
    """Yield what each part of a block does when, where products take longer than loads."""
    free = [0.0] * plan.stages
    loaded = ended = 0.0
    boxes = plan.parts * plan.n // plan.d.k
    for turn in range(steps * tiles):
        tile, step = divmod(turn, steps)
        stage = turn % plan.stages
        asked = max(loaded, free[stage])
        loaded = asked + 1
        begin = max(asked + LATENCY, ended)
        ended = begin + 1
        free[stage] = ended
        yield Span("loader", asked, loaded, f"k{step}", tile)
        for worker in range(plan.workers):
            yield Span(f"multiply {worker + 1}", begin, ended, f"k{step}", tile)
        if step == steps - 1:
            for box in range(boxes):
                full = ended + BOX
                for worker in range(plan.workers):
                    yield Span(f"multiply {worker + 1}", ended, full, "", tile)
                yield Span("stores", full, full + BOX, str(box), tile)
                ended = full


def figure(plan: HopperPlan, steps: int, tiles: int, caption: str = "") -> str:
    """Return the picture as an HTML figure; colours follow the theme of the page."""
    every = list(spans(plan, steps, tiles))
    rows = list(dict.fromkeys(span.row for span in every))
    width = LEFT + WIDTH * max(span.end for span in every) + 2
    height = len(rows) * (HEIGHT + GAP)
    parts = [
        f'<text x="0" y="{at * (HEIGHT + GAP) + 16}">{escape(row)}</text>' for at, row in enumerate(rows)
    ]
    for span in every:
        x, y = LEFT + WIDTH * span.begin, rows.index(span.row) * (HEIGHT + GAP)
        opacity = 0.1 + 0.18 * (span.tile % 2) + 0.3 * (not span.text)
        parts.append(
            f'<rect x="{x:.0f}" y="{y}" width="{WIDTH * (span.end - span.begin):.0f}" height="{HEIGHT}" '
            f'fill="currentColor" fill-opacity="{opacity:.2f}" stroke="currentColor" stroke-opacity=".5"/>'
        )
        middle = x + WIDTH * (span.end - span.begin) / 2
        parts.append(f'<text x="{middle:.0f}" y="{y + 16}" text-anchor="middle">{span.text}</text>')
    drawn = "".join(parts)
    return (
        f'<figure class="scene"><svg viewBox="0 0 {width:.0f} {height}" width="100%" role="img" '
        f'aria-label="{escape(caption)}" style="font: 12px sans-serif" fill="currentColor">{drawn}</svg>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("pipeline", PipelinePicture)
    return {"parallel_read_safe": True}
