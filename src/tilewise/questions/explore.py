"""The explorer, for the browser: type a layout, and see where every element lives.

  tilewise explore
  tilewise explore 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' --dtype bf16
  tilewise explore 'wgmma.D(f32, n=64)' --open
  tilewise explore --port 9000

It prints an address, which a browser of this machine opens, and serves the page until Ctrl-C. Nothing that is
typed there leaves this machine: a text of Triton, JAX or XLA, which the page cannot read itself, is converted
by this command. Without --port the first free one from 8737 on is taken.
"""

from __future__ import annotations

from tilewise.core.errors import LayoutError
from tilewise.questions.asking import asks
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts, in_cute, misused, refuse_given, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from tilewise.pictures.server import Server
    from tilewise.questions.asking import LayoutText, Number, TensorOptions, Type

TAKES_JSON = True


@asks(
    layout="LAYOUT: what to show first, or - for standard input",
    port="N: this port of 127.0.0.1; 0 for any",
    open="open it in the browser of this machine",
)
def explore(
    layout: LayoutText | None = None,
    dtype: Type | None = None,
    *,
    port: Number | None = None,
    open: bool = False,
    json: bool | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the address of the explorer, which is served as long as this process lives.

    A shell says by `json` that it waits itself: there `then` of the report serves the page until Ctrl-C.
    """
    from tilewise.pictures.server import Server

    texts = Texts(dtype, **reading)
    shown = _fragment(texts, layout)
    number = None if port is None else _port(port)
    try:
        server = Server(number, convert=converted)
    except OSError as error:
        raise LayoutError(
            "TW402",
            f"port {port} of 127.0.0.1 cannot be had: {error.strerror}",
            hint="name another, or none: the first free one is taken",
        ) from None
    url = server.address + shown
    opened = url if open else ""
    if json is None:
        _serve_beside(server, opened)
        return texts.report({"url": url}, f"the explorer: {url}\nit ends with this process")
    text = f"the explorer: {url}\nCtrl-C ends it"
    return texts.report({"url": url}, text, then=lambda: _serve(server, opened, json))


def _port(given: Number) -> int:
    if not str(given).isdecimal() or int(given) > 65535:
        raise misused(f"--port {given} is not a port, which is a number up to 65535")
    return int(given)


def _fragment(texts: Texts, layout: LayoutText | None) -> str:
    """Return the address of a layout, by its text where the page reads that as it is read here."""
    from tilewise.pictures.address import call_in, dtype_of_call, fragment, page_knows_call

    if layout is None:
        given = {
            "let": texts.let or None,
            "storage": texts.storage,
            "dtype": texts.dtype,
            "dialect": texts.dialect,
        }
        refuse_given(given, "says how to read LAYOUT, and the command names no LAYOUT", "write it first")
        return ""
    if texts.storage:
        raise misused(
            "an address of the explorer has no room for --storage", "use an axis that has the kind, such as m"
        )
    text = text_from(layout, texts.let) if isinstance(layout, str) else str(layout)
    shown = texts.layout(text if isinstance(layout, str) else layout)
    if shown.unit != "element":
        raise LayoutError(
            "TW106",
            f"the explorer counts elements, and this layout {shown.unit}s",
            hint="--dtype converts it, such as --dtype bf16",
        )
    more = texts.let or texts.unit != "element"
    if not more and (in_cute(text, texts.dialect) or page_knows_call(call_in(text))):
        return fragment(text, texts.dtype)
    return fragment(str(shown), texts.dtype or dtype_of_call(text, texts.let))


PATIENCE = 10
"""Seconds for which a text may be converted."""


def converted(question: dict[str, Any]) -> dict[str, Any]:
    """Return the layout of a text that a page sends, or the error.

    The shape of the question is for a text without its own; the answer has `shaped` where it was taken.
    """
    text, dtype, shape = (str(question.get(name) or "") for name in ("text", "dtype", "shape"))
    options = [f"--dtype={dtype}"] if dtype else []
    answer = _said(text, options)
    if shape and answer.get("error", {}).get("code") == "TW202":
        return _said(text, [*options, f"--shape={shape}"]) | {"shaped": True}
    return answer


def _said(text: str, options: list[str]) -> dict[str, Any]:
    """Return what `say` answers of a text.

    Another process reads it, so that no text can hold up the server for longer than the time it is given.
    """
    import json
    import subprocess
    import sys

    words = [sys.executable, "-m", "tilewise", "say", "-", "--as", "tilewise", "--json", *options]
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError, OSError):
        message = f"the text cannot be read within {PATIENCE} seconds"
        return {"error": {"code": "TW301", "message": message, "span": None, "hint": ""}}
    return answer


def _serve_beside(server: Server, opened: str) -> None:
    """Serve beside what the process does, until it ends."""
    import threading

    threading.Thread(target=server.serve_forever, daemon=True).start()
    _open(opened)


def _open(url: str) -> None:
    """Open an address in the browser, in a thread: a browser in the terminal stays until it is left."""
    import threading
    import webbrowser

    if url:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _serve(server: Server, opened: str, quiet: bool) -> None:
    """Serve until Ctrl-C, or the signal that asks to end."""
    import signal

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open(opened)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        if not quiet:
            print("\nthe explorer has ended")
    finally:
        server.server_close()
