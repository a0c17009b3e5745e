"""Write the questions of every part to the package."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from pathlib import Path

from tilewise.gpu.verify import part
from tilewise.gpu.verify.truth import put
from tools.questions import boxes, descriptors, matrices, products

DRAWN = descriptors.QUESTIONS | boxes.QUESTIONS | products.QUESTIONS | matrices.QUESTIONS
"""The questions of each part by its name, drawn when called."""


def main() -> None:
    """Draw every question, and write them as `Part` reads them."""
    file = Path(part.__file__).with_name(part.QUESTIONS)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as questions:
        for name, draw in DRAWN.items():
            data = json.dumps(asdict(draw()), separators=(",", ":"))
            put(questions, f"{name}.json", data.encode())
    print(file)


if __name__ == "__main__":
    main()
