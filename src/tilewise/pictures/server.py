"""The explorer's server: a few files of the package, from memory, for the browser of this machine.

Every path that it knows is a file of `tilewise/pictures/web`, read when it starts; no request reaches the
disk. It listens on 127.0.0.1, and answers only who calls it by a name of this machine: a page of elsewhere
whose name was bent to 127.0.0.1 gets nothing. The texts that a reader types in the explorer stay on this
machine: the policy lets the page connect to its own server alone, and only where that server converts texts.

A server that converts is given a function for it. Its page has a token, without which no text is converted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from threading import BoundedSemaphore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Convert = Callable[[dict[str, Any]], dict[str, Any]]

PORT = 8737
"""The first port that the server tries where its caller names no port."""

PORTS = 20
"""The number of ports that it tries, from there on."""

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
"""The page may load its own script and style, and show pictures that it drew; no text becomes markup."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
"""The headers of every answer, of a refusal too."""

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
START = "index.html"
CONVERT = "/convert"
"""The address at which a page has a text converted that it cannot read itself."""

LONGEST = 1 << 16
"""Bytes of a question at most."""

AT_ONCE = 2
"""Texts that are converted at the same time."""

REFUSALS = {
    403: "this page may not ask that",
    404: "there is no such page",
    405: "only GET and HEAD are answered",
    413: "the text is too long",
    421: "not a name of this machine",
}


@dataclass(frozen=True, slots=True)
class File:
    """The content that the server has under one path."""

    kind: str
    content: bytes


def files() -> dict[str, File]:
    """{path: file} of everything that is served.

    >>> files()["/explorer.js"].kind
    'text/javascript; charset=utf-8'
    """
    from importlib.resources import files as resources

    found = {}
    for entry in resources("tilewise.pictures").joinpath("web").iterdir():
        kind = TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            found["/" if entry.name == START else f"/{entry.name}"] = File(kind, entry.read_bytes())
    return found


class Server(ThreadingHTTPServer):
    """A server on the port that its caller names, or on the first free one; `serve_forever` starts it.

    requires       0 <= port <= 65535, or None for the first free one
    postcondition  `address` is where a browser finds it, once `serve_forever` runs
    raises         OSError where the port cannot be had

    `convert` takes a question of the page, such as {"text": "..."}, and returns the answer.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        port: int | None = None,
        pages: Mapping[str, File] | None = None,
        convert: Convert | None = None,
    ) -> None:
        self.pages = files() if pages is None else dict(pages)
        self.convert, self.token, self.free = convert, token_urlsafe(), BoundedSemaphore(AT_ONCE)
        self.headers = dict(HEADERS)
        if convert is not None:
            self.headers["Content-Security-Policy"] = _connecting(POLICY)
            page = _connecting(self.pages["/"].content.decode())
            token = f'<meta name="tilewise-token" content="{self.token}">\n<title>'
            self.pages["/"] = replace(self.pages["/"], content=page.replace("<title>", token, 1).encode())
        for tried in range(PORT, PORT + PORTS) if port is None else ():
            try:
                super().__init__(("127.0.0.1", tried), _Handler)
            except OSError:
                continue
            return
        super().__init__(("127.0.0.1", port or 0), _Handler)

    def server_bind(self) -> None:
        """Take the port; the name of the machine, which the base class would look up, is of no use here."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    @property
    def port(self) -> int:
        """Return the port that was taken."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """Return the address of the explorer."""
        return f"http://127.0.0.1:{self.port}/"

    def knows(self, host: str | None) -> bool:
        """Return whether the name that the caller used is this machine's."""
        return host in {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    def handle_error(self, request: object, client_address: object) -> None:
        """Do nothing: a caller who hangs up is no news."""


def _connecting(policy: str) -> str:
    """Return a policy that lets a page connect to where it came from."""
    return policy.replace("default-src 'none'", "default-src 'none'; connect-src 'self'", 1)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30  # seconds in which a request has to have come

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        if not self._is_called_here():
            self.send_error(421)
        elif page is None:
            self.send_error(404)
        else:
            self._send(200, page)

    do_HEAD = do_GET  # noqa: N815 - likewise

    def _is_called_here(self) -> bool:
        hosts = self.headers.get_all("Host", [])
        return len(hosts) == 1 and self.server.knows(hosts[0])

    def do_POST(self) -> None:
        """Convert a text for the server's own page: same origin, its token, bounded in size."""
        convert, length = self.server.convert, self.headers.get("Content-Length", "")
        origin, token = self.headers.get("Origin"), self.headers.get("X-Tilewise-Token", "")
        if convert is None or self.path != CONVERT:
            self.send_error(405)
        elif not self._is_called_here():
            self.send_error(421)
        elif origin != f"http://{self.headers['Host']}" or not compare_digest(
            token.encode(), self.server.token.encode()
        ):
            self.send_error(403)
        elif not length.isdecimal() or len(length) > 9 or int(length) > LONGEST:
            self.send_error(413)
        else:
            try:
                question = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                question = None
            if not isinstance(question, dict):
                self.send_error(400)
                return
            with self.server.free:
                answer = convert(question)
            self._send(200, File("application/json; charset=utf-8", json.dumps(answer).encode()))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send a refusal in a line of text; a method without an answer is 405."""
        code = 405 if code == 501 else code
        reason = REFUSALS.get(code) or self.responses.get(code, ("refused",))[0]
        self._send(code, File("text/plain; charset=utf-8", f"{code}: {reason}\n".encode()))

    def _send(self, code: int, page: File) -> None:
        self.request_version = "HTTP/1.0"  # to what is no request the base class gives no headers
        self.send_response_only(code)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        if code == 405:
            self.send_header("Allow", "GET, HEAD")
        self.send_header("Content-Type", page.kind)
        self.send_header("Content-Length", str(len(page.content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.content)

    def log_message(self, format: str, *values: object) -> None:
        """Do nothing: the terminal has the address, and stays still."""
