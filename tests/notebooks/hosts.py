"""JupyterLab and marimo on loopback, as a reader starts them but with no settings; ended by their ids."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

SOURCES = Path(__file__).parents[2] / "src"
PATIENCE = 120.0
"""Seconds until a host that does not answer is given up: the first start of either compiles much."""

ANNOUNCEMENTS = "@jupyterlab/apputils-extension:announcements"
"""The extension that asks for news and later versions, and for leave to do so."""


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


@contextmanager
def jupyterlab(folder: Path, cells: list[str]) -> Iterator[str]:
    """The address of a notebook of some cells; `jupyterapp` of its page is JupyterLab."""
    pages = folder / "pages"
    pages.mkdir()
    (pages / "widget.ipynb").write_text(json.dumps(_notebook(cells)), encoding="utf-8")
    settings = folder / ".settings" / "JUPYTER_CONFIG_DIR" / "labconfig" / "page_config.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"disabledExtensions": {ANNOUNCEMENTS: True}}), encoding="utf-8")
    port = _free_port()
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
        f"--ServerApp.root_dir={pages}",
        "--LabApp.expose_app_in_browser=True",
    ]
    with _started(["jupyterlab", *options], folder, f"http://127.0.0.1:{port}/api"):
        yield f"http://127.0.0.1:{port}/lab/tree/widget.ipynb"


@contextmanager
def marimo(folder: Path, app: str) -> Iterator[str]:
    """The address of an app, whose cells run when the page is opened."""
    path = folder / "widget.py"
    path.write_text(app, encoding="utf-8")
    port = _free_port()
    options = ["run", str(path), "--headless", "--no-token", "--host=127.0.0.1", f"--port={port}"]
    with _started(["marimo", *options], folder, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/"


def _notebook(cells: list[str]) -> dict[str, object]:
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel},
        "cells": [code | {"id": f"cell-{at}", "source": source} for at, source in enumerate(cells)],
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _started(words: list[str], folder: Path, health: str) -> Iterator[None]:
    """A module of Python as a process of its own, from its first answer on; its kernels end with it."""
    own = {
        name: str(folder / ".settings" / name)
        for name in (
            "HOME",
            "IPYTHONDIR",
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "XDG_STATE_HOME",
        )
    }
    for path in own.values():
        Path(path).mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=folder,
            env=os.environ | own | {"PYTHONPATH": str(SOURCES)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        _wait(process, health, log)
        yield
    finally:
        _end(process)


def _wait(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            with urlopen(health, timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise RuntimeError(f"{process.args} does not answer:\n{log.read_text(errors='replace')[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and those that it started, kindly or not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(15)
