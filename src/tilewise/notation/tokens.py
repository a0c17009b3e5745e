"""From characters to tokens, each with its span in the source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from tilewise.core.errors import LayoutError

NUMBER, NAME, WIDTH, END = "number", "name", "width", "end"
MAX_TEXT = 1 << 20
MAX_TOKENS = 1 << 16

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<width>[0-9]+(?:b(?=\s*\])|[BX](?=\s*[,)])|X(?=\.\w))"
    r"|(?:(?<=[A-Za-z]\()|(?<==))[0-9]+x[0-9]+(?:x[0-9]+|b(?:x[0-9]+)?)(?=\s*[,)])"
    r"|(?:(?<=[A-Za-z]\()|(?<==))[0-9]+[bx](?=\s*[,)])|[0-9]+[Bb]_[A-Za-z]\w*(?=\s*[,)])"
    r"|(?<=::)[0-9]+_[0-9]+(?=\s*[,)])|0x[0-9a-f]{4}\.[0-9a-f]{4}(?=\)))"
    r"|(?P<float>(?:[0-9]+\.(?!\.)[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)|(?P<name>[^\W\d]\w*)"
    r"|(?P<elision>\.\.\.|…)|(?P<sign>//|[][(){}<>:,@+\-*=.∘?])"
)
_LOOKALIKES = {";": ":", "−": "-", "–": "-", "—": "-", "·": "o", "◦": "o", "×": "*", "|": ":"}
_HINTS = {
    '"': "write numbers and names without quotes; from_json reads documents",
    "'": "write numbers and names without quotes",
    "#": "the notation has no comments",
}


Span = tuple[int, int]
"""The place of a piece in its text: its first character, and the one after its last."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the source and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Return (start, end) in characters."""
        return self.start, self.end

    def __str__(self) -> str:
        if self.kind == END:
            return "the end"
        return f"'{shortened(self.text)}'"


Scan = Callable[[str], Iterator[Token]]
"""Yields the tokens of a text, as a dialect has them."""


def shortened(text: str) -> str:
    """Return a text, or its beginning where it is long."""
    return text if len(text) <= 40 else text[:36] + "…"


def tokens_of(source: str, scan: Scan | None = None) -> list[Token]:
    """Return the tokens of a text, closed by an END token; `scan` yields those of another dialect.

    >>> [t.text for t in tokens_of("S[8 : 4@laneid]")]
    ['S', '[', '8', ':', '4', '@', 'laneid', ']', '']
    """
    if len(source) > MAX_TEXT:
        raise LayoutError(
            "TW005",
            f"a text of {len(source)} characters; at most {MAX_TEXT} are read",
            span=(MAX_TEXT, len(source)),
            source=source,
        )
    tokens = list(islice((scan or _scan)(source), MAX_TOKENS + 1))
    if len(tokens) > MAX_TOKENS:
        raise LayoutError(
            "TW005",
            f"a text of more than {MAX_TOKENS} words, numbers and signs",
            span=tokens[-1].span,
            source=source,
        )
    return [*tokens, Token(END, "", len(source), len(source))]


def _scan(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise _unknown(source, at)
        kind, text, end = match.lastgroup or "", match.group(), match.end()
        if kind == "elision":
            raise LayoutError(
                "TW006",
                "an elided expression has no one meaning",
                hint="write out the extents and strides that the dots stand for",
                span=(at, end),
                source=source,
            )
        if kind == "float":
            raise LayoutError(
                "TW101",
                f"{shortened(text)} is not an integer",
                hint="extents, strides and offsets count whole units; choose a smaller unit",
                span=(at, end),
                source=source,
            )
        if kind == NUMBER:
            _check_separated(source, at, end)
        if kind != "space":
            yield Token(kind, text, at, end)
        at = end


def _unknown(source: str, at: int) -> LayoutError:
    from unicodedata import combining, normalize

    character = source[at]
    plain = _LOOKALIKES.get(character) or normalize("NFKC", character)
    code = f"U+{ord(character):04X}"
    if not character.isprintable() or combining(character):
        shown, hint = code, "remove this invisible or combining character"
    else:
        shown = f"'{character}'" if character.isascii() else f"'{character}' ({code})"
        near = plain != character and _TOKEN.match(plain)
        hint = f"did you mean '{plain}'?" if near else _HINTS.get(character, "")
    return LayoutError(
        "TW002", f"the notation has no character {shown}", hint=hint, span=(at, at + 1), source=source
    )


def _check_separated(source: str, at: int, end: int) -> None:
    after = source[end : end + 1]
    if not after.isalnum() and after != "_":
        return
    if source[at:end] == "0":
        hint = "numbers are decimal, or hexadecimal such as 0x40"
    elif after == "_":
        hint = "write the digits without '_'"
    elif after in "xX" and source[end + 1 : end + 2].isdigit():
        extents = source.lower().split("x")
        hint = "separate extents with commas: (8, 4)"
        if all(extent.strip().isdecimal() for extent in extents):
            hint = f"a row-major tile of that shape is S[({', '.join(map(str.strip, extents))})]"
    else:
        hint = "put an operator between, or @ before an axis"
    raise LayoutError("TW002", f"a number runs into '{after}'", hint=hint, span=(at, end + 1), source=source)


class Cursor:
    """A position among the tokens of one source; every refusal carries its span."""

    def __init__(self, source: str, scan: Scan | None = None, span: Span | None = None) -> None:
        """Begin at the first token of a text, or of a part of it; spans are those of the whole."""
        self.source = source
        start, end = span or (0, len(source))
        try:
            self.tokens = tokens_of(" " * start + source[start:end], scan)
        except LayoutError as error:
            error.source = source
            raise
        self.at = 0

    @property
    def next(self) -> Token:
        """Return the token ahead."""
        return self.tokens[self.at]

    @property
    def behind(self) -> Token:
        """Return the token taken last."""
        return self.tokens[max(self.at - 1, 0)]

    def ahead(self, distance: int) -> Token:
        """Return the token `distance` after the next one."""
        return self.tokens[min(self.at + distance, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Take the next token, which is then behind."""
        token = self.next
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of `texts`, else return None."""
        return self.take() if self.next.text in texts and self.next.kind != END else None

    def expect(self, text: str, opened: Token | None = None, hint: str = "") -> Token:
        """Take the next token, which must be `text`; `opened` is the bracket that it closes."""
        token = self.accept(text)
        if token is not None:
            return token
        if opened is not None and self.next.kind == END:
            hint = f"close it with '{text}'" if text in ")]>" else hint
            raise self.error("TW004", f"'{opened.text}' is never closed", opened.span, hint)
        raise self.error("TW004", f"expected '{text}', found {self.next}", hint=hint)

    def expect_end(self, what: str, hint: str = "") -> None:
        """Refuse anything that follows."""
        if self.next.kind != END:
            raise self.error("TW004", f"{what} ends before {self.next}", hint=hint)

    def error(self, code: str, message: str, span: Span | None = None, hint: str = "") -> LayoutError:
        """Return a refusal at the span, or at the next token."""
        return LayoutError(code, message, hint=hint, span=span or self.next.span, source=self.source)

    def since(self, start: Token) -> Span:
        """Return the span from `start` to the token taken last."""
        return start.start, max(start.end, self.behind.end)

    @contextmanager
    def blame(self, start: Token | Span) -> Iterator[None]:
        """Give a refusal inside a span if it has none: `start`, or the text from that token on."""
        try:
            yield
        except LayoutError as error:
            if error.span is None:
                error.span = start if isinstance(start, tuple) else self.since(start)
                error.source = self.source
            raise
