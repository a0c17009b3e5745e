"""A small driver of headless Chromium, by the DevTools protocol over two pipes.

Messages are JSON, each ended by a NUL: the browser reads them from file descriptor 3 and writes to 4. One
thread does it all; what pages report in the meantime is kept with the page. No name is resolved but
loopback's, no download is taken, and whatever a page complains of is in `errors`.

    with Browser() as browser, browser.page() as page:
        page.open("http://127.0.0.1:8000/")
        page.click("button")
        assert page.evaluate("document.title") == "..."
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

NAMES = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --mute-audio "
    "--disable-default-apps --disable-extensions --remote-debugging-pipe"
).split()
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NO_NAMES = "MAP * ~NOTFOUND, " + ", ".join(f"EXCLUDE {host}" for host in (*LOOPBACK[:2], "[::1]"))
PATIENCE = 30.0
"""Seconds until a call is given up, where it says nothing else."""

FIND = """selector => selector.split(" >>> ").reduce(
    (root, part) => {
        const found = (root.shadowRoot ?? root).querySelector(part);
        if (!found) throw new Error(`there is no ${part}`);
        return found;
    }, document)"""
"""A function of the page: the first element of a selector, through the shadows that it names."""

SHIFT, CONTROL = 8, 2
KEY_CODES = {
    key: int(code)
    for key, code in (
        pair.split(":")
        for pair in "Backspace:8 Tab:9 Enter:13 Escape:27 PageUp:33 PageDown:34 End:35 Home:36 ArrowLeft:37 "
        "ArrowUp:38 ArrowRight:39 ArrowDown:40 Delete:46 [:219 ]:221 /:191 ?:191".split()
    )
}
"""Windows's virtual key codes, by which the protocol tells keys that are no letters."""
KEY_TEXTS = {"Enter": "\r", "Tab": "", "Escape": ""}


def found() -> str | None:
    """The browser of this machine, $TILEWISE_CHROMIUM before all others, or None."""
    asked = os.environ.get("TILEWISE_CHROMIUM")
    return next((path for name in ([asked] if asked else NAMES) if (path := shutil.which(name))), None)


class PageError(Exception):
    """An error that a page threw."""


class Hung(Exception):
    """A page, or the browser, did not answer in time."""


SETTLED = """new Promise(done => {
    const frames = left => requestAnimationFrame(() => {
        if (document.querySelector(".desk[aria-busy=true]")) frames(2);
        else if (left > 1) frames(left - 1);
        else done();
    });
    frames(2);
})"""
"""Two frames; of the explorer, two that come when nothing is loaded or drawn any more."""


class Browser:
    """One process; pages come and go, each in a context that shares nothing with others."""

    def __init__(self, path: str | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._replies: dict[int, dict[str, Any]] = {}
        self._listeners: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        self._buffer = bytearray()
        self._last = 0
        self._process, self._in, self._out = self._start(path or found() or NAMES[0])

    def _start(self, path: str) -> tuple[int, int, int]:
        """The process, the end to write to and the end to read from."""
        theirs, ours = (_above_ten(end) for end in os.pipe())
        read, write = (_above_ten(end) for end in os.pipe())
        actions = [
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs, 3),
            (os.POSIX_SPAWN_DUP2, write, 4),
        ]
        folder, names = f"--user-data-dir={self._folder.name}", f"--host-resolver-rules={NO_NAMES}"
        process = os.posix_spawn(
            path, [path, *FLAGS, folder, names], os.environ, file_actions=actions, setsid=True
        )
        os.close(theirs)
        os.close(write)
        return process, ours, read

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, kindly or not, and forget its folder."""
        for end in (self._in, self._out):
            os.close(end)  # the browser ends with its pipe
        until = time.monotonic() + 5
        while os.waitpid(self._process, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.killpg(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
                break
            time.sleep(0.01)
        self._folder.cleanup()

    @contextmanager
    def page(self, width: int = 1280, height: int = 800) -> Iterator[Page]:
        """A new page in a context of its own, closed in the end."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        try:
            self.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
            granted = ["clipboardReadWrite", "clipboardSanitizedWrite"]
            self.call("Browser.grantPermissions", permissions=granted, browserContextId=context)
            target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
            session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            page = Page(self, session)
            self._listeners[session] = page._heard
            page._prepare(width, height)
            yield page
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)

    def call(
        self, method: str, session: str | None = None, timeout: float = PATIENCE, **parameters: Any
    ) -> dict[str, Any]:
        """Return the answer of the browser, or of the page of a session."""
        number = self.send(method, session, **parameters)
        until = time.monotonic() + timeout
        while number not in self._replies:
            if not self._listen(until - time.monotonic()):
                raise Hung(f"{method} was not answered within {timeout:g} s")
        reply = self._replies.pop(number)
        if "error" in reply:
            raise PageError(f"{method}: {reply['error']['message']}")
        result: dict[str, Any] = reply["result"]
        return result

    def send(self, method: str, session: str | None = None, **parameters: Any) -> int:
        """Ask, and wait for nothing; the number of the message."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._in, data) :]
        return self._last

    def _listen(self, seconds: float) -> bool:
        """Take in what has come, waiting for it if need be; False where nothing did."""
        if not select.select([self._out], [], [], max(0, seconds))[0]:
            return False
        data = os.read(self._out, 1 << 20)
        if not data:
            raise Hung("the browser has ended")
        if b"\0" not in data:
            self._buffer += data
            return True
        *messages, rest = (self._buffer + data).split(b"\0")
        self._buffer = bytearray(rest)
        for message in map(json.loads, messages):
            if "id" in message:
                self._replies[message["id"]] = message
            elif message.get("sessionId") in self._listeners:
                self._listeners[message["sessionId"]](message["method"], message["params"])
        return True


def _above_ten(end: int) -> int:
    """The same end of a pipe under a number that is not in the way of 3 and 4."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved


class Page:
    """A page: it goes to addresses, answers questions, and takes keys and buttons."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self._loads = 0
        self._busy = 0.0
        self._first: list[str] = []
        self.console: list[str] = []
        self.errors: list[str] = []
        """Exceptions, dialogs, what the security policy blocked, requests beyond loopback, crashes."""

    def call(self, method: str, timeout: float = PATIENCE, **parameters: Any) -> dict[str, Any]:
        """A method of the protocol."""
        return self._browser.call(method, self._session, timeout, **parameters)

    def _prepare(self, width: int, height: int) -> None:
        for domain in ("Page", "Runtime", "Network", "Log", "Inspector"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.resize(width, height)

    def _heard(self, method: str, event: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loads += 1
        elif method == "Runtime.consoleAPICalled":
            self.console.append(
                " ".join(str(part.get("value", part.get("description"))) for part in event["args"])
            )
        elif method == "Runtime.exceptionThrown":
            self.errors.append(_thrown(event["exceptionDetails"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] == "error":
            self.errors.append(f"{event['entry']['text']} {event['entry'].get('url', '')}".strip())
        elif method == "Network.requestWillBeSent" and _is_elsewhere(event["request"]["url"]):
            self.errors.append(f"asked for {event['request']['url'][:200]}")
        elif method == "Page.javascriptDialogOpening":
            self.errors.append(f"a dialog: {event['message']}")
            self._browser.send("Page.handleJavaScriptDialog", self._session, accept=False)
        elif method == "Inspector.targetCrashed":
            self.errors.append("the page has crashed")

    def forgive(self) -> list[str]:
        """The errors until now, which are expected: they fail the test no more."""
        forgiven, self.errors = self.errors, []
        return forgiven

    def clear(self, width: int = 1280, height: int = 800) -> None:
        """As a new page, in a tenth of the time: blank, with no past, and nothing emulated."""
        for script in self._first:
            self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        self.call("Emulation.setEmulatedMedia", media="", features=[])
        self.call("Emulation.setTouchEmulationEnabled", enabled=False)
        self.resize(width, height)
        self.hover(0, 0)
        self.open("about:blank")
        self.call("Page.resetNavigationHistory")
        self.worked()
        self._first, self.console, self.errors = [], [], []

    # -- where it goes, what it is asked ---------------------------------------------------------------

    def first(self, code: str) -> None:
        """Run this at the start of every document that is opened from now on."""
        script = self.call("Page.addScriptToEvaluateOnNewDocument", source=code)
        self._first.append(script["identifier"])

    def open(self, url: str, timeout: float = PATIENCE) -> None:
        """Go there, and wait until all is loaded; another fragment alone loads nothing."""
        loads = self._loads
        answer = self.call("Page.navigate", timeout, url=url)
        if answer.get("errorText"):
            raise PageError(f"{url[:200]}: {answer['errorText']}")
        if "loaderId" in answer:
            self._wait_for_load(loads, timeout)

    def reload(self, timeout: float = PATIENCE) -> None:
        """Load the page anew."""
        loads = self._loads
        self.call("Page.reload", timeout)
        self._wait_for_load(loads, timeout)

    def _wait_for_load(self, loads: int, timeout: float) -> None:
        until = time.monotonic() + timeout
        while self._loads == loads:
            if not self._browser._listen(until - time.monotonic()):
                raise Hung(f"the page was not loaded within {timeout:g} s")

    def evaluate(self, code: str, *arguments: Any, timeout: float = PATIENCE) -> Any:
        """The value of an expression, or of a function at arguments; a promise's, when it is there.

        page.evaluate("document.title")
        page.evaluate("(a, b) => a + b", 2, 3)
        """
        if arguments:
            code = f"({code})(...JSON.parse({json.dumps(json.dumps(arguments))}))"
        answer = self.call(
            "Runtime.evaluate",
            timeout,
            expression=code,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        if "exceptionDetails" in answer:
            raise PageError(_thrown(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, condition: str, *arguments: Any, timeout: float = 5.0) -> Any:
        """The value of an expression or a function as soon as it is true."""
        until = time.monotonic() + timeout
        while not (value := self.evaluate(condition, *arguments, timeout=timeout)):
            if time.monotonic() > until:
                raise Hung(f"not true within {timeout:g} s: {condition}")
            time.sleep(0.02)
        return value

    def worked(self) -> float:
        """Return the seconds of work of the main thread since the last call of this; waiting is no work."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        before, self._busy = self._busy, next(one["value"] for one in metrics if one["name"] == "ThreadTime")
        return self._busy - before

    def settle(self) -> None:
        """Until two frames have been drawn after all that the explorer was busy with."""
        self.evaluate(SETTLED)

    def text(self, selector: str) -> str:
        """Return the text of the first element; `host >>> part` is a part in the shadow of a host."""
        return str(self.evaluate(f"selector => ({FIND})(selector).textContent", selector))

    # -- how it looks ----------------------------------------------------------------------------------

    def resize(self, width: int, height: int, *, scale: float = 1, mobile: bool = False) -> None:
        """Another viewport, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def media(self, *, dark: bool = False, still: bool = False, printed: bool = False) -> None:
        """Set what the reader prefers: dark colours, no motion; or paper."""
        features = {"color-scheme": "dark" if dark else "light", "reduced-motion": "reduce" if still else ""}
        self.call(
            "Emulation.setEmulatedMedia",
            media="print" if printed else "",
            features=[{"name": f"prefers-{name}", "value": value} for name, value in features.items()],
        )

    def screenshot(self, *, whole: bool = False) -> bytes:
        """A picture as PNG: of what is in the window, or of all that there is."""
        settings: dict[str, Any] = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            settings = {"captureBeyondViewport": True, "clip": size | {"scale": 1}}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **settings)["data"])

    # -- keys and buttons ------------------------------------------------------------------------------

    def hover(self, x: float, y: float, *, modifiers: int = 0) -> None:
        """The mouse moves there."""
        self._mouse("mouseMoved", x, y, modifiers=modifiers)

    def click_at(self, x: float, y: float, *, modifiers: int = 0) -> None:
        """The mouse moves there and is clicked."""
        self.hover(x, y, modifiers=modifiers)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, x, y, button="left", clickCount=1, modifiers=modifiers)

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, modifiers: int = 0) -> None:
        """The mouse is pressed at one point and released at another."""
        self.hover(*start, modifiers=modifiers)
        self._mouse("mousePressed", *start, button="left", clickCount=1, modifiers=modifiers)
        self._mouse("mouseMoved", *end, button="left", buttons=1, modifiers=modifiers)
        self._mouse("mouseReleased", *end, button="left", clickCount=1, modifiers=modifiers)

    def wheel(self, x: float, y: float, down: float, *, modifiers: int = 0) -> None:
        """The wheel is turned, `down` in CSS pixels."""
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=down, modifiers=modifiers)

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def centre(self, selector: str) -> tuple[float, float]:
        """Where the middle of the first element is in the window, into which it is brought."""
        x, y = self.evaluate(
            f"""selector => {{
                const element = ({FIND})(selector);
                element.scrollIntoView({{block: "nearest", inline: "nearest", behavior: "instant"}});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }}""",
            selector,
        )
        return x, y

    def click(self, selector: str, *, modifiers: int = 0) -> None:
        """Click on the middle of the first element."""
        self.click_at(*self.centre(selector), modifiers=modifiers)

    def press(self, *keys: str, modifiers: int = 0) -> None:
        """Press keys, one after the other, by their names: "ArrowLeft", "Enter", "?", "a"."""
        for key in keys:
            text = KEY_TEXTS.get(key, key if len(key) == 1 else "")
            code = KEY_CODES.get(key) or (ord(key.upper()) if len(key) == 1 else 0)
            press = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers, "code": _code(key)}
            if text and not modifiers & CONTROL:
                self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **press)
            else:
                self.call("Input.dispatchKeyEvent", type="rawKeyDown", **press)
            self.call("Input.dispatchKeyEvent", type="keyUp", **press)

    def type(self, text: str) -> None:
        """Text comes into what has the focus, as from a keyboard or by pasting."""
        self.call("Input.insertText", text=text)


def _code(key: str) -> str:
    """The key's place on the keyboard, where the protocol asks for it."""
    if len(key) > 1:
        return key
    return f"Key{key.upper()}" if key.isascii() and key.isalpha() else ""


def _thrown(details: dict[str, Any]) -> str:
    thrown = details.get("exception", {})
    return str(thrown.get("description") or thrown.get("value") or details["text"])


def _is_elsewhere(url: str) -> bool:
    """Return whether a request leaves this machine."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss", "ftp") and parts.hostname not in LOOPBACK
