"""Who the viewer talks to, and that names are text to it."""

from __future__ import annotations

import base64
import os
import socket
from itertools import pairwise

import pytest

from dovetail import Sim
from dovetail.errors import ViewerError
from dovetail.viewer import Viewer
from dovetail.viewer.guard import _Beside, refusal
from dovetail.viewer.text import as_label, as_text

viser = pytest.importorskip("viser", reason="viser is missing; pip install 'dovetail[viewer]'")

NAMES = [
    '<iframe srcDoc="<script>top.hit = 1</script>"/>',
    "<img src=http://127.0.0.1:9/x onerror='window.hit = 1'>",
    "![x](http://127.0.0.1:9/x)",
    "[x](javascript:window.hit=1)",
    "http://127.0.0.1:9/x",
    "{window.hit = 1}",
    "**bold** `code` | cell\n\n# title\n\n| a | b |",
    "\ud800\x00\x1b[31m",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_markdown_has_nothing_that_could_be_markup(name):
    text = as_text(name)
    assert not set(text) & set("<>{}[]()!*_`|\n\"'~=:/\\")
    assert text.encode() and as_label(name).encode()


def test_long_names_are_cut():
    assert as_label("x" * 100_000) == "x" * 79 + "…"
    assert as_label("x" * 80) == "x" * 80


def test_panels_of_bodies_with_hostile_names_have_no_markup():
    sim = Sim()
    bodies = [sim.box(0.1, pos=(k, 0, 0), name=f"{name} {k}") for k, name in enumerate(NAMES)]
    for k, (left, right) in enumerate(pairwise(bodies)):
        sim.revolute(left, right, (k + 0.5, 0, 0), (0, 1, 0), name=f"{NAMES[k]} joint", drive=True)
    with Viewer(sim.world, playing=False) as viewer:
        for number in range(len(NAMES)):
            viewer._body_panel.choose(number)
            viewer.refresh()
            told = viewer._body_panel._numbers.content
            assert not set(told) & set("<>{}[]()!`|"), told
        viewer.complaint = f"World.advance: body '{NAMES[1]}' is stuck"
        viewer.refresh()
        assert "<" not in viewer._run_panel._status.content


@pytest.mark.parametrize(
    ("listens_at", "host", "origins", "served"),
    [
        ("127.0.0.1", "127.0.0.1:8080", [], True),
        ("127.0.0.1", "localhost:8080", ["http://localhost:8080"], True),
        ("127.0.0.1", "LOCALHOST:9000", ["http://localhost:9000"], True),  # the other end of a tunnel
        ("127.0.0.1", "[::1]:8080", [], True),
        ("127.0.0.1", "127.0.0.1:8080", ["http://evil.example"], False),
        ("127.0.0.1", "127.0.0.1:8080", ["http://127.0.0.1:8081"], False),  # another server of this machine
        ("127.0.0.1", "127.0.0.1:8080", ["null"], False),
        ("127.0.0.1", "127.0.0.1:8080", ["http://127.0.0.1:8080", "http://evil.example"], False),
        ("127.0.0.1", "evil.example:8080", ["http://evil.example:8080"], False),
        ("127.0.0.1", "localhost.evil.example:8080", [], False),
        ("127.0.0.1", "192.168.1.7:8080", [], False),
        ("127.0.0.1", "[", [], False),
        ("127.0.0.1", "evil.example@127.0.0.1:8080", [], False),
        ("127.0.0.1", "127.0.0.1:8080/evil", [], False),
        ("127.0.0.1", "127.0.0.1:8080?evil", [], False),
        ("127.0.0.1", "127.0.0.1:8080#evil", [], False),
        ("127.0.0.1", "127.0.0.1:8080\n", [], False),
        ("127.0.0.1", "127.0.0.1:port", [], False),
        ("127.0.0.1", "localhost:٨٠", [], False),
        ("127.0.0.1", "[::1]evil.example", [], False),
        ("127.0.0.1", "localhost", [], True),
        ("127.0.0.1", "", [], False),
        ("0.0.0.0", "192.168.1.7:8080", ["http://192.168.1.7:8080"], True),
        ("0.0.0.0", f"{socket.gethostname()}:8080", [], True),
        ("0.0.0.0", "evil.example:8080", ["http://evil.example:8080"], False),
        ("viewer.example", "viewer.example:8080", ["http://viewer.example:8080"], True),
    ],
)
def test_pages_and_names_of_others_are_refused(listens_at, host, origins, served):
    assert (refusal(listens_at, [host], origins) == "") == served


def answer(port: int, *headers: str) -> str:
    """The first line that the viewer answers a request with."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall("\r\n".join(["GET / HTTP/1.1", *headers, "Connection: close", "", ""]).encode())
        return line.recv(200).decode(errors="replace").splitlines()[0]


def test_a_running_viewer_turns_foreign_pages_away(recorded):
    with Viewer(recorded, playing=False) as viewer:
        port = viewer._server.get_port()
        own = f"127.0.0.1:{port}"
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = (
            "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
            f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
        )  # fmt: skip

        def asked(host: str, origin: str | None) -> str:
            more = () if origin is None else (f"Origin: {origin}",)
            with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
                headers = ["GET / HTTP/1.1", f"Host: {host}", "Connection: Upgrade", *upgrade, *more, "", ""]
                line.sendall("\r\n".join(headers).encode())
                return line.recv(200).decode(errors="replace").split()[1]

        assert asked(own, f"http://{own}") == "101"
        assert asked(own, None) == "101"
        assert asked(own, "http://evil.example") == "403"
        assert asked(f"evil.example:{port}", f"http://evil.example:{port}") == "403"
        assert answer(port, f"Host: {own}").split()[1] == "200"
        assert answer(port, f"Host: evil.example:{port}").split()[1] == "403"
        assert answer(port, f"Host: {own}", "Host: evil.example").split()[1] in ("400", "403")


def test_a_viser_that_cannot_be_guarded_is_not_used(recorded, monkeypatch):
    # as if viser had another way to start its server
    monkeypatch.setattr(_Beside, "__init__", lambda self, module, **replaced: self.__dict__.update(_module=module))
    with pytest.raises(ViewerError, match="cannot be guarded against pages of other sites"):
        Viewer(recorded, playing=False)
