"""The live page of a world: a thread that serves it while no step does."""
from __future__ import annotations

import atexit
import html
import os
import pathlib
import sys
import tempfile
import threading
import traceback
import weakref
import webbrowser
from typing import Any

from ._karakuri import World

_PERIOD = 0.05  # s between two looks while nobody steps
_PORT = 8137  # the first that is tried, unless one is given
_doors: weakref.WeakKeyDictionary[World, tempfile.TemporaryDirectory[str]] = weakref.WeakKeyDictionary()
_stops: weakref.WeakKeyDictionary[World, threading.Event] = weakref.WeakKeyDictionary()  # of the threads that serve


class Page:
    """The live page of a world: World.show(). It is there until close(), and keeps its world."""

    def __init__(self, world: World, url: str) -> None:
        self._world = world
        self._url = url

    @property
    def url(self) -> str:
        """Its address, with the token that lets a browser in."""
        return self._url

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._world._page_url() != self._url

    def close(self) -> None:
        """Ends it. Steps that wait because somebody has paused them go on."""
        if not self.closed:
            _end(self._world, float("inf"))

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *args: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<karakuri.Page {'closed' if self.closed else self._url}>"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        return f'<iframe src="{self._url}" width="100%" height="600" style="border: 0" allow="fullscreen"></iframe>'


def _serve(world: weakref.ref[World], stop: threading.Event) -> None:
    while not stop.wait(_PERIOD):
        shown = world()
        if shown is None:
            return
        try:
            if not shown._serve():
                return
        except Exception:  # of a button's function: told, and the page goes on
            traceback.print_exc()
        del shown


def _end(world: World, seconds: float) -> None:
    door = _doors.pop(world, None)
    if door is not None:
        door.cleanup()
    stop = _stops.pop(world, None)
    if stop is not None:
        stop.set()
    world._close_page(seconds)


def _end_all() -> None:
    for world in list(_stops):
        _end(world, 1.0)


atexit.register(_end_all)


def _folder() -> pathlib.Path:
    """Of the page's files: KARAKURI_PAGE, in the installed package, or where the launcher builds it."""
    here = pathlib.Path(__file__).resolve().parent
    candidates = [here / "share/karakuri/page", here.parents[2] / "build/page"]
    if "KARAKURI_PAGE" in os.environ:
        candidates = [pathlib.Path(os.environ["KARAKURI_PAGE"])]
    for folder in candidates:
        if (folder / "index.html").is_file():
            return folder
    raise FileNotFoundError(
        f"the live page is not built: {candidates[-1]} has no index.html. ./karakuri builds it where npm is installed "
        "(apt-get install npm); KARAKURI_PAGE names another folder"
    )


def _open_browser(world: World, url: str) -> None:
    """Through a file that only this user can read: all users of a machine see what stands in command lines."""
    folder = _doors[world] = tempfile.TemporaryDirectory(prefix="karakuri-", ignore_cleanup_errors=True)
    file = pathlib.Path(folder.name) / "karakuri.html"
    address = html.escape(url)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(
            '<!doctype html><meta charset="utf-8"><title>karakuri</title>'
            f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">karakuri</a>\n'
        )
    webbrowser.open(file.as_uri())


def _has_screen() -> bool:
    """And no notebook, which shows the page itself."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and "ipykernel" not in sys.modules


def show(
    self: World,
    *,
    port: int | None = None,
    open_browser: bool | None = None,
    real_time: bool = True,
    listen: str = "127.0.0.1",
) -> Page:
    """Shows the world on a live page, which is served beside the script until it is closed.

    port: where; 0 is any free one, None the first free one from 8137 on. open_browser: None opens one where there is a screen.
    real_time: while somebody looks, steps are held to the page's clock; otherwise they go as fast as they can.
    listen: the IP address to listen at. In a notebook the page appears below the cell.
    """
    url = self._page_url()
    if url:
        if port not in (None, 0) and f":{port}/" not in url:
            raise ValueError(f"port={port}: this world is shown at {url}; close() that page first")
        return Page(self, url)
    url = self._show(_folder(), listen, _PORT if port is None else port, real_time)
    stop = _stops[self] = threading.Event()
    threading.Thread(target=_serve, args=(weakref.ref(self), stop), name="karakuri page", daemon=True).start()
    if _has_screen() if open_browser is None else open_browser:
        _open_browser(self, url)
    return Page(self, url)
