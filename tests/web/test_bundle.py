"""The bundle that the package has: what the sources build to, small, and with no text taken for code.

Each script of `web/package.json` that calls esbuild builds one bundle; there is no other list of them.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
TOOLS = WEB / "node_modules" / ".bin"
PACKAGE = json.loads((WEB / "package.json").read_text())
MOST_BYTES = {"explorer": 61_000, "hardware": 20_000, "golden": 60_000}


@dataclass(frozen=True)
class Bundle:
    """A file that a script of the package builds, and its command."""

    script: str
    words: tuple[str, ...]
    built: Path

    @classmethod
    def of(cls, script: str, command: str) -> Bundle:
        words = shlex.split(command)[1:]
        [out] = [word for word in words if word.startswith("--outfile=")]
        words.remove(out)
        return cls(script, tuple(words), (WEB / out.partition("=")[2]).resolve())


BUNDLES = [
    Bundle.of(script, command)
    for script, command in PACKAGE["scripts"].items()
    if command.startswith("esbuild ")
]
each_bundle = pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.script)


def esbuild() -> str:
    """The esbuild that the package names, or a skip: another version writes other bytes."""
    wanted, seen = PACKAGE["devDependencies"]["esbuild"], []
    for path in filter(None, (shutil.which("esbuild"), shutil.which("esbuild", path=str(TOOLS)))):
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        seen.append(asked.stdout.strip())
        if seen[-1] == wanted:
            return path
    pytest.skip(f"esbuild {wanted} is not installed" + (f", but {', '.join(seen)}" if seen else ""))


# -- what is built ---------------------------------------------------------------------------------


@each_bundle
def test_the_bundle_is_what_the_sources_build_to(bundle: Bundle, tmp_path: Path):
    again = tmp_path / bundle.built.name
    subprocess.run([esbuild(), *bundle.words, "--log-level=error", f"--outfile={again}"], cwd=WEB, check=True)
    same = again.read_bytes() == bundle.built.read_bytes()  # the texts are too long to be shown
    assert same, f"{bundle.built.relative_to(ROOT)} is not of these sources: make web"


@each_bundle
def test_another_source_is_noticed(bundle: Bundle, tmp_path: Path):
    shutil.copytree(WEB / "src", tmp_path / "src")
    with (tmp_path / bundle.words[0]).open("a") as entry:
        entry.write("\nexport const planted = 1;\n")
    again = tmp_path / bundle.built.name
    subprocess.run(
        [esbuild(), *bundle.words, "--log-level=error", f"--outfile={again}"], cwd=tmp_path, check=True
    )
    assert again.read_bytes() != bundle.built.read_bytes()


@pytest.mark.slow
def test_types():
    tsc, node = shutil.which("tsc", path=str(TOOLS)), shutil.which("node")
    if tsc is None or node is None:
        pytest.skip("TypeScript is not installed: make web, which takes Node")
    checked = subprocess.run([tsc, "--noEmit"], cwd=WEB, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


@each_bundle
def test_the_bundle_is_small(bundle: Bundle):
    assert len(gzip.compress(bundle.built.read_bytes(), 9)) < MOST_BYTES[bundle.script]


# -- what is in it ---------------------------------------------------------------------------------

FORBIDDEN = {
    "text as code": r"\beval\b|\bFunction\s*\(|set(?:Timeout|Interval)\s*\(\s*[\"'`]|javascript:|"
    r"\bimport\s*\(",
    "text as markup": r"\b(?:inner|outer)HTML\b|insertAdjacentHTML|document\.write|\bsrcdoc\b|DOMParser|"
    r"createContextualFragment|setHTML|parseHTML",
    "the network": r"\bfetch\s*\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|RTCPeer|serviceWorker|"
    r"https?://(?!www\.w3\.org/)",
    "what stays behind": r"localStorage|sessionStorage|indexedDB|document\.cookie",
}


def forbidden(text: str) -> Iterator[str]:
    """Yield each thing in a source that no source of the page may have, with its line."""
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in FORBIDDEN.items():
            if found := re.search(pattern, line):
                yield f"{number}: {what}: {found[0]}"


def test_the_sources_take_no_text_for_code_or_markup_and_call_nobody():
    sources = sorted([*WEB.glob("src/**/*.ts"), *WEB.glob("src/**/*.css")])
    assert len(sources) > 10
    found = {str(path.relative_to(WEB)): list(forbidden(path.read_text())) for path in sources}
    assert {path: lines for path, lines in found.items() if lines} == {}


@each_bundle
def test_neither_does_the_bundle(bundle: Bundle):
    assert list(forbidden(bundle.built.read_text())) == []


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "new Function('a', text)()",
        "setTimeout('run()', 1)",
        "element.innerHTML = text",
        "element.insertAdjacentHTML('beforeend', text)",
        "link.href = 'javascript:run()'",
        "await import(text)",
        "fetch(url)",
        "new Image().src = 'https://example.org/?' + text",
        "localStorage.setItem('e', text)",
    ],
)
def test_what_is_forbidden_is_noticed(line: str):
    assert list(forbidden(f"a;\n{line}\n"))


@pytest.mark.parametrize(
    "line",
    [
        "element.textContent = text",
        "const evaluated = evaluate(rule)",
        "setTimeout(run, 1)",
        "type Read = (text: string) => Function;",
        'createElementNS("http://www.w3.org/2000/svg", "svg")',
        'import { render } from "./view";',
    ],
)
def test_what_is_harmless_is_not(line: str):
    assert list(forbidden(line)) == []
