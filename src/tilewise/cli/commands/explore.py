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

import argparse

from tilewise.cli.answer import Answer, misused, refuse_given
from tilewise.cli.arguments import add_options, in_cute, layout_from, layout_options, let_from, text_from
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.show.server import Server


def arguments(parser: argparse.ArgumentParser) -> None:
    """[LAYOUT] [--port N] [--open] and the options that say how to read the layout."""
    add_options(
        parser,
        {
            "[layout]": ("LAYOUT", "what to show first, or - for standard input"),
            "--port": {"type": _port, "metavar": "N", "help": "this port of 127.0.0.1; 0 for any"},
            "--open": "open it in the browser of this machine",
        },
    )
    layout_options(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The address; the page is served once it has been printed."""
    from tilewise.show.server import Server

    shown = _fragment(args)
    try:
        server = Server(args.port, convert=converted)
    except OSError as error:
        raise LayoutError(
            "TW402",
            f"port {args.port} of 127.0.0.1 cannot be had: {error.strerror}",
            hint="name another, or none: the first free one is taken",
        ) from None
    url = server.address + shown
    text = f"the explorer: {url}\nCtrl-C ends it"
    return Answer({"url": url}, text, then=lambda: _serve(server, url if args.open else "", args.json))


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port, which is a number up to 65535")
    return port


def _fragment(args: argparse.Namespace) -> str:
    """What the page shows first: the text where the page reads it as it is read here, else the layout."""
    from tilewise.show.address import fragment
    from tilewise.show.calls import call_in, dtype_of_call, page_knows_call

    _refuse_idle_options(args)
    if args.layout is None:
        return ""
    text = text_from(args.layout)
    layout = layout_from(text, args)
    if layout.unit != "element":
        raise LayoutError(
            "TW106",
            f"the explorer counts elements, and this layout {layout.unit}s",
            hint="--dtype converts it, such as --dtype bf16",
        )
    more = args.let or args.unit != "element"
    if not more and (in_cute(text, args.dialect) or page_knows_call(call_in(text))):
        return fragment(text, args.dtype)
    return fragment(str(layout), args.dtype or dtype_of_call(text, let_from(args)))


def _refuse_idle_options(args: argparse.Namespace) -> None:
    """What would go without a word."""
    if args.layout is None:
        readings = ("let", "storage", "dtype", "dialect")
        refuse_given(args, readings, "says how LAYOUT is read, and there is none", "write it first")
    if args.storage:
        raise misused(
            "an address of the explorer has no room for --storage", "use an axis that has the kind, such as m"
        )


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


def _serve(server: Server, opened: str, quiet: bool) -> None:
    """Until Ctrl-C, or the signal that asks to end."""
    import signal
    import threading
    import webbrowser

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if opened:  # in a thread of its own, for a browser in the terminal stays until it is left
        threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        if not quiet:
            print("\nthe explorer has ended")
    finally:
        server.server_close()
