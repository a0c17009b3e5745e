"""The words of an access: what is moved, how wide, and whether it is loaded or stored.

    row:16B    col:2B@st    ldmatrix.x4.trans    wgmma.D:f32:n64:8B    S[(32, 8) : (64, 1)]@ld

What stands between is a pattern by name, an entry of the catalogue with its values between colons or as a
call, or a layout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.memory.banks import OPERATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.catalog.entry import Entry

_WIDTH = re.compile(r"\s*:\s*(\d+)\s*B$")
_NUMBER = re.compile(r"([A-Za-z_]+?)(\d+)")

EXAMPLES = "row:16B, col:2B, ldmatrix.x4.trans, mma.A:m16n8k16, S[(32, 8) : (64, 1)]"


@dataclass(frozen=True, slots=True)
class Words:
    """What a text asks for.

    >>> Words.of("wgmma.D:f32:n64:8B@st")
    Words(subject='wgmma.D:f32:n64', bytes=8, operation='st')
    >>> Words.of("S[(32, 8) : (64, 1)] + 5@m")
    Words(subject='S[(32, 8) : (64, 1)] + 5@m', bytes=None, operation=None)
    """

    subject: str
    bytes: int | None
    """How wide, where it is said."""
    operation: str | None

    @classmethod
    def of(cls, text: str) -> Words:
        """The words of a text."""
        subject, at, operation = text.strip().rpartition("@")
        if not at or operation.strip() not in OPERATIONS:
            subject, operation = text.strip(), ""
        subject = subject.strip()
        width = _WIDTH.search(subject)
        subject = subject[: width.start()] if width else subject
        if not subject:
            raise LayoutError("TW601", f"{text!r} is no access", hint=f"such as {EXAMPLES}")
        return cls(subject, int(width[1]) if width else None, operation.strip() or None)


def spelled(subject: str, bytes: int | None, operation: str | None) -> str:
    """The text with these words.

    >>> spelled("row", 16, None), spelled("col", 2, "st")
    ('row:16B', 'col:2B@st')
    """
    width = f":{bytes}B" if bytes else ""
    return subject + width + (f"@{operation}" if operation else "")


def as_call(entry: Entry, words: list[str], dtype: DType) -> str:
    """The call of an entry that values between colons mean; the type is the tile's where none is said.

    >>> from tilewise.hardware.catalog import find
    >>> as_call(find("wgmma.D"), ["f32", "n64"], DType.of("bf16"))
    'wgmma.D(f32, n=64)'
    >>> as_call(find("mma.A"), ["m16n8k16"], DType.of("bf16"))
    'mma.A(m16n8k16, dtype=bf16)'
    """
    numbers = {parameter.name for parameter in entry.parameters if parameter.number}
    values = []
    for word in words:
        number = _NUMBER.fullmatch(word)
        known = number is not None and number[1] in numbers
        values.append(f"{number[1]}={number[2]}" if number is not None and known else word)
    plain = sum("=" not in value for value in values)
    names = [parameter.name for parameter in entry.parameters]
    if "dtype" in names[plain:] and not any(value.startswith("dtype=") for value in values):
        values.append(f"dtype={dtype}")
    return f"{entry.name}({', '.join(values)})"
