"""The web server that a browser talks to: viser's, started quietly and for this machine only."""

from __future__ import annotations

import contextlib
import gzip
import html
import io
import os
import sys
from typing import TYPE_CHECKING, Any

from dovetail.checked import shown, whole
from dovetail.errors import MissingExtra, ViewerError
from dovetail.viewer.guard import guarded
from dovetail.viewer.text import as_label

if TYPE_CHECKING:
    import viser

__all__ = ["LOCAL", "PORT", "close_server", "has_screen", "open_server", "with_title"]

LOCAL = "127.0.0.1"
PORT = 8080
"""Tried first; the next free one is taken where it is in use."""


def open_server(host: str = LOCAL, port: int = PORT, title: str = "dovetail") -> viser.ViserServer:
    """A server that listens at `host`, by default to this machine alone, at `port` or the next free one.

    The page and its panel have a title.

    It does not offer to share the scene over the internet, as viser's own page would, and refuses pages of other sites
    (guard.py).
    """
    try:
        import viser
    except ImportError:
        raise MissingExtra("viewer: the package viser is missing; pip install 'dovetail[viewer]'.") from None
    if whole(port) is None or not 0 <= port < 65536:
        raise ViewerError(f"viewer: port = {shown(port)}; give a whole number from 0 to 65535.")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), guarded(host, lambda answer: _titled(answer, title)) as is_guarded:
            server = viser.ViserServer(host, port, label=as_label(title), verbose=False)
    except OSError as error:
        raise ViewerError(
            f"viewer: cannot listen at {host}, port {port} ({error}); give another host or port."
        ) from None
    if not is_guarded():
        close_server(server)
        raise ViewerError(
            f"viewer: viser {viser.__version__} starts its server in a way that cannot be guarded against pages of "
            "other sites; pip install 'viser>=1.1,<1.2'."
        )
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
    return server


def _titled(answer: Any, title: str) -> None:
    """Give a page of viser's a title of ours; other files stay as they are."""
    if not answer.headers.get("Content-Type", "").startswith("text/html"):
        return
    packed = answer.headers.get("Content-Encoding") == "gzip"
    page = gzip.decompress(answer.body) if packed else answer.body
    page = with_title(page.decode("utf-8"), title).encode("utf-8")
    answer.body = gzip.compress(page, 1) if packed else page
    del answer.headers["Content-Length"]
    answer.headers["Content-Length"] = str(len(answer.body))


def with_title(page: str, title: str) -> str:
    """A page of viser's with a title of ours."""
    return page.replace("<title>Viser</title>", f"<title>{html.escape(as_label(title))}</title>", 1)


def has_screen() -> bool:
    """Whether a browser can show up; elsewhere `webbrowser` may start a text browser that takes over the terminal."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def close_server(server: viser.ViserServer) -> None:
    """Stop listening, without a word."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()
