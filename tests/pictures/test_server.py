"""The explorer's server: what it gives, to whom, and that nothing else can be had from it."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.pictures.address import fragment
from tilewise.pictures.server import HEADERS, POLICY, PORT, File, Server, files

PAGES = {
    "/": File("text/html; charset=utf-8", b"<!doctype html><title>start</title>"),
    "/explorer.js": File("text/javascript; charset=utf-8", b"export {};" * 10_000),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(0, PAGES) as started:
        Thread(target=started.serve_forever, args=(0.01,), daemon=True).start()
        yield started
        started.shutdown()


def said(server: Server, request: bytes) -> bytes:
    """All that comes back on a connection of its own."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        try:
            while part := connection.recv(1 << 16):
                parts.append(part)
        except ConnectionResetError:  # more was sent than was read
            pass
    return b"".join(parts)


def asked(
    server: Server, path: bytes = b"/", method: bytes = b"GET", host: bytes | None = None
) -> tuple[int, dict[str, str], bytes]:
    """(status, headers, body) of a request as a browser sends it."""
    host = b"127.0.0.1:%d" % server.port if host is None else host
    answer = said(server, b"%s %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (method, path, host))
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body


# -- what is given ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_files_are_given_as_they_are(server, path):
    status, headers, body = asked(server, path.encode())
    assert (status, headers["Content-Type"], body) == (200, PAGES[path].kind, PAGES[path].content)
    assert headers["Content-Length"] == str(len(body))
    assert asked(server, path.encode() + b"?a=../b")[2] == body


def test_head_is_get_without_the_body(server):
    status, headers, body = asked(server, b"/explorer.js", b"HEAD")
    assert (status, headers, body) == (200, asked(server, b"/explorer.js")[1], b"")


def test_the_package_has_the_explorer():
    found = files()
    assert found["/"].kind == "text/html; charset=utf-8"
    assert found["/explorer.js"].kind == "text/javascript; charset=utf-8"
    assert all(re.fullmatch(r"/([\w-]+\.(js|css|svg))?", path) for path in found)


def test_the_page_names_nothing_but_what_is_served():
    found = files()
    page = found["/"].content.decode()
    named = re.findall(r"""(?:src|href)=["']?([^"'> ]+)""", page)
    assert [name for name in named if f"/{name}" not in found and name != "data:,"] == []
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", page)


# -- what goes with it -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET / HTTP/1.1",
        b"GET /nothing HTTP/1.1",
        b"POST / HTTP/1.1",
        b"GET / HTTP/9.9",
        b"GET  two  many words HTTP/1.1",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1",
    ],
    ids=["given", "not-found", "method", "version", "words", "long"],
)
def test_every_answer_has_the_headers(server, request_line):
    head = said(server, request_line + b"\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port).partition(
        b"\r\n\r\n"
    )[0]
    lines = head.decode().split("\r\n")[1:]
    assert {f"{name}: {value}" for name, value in HEADERS.items()} <= set(lines)
    assert {line.split(":")[0] for line in lines} <= {*HEADERS, "Allow", "Content-Type", "Content-Length"}


def test_the_policy_lets_nothing_in_and_nothing_out():
    directives = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert directives["default-src"] == directives["frame-ancestors"] == directives["base-uri"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == "'self'"
    assert "unsafe" not in POLICY
    assert "connect-src" not in directives  # the default, none, holds


# -- what is refused -------------------------------------------------------------------------------

HOSTILE = [
    b"/../../../etc/passwd",
    b"/..%2f..%2fetc/passwd",
    b"/%2e%2e/%2e%2e/etc/passwd",
    b"/.%00/index.html",
    b"/explorer.js%00",
    b"/explorer.js/",
    b"/explorer.js/../explorer.js",
    b"/./explorer.js",
    b"/EXPLORER.JS",
    b"/index.html/..",
    b"/\\..\\..\\server.py",
    b"/__init__.py",
    b"//etc/passwd",
    b"/etc/passwd",
    b"file:///etc/passwd",
    b"http://127.0.0.1/explorer.js",
    b"*",
    b"",
    b"/\xff\xfe",
    b"/\x00",
    b"/%",
    b"/" + b"../" * 20_000,
    b"/<script>alert(1)</script>",
]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: ascii(path[:40]))
def test_other_paths_lead_nowhere(server, path):
    status, headers, body = asked(server, path)
    assert 400 <= status < 500
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert re.fullmatch(rb"\d{3}: [\w /-]+\n", body)  # a sentence, and nothing of what was asked


@pytest.mark.parametrize(
    "method", b"POST PUT DELETE PATCH OPTIONS TRACE CONNECT PROPFIND get".split(), ids=bytes.decode
)
def test_other_methods_are_refused(server, method):
    status, headers, body = asked(server, b"/", method)
    assert (status, headers["Allow"], body) == (405, "GET, HEAD", b"405: only GET and HEAD are answered\n")


def test_names_of_this_machine_are_answered(server):
    for name in (b"127.0.0.1", b"localhost", b"[::1]"):
        assert asked(server, host=b"%s:%d" % (name, server.port))[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example:%d",
        b"127.0.0.1",
        b"localhost:1",
        b"127.0.0.1.evil.example:%d",
        b"127.0.0.1:%d.evil",
        b"",
        b"0.0.0.0:%d",
    ],
)
def test_who_calls_by_another_name_gets_nothing(server, host):
    """A page of elsewhere reaches 127.0.0.1 by a name that it controls; the name tells it apart."""
    status, _, body = asked(server, host=host % server.port if b"%d" in host else host)
    assert (status, body) == (421, b"421: not a name of this machine\n")


@pytest.mark.parametrize("hosts", [[], [b"127.0.0.1:%d", b"evil.example"]], ids=["none", "two"])
def test_who_calls_by_no_name_or_by_two_gets_nothing(server, hosts):
    lines = b"".join(b"Host: %s\r\n" % host.replace(b"%d", b"%d" % server.port) for host in hosts)
    assert said(server, b"GET / HTTP/1.1\r\n%s\r\n" % lines).startswith(b"HTTP/1.0 421 ")


@given(st.binary(max_size=300))
def test_whatever_is_sent_the_server_goes_on(server, data):
    answer = said(server, data)
    assert answer == b"" or b"text/plain" in answer
    assert asked(server)[0] == 200


NO_DISK = """
import sys, socket
from threading import Thread
from tilewise.pictures.server import Server
server = Server(0)
Thread(target=server.serve_forever, daemon=True).start()
def ask(path):
    with socket.create_connection(("127.0.0.1", server.port)) as c:
        c.sendall(b"GET %s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (path, server.port))
        while c.recv(65536): pass
ask(b"/explorer.js")
touched = []
disk = ("open", "os.listdir", "os.scandir")
sys.addaudithook(lambda event, values: event in disk and touched.append(values))
for path in (b"/", b"/explorer.js", b"/../server.py", b"/%2e%2e/server.py", b"/etc/passwd"): ask(path)
sys.exit(f"a request reached the disk: {touched}" if touched else 0)
"""


def test_no_request_reaches_the_disk():
    done = subprocess.run([sys.executable, "-c", NO_DISK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# -- texts that are converted ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def converting() -> Iterator[Server]:
    with Server(0, convert=lambda question: {"layout": f"of {question.get('text')}"}) as started:
        Thread(target=started.serve_forever, args=(0.01,), daemon=True).start()
        yield started
        started.shutdown()


def posted(server: Server, body: bytes = b'{"text": "x"}', path: str = "/convert", **changed: str) -> bytes:
    """All that comes back of a question as the page asks it, but for the headers that are changed."""
    own = f"127.0.0.1:{server.port}"
    headers = {
        "Host": own,
        "Origin": f"http://{own}",
        "X-Tilewise-Token": server.token,
        "Content-Length": str(len(body)),
    } | {name.replace("_", "-"): value for name, value in changed.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
    return said(server, f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)


def test_the_page_has_its_text_converted(converting):
    answer = posted(converting)
    assert answer.startswith(b"HTTP/1.0 200 ")
    assert answer.endswith(b'{"layout": "of x"}')
    assert b"Content-Type: application/json" in answer


@pytest.mark.parametrize(
    ("status", "changed"),
    [
        (403, {"X_Tilewise_Token": ""}),
        (403, {"X_Tilewise_Token": "guessed"}),
        (403, {"Origin": ""}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "null"}),
        (421, {"Host": "evil.example"}),
        (413, {"Content_Length": ""}),
        (413, {"Content_Length": "65537"}),
        (413, {"Content_Length": "-1"}),
        (413, {"Content_Length": "9" * 5_000}),
        (405, {"path": "/"}),
        (405, {"path": "/convert/.."}),
        (400, {"body": b"no JSON"}),
        (400, {"body": b"[" * 60_000}),
        (400, {"body": b"[1]"}),
    ],
    ids=str,
)
def test_a_question_of_another_page_or_of_another_form_is_refused(converting, status, changed):
    assert posted(converting, **changed).startswith(b"HTTP/1.0 %d " % status)


def test_a_server_that_converts_lets_its_page_connect_to_itself_alone(converting):
    status, headers, body = asked(converting)
    assert status == 200
    assert "default-src 'none'; connect-src 'self'; script-src 'self'" in headers["Content-Security-Policy"]
    assert f'<meta name="tilewise-token" content="{converting.token}">'.encode() in body
    assert b"connect-src 'self'" in body
    assert headers["Content-Security-Policy"].replace(" connect-src 'self';", "") == POLICY


def test_tokens_of_two_servers_differ(converting):
    with Server(0, convert=dict) as other:
        assert other.token != converting.token


# -- many at once, and where it listens ------------------------------------------------------------


def test_many_are_answered_at_once_and_none_waits_for_one_that_is_silent(server):
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: asked(server, b"/explorer.js"), range(100)))
    assert {(status, len(body)) for status, _, body in answers} == {(200, 100_000)}
    for connection in silent:
        connection.close()


def test_it_listens_on_loopback_alone(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


def test_a_port_that_is_taken(server):
    with pytest.raises(OSError, match="in use"):
        Server(server.port, PAGES)
    with Server(None, PAGES) as first, Server(None, PAGES) as second:
        assert PORT <= first.port < second.port


# -- the address -----------------------------------------------------------------------------------


@given(st.text(min_size=1))
def test_the_fragment_says_the_expression(text):
    said = fragment(text)
    assert re.fullmatch(r"#1&e=[\w%~{}\[\]().,:;=@+*/!?$'-]*", said, re.ASCII)
    spoken = said.removeprefix("#1&e=").replace("~", " ").replace("{", "<").replace("}", ">")
    assert unquote(spoken) == text.encode(errors="replace").decode()
