"""A drawing as PNG, twice as large, by Pillow; the same bytes for the same drawing and the same Pillow."""

from __future__ import annotations

from io import BytesIO

from tilewise.core.errors import LayoutError
from tilewise.pictures.paper.drawing import Drawing, Fill, Text
from tilewise.pictures.paper.svg import PALETTES

SCALE = 2
MOST_PIXELS = 1 << 26


def png_of(drawing: Drawing, theme: str = "auto") -> bytes:
    """Return a picture as PNG; auto is light, for a file of pixels knows no reader.

    The letters are of the font that comes with Pillow, which has few beyond ASCII: `written` has the others.

        refused  TW403 where Pillow is missing
                 TW301 more than 67,108,864 pixels
    """
    wide, high = drawing.width * SCALE, drawing.height * SCALE
    if wide * high > MOST_PIXELS:
        raise LayoutError(
            "TW301",
            f"a picture of {wide} x {high} pixels, and {MOST_PIXELS} are the most",
            hint="--svg has no pixels; or a part of it: --window 0:64,0:64",
        )
    try:
        from PIL import Image, ImageDraw, ImageFont, PngImagePlugin
    except ImportError:
        raise LayoutError(
            "TW403", "PNG needs Pillow, which is not installed", hint="pip install 'tilewise[png]'"
        ) from None
    roles = PALETTES["light" if theme == "auto" else theme].roles
    image = Image.new("RGB", (wide, high), roles["paper"])
    pen = ImageDraw.Draw(image)
    sizes = {item.size for item in drawing.items if isinstance(item, Text)}
    fonts = {size: ImageFont.load_default(size * SCALE) for size in sizes}
    anchors = {"start": "ls", "middle": "ms", "end": "rs"}
    for item in drawing.items:
        if isinstance(item, Fill):
            for box in item.boxes:
                x, y = box.x * SCALE, box.y * SCALE
                corner = x + box.width * SCALE - 1, y + box.height * SCALE - 1
                pen.rectangle((x, y, *corner), fill=roles[item.role])
        else:
            pen.text(
                (item.x * SCALE, item.y * SCALE),
                written(item.text),
                fill=roles[item.role],
                font=fonts[item.size],
                anchor=anchors[item.anchor],
                stroke_width=0.5 if item.bold else 0,
            )
    told = PngImagePlugin.PngInfo()
    told.add_itxt("Title", drawing.title)
    told.add_itxt("Description", drawing.words)
    file = BytesIO()
    image.save(file, "PNG", pnginfo=told, dpi=(96 * SCALE, 96 * SCALE))
    return file.getvalue()


def written(text: str) -> str:
    """Return a text in the letters of the font: a sign that it lacks is its likeness in ASCII, any other a
    `?`.

        postcondition  as many letters as the text has, so that it needs the same room

    >>> written("rows 8 × 4 → m ⊕ 1 · “ä”")
    'rows 8 x 4 > m ^ 1 · “?”'
    """
    return "".join(_LIKE.get(c, c if " " <= c <= "~" or c in _BEYOND else "?") for c in text)


_BEYOND = "©«°±´·»‘’“”…‹›⁄™"
"""Letters of the font that are not of ASCII."""

_LIKE = dict(zip("×∘◦−–—→←⊕", "xoo---><^", strict=True))
