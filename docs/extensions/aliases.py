"""Some bare names link nowhere: what is called the same is something else.

A signature names what is imported for the type checker alone, and Sphinx looks for that name anywhere: the
`Shape` of a layout, a nested tuple, would lead to the class of that name, the shape of an mma; `bytes` to
attributes of classes; and there are several a `Plan`, and a `Bound`. The arguments of a question have
types that only its signature knows; the page says what they are.
"""

from __future__ import annotations

from typing import Any

from docutils.nodes import Text
from sphinx.addnodes import pending_xref

ALIASES = (
    *("Shape", "Plan", "Bound", "bytes", "Path", "Step", "Box"),
    *(
        "LayoutText",
        "IndexText",
        "ShapeText",
        "Place",
        "Word",
        "Words",
        "Files",
        "Tile",
        "Type",
        "Ranges",
        "Order",
    ),
    *("Number", "Many", "Sizes", "TextOptions", "TensorOptions", "zipfile.ZipFile"),
)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", _without_links)
    return {"parallel_read_safe": True}


def _without_links(app: Any, doctree: Any) -> None:
    """Write a bare name as text where its module was not found: it is an alias."""
    for node in [*doctree.findall(pending_xref)]:
        if node.get("refdomain") == "py" and node.get("reftarget") in ALIASES:
            node.replace_self(Text(node["reftarget"]))
