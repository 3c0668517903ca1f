"""Who may talk to the viewer: pages that it served itself, under a name that is this machine's.

A browser sends along which page a connection comes from (Origin) and under which name it looked for the server (Host).
A page of another site has another Origin. A site whose name was made to point to this machine has its own name as
Host. Both are turned away; programs that are no browsers send no Origin.
"""

from __future__ import annotations

import contextlib
import http
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["guarded", "refusal"]

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(\[(?P<number>[0-9A-Fa-f:.]+)\]|(?P<name>[\w.-]+))(:[0-9]{1,5})?", re.ASCII)
"""A name or a number, and a port: no user, no path."""
_one_at_a_time = threading.Lock()


def refusal(listens_at: str, hosts: list[str], origins: list[str]) -> str:
    """Why a request with these headers is refused by a server that listens at a host; nothing if it is served."""
    if len(hosts) != 1 or not _is_ours(listens_at, hosts[0]):
        return "this viewer does not go by that name"
    if any(origin.lower() not in (f"http://{hosts[0]}".lower(), f"https://{hosts[0]}".lower()) for origin in origins):
        return "this viewer does not talk to pages of others"
    return ""


def _is_ours(listens_at: str, host: str) -> bool:
    parts = _HOST.fullmatch(host)
    if parts is None:
        return False
    name = (parts["number"] or parts["name"]).lower()
    if name in _LOCAL_NAMES:
        return True
    if listens_at in _LOCAL_NAMES:
        return False
    own = socket.gethostname().lower()
    return name in (listens_at.lower(), own, f"{own}.local") or _is_address(name)


def _is_address(name: str) -> bool:
    """Whether it is a number; only names can be made to point elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def guarded(listens_at: str, touch_up: Callable[[Any], None]) -> Iterator[Callable[[], bool]]:
    """While it lasts, servers that viser starts refuse such requests for good; tells whether one has been started.

    Files that are served are handed to `touch_up` first.

    viser has no setting for it: the function of `websockets` that it starts its server with is replaced, for viser
    alone and as long as it takes.
    """
    from viser.infra import _infra as viser_infra
    from websockets.asyncio import server

    started = []

    def serve(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        def checked(connection: Any, request: Any) -> Any:
            reason = refusal(listens_at, request.headers.get_all("Host"), request.headers.get_all("Origin"))
            if reason:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{reason}\n")
            answer = None if process_request is None else process_request(connection, request)
            if answer is not None and answer.status_code == http.HTTPStatus.OK:
                touch_up(answer)
            return answer

        started.append(True)
        return server.serve(*arguments, process_request=checked, **options)

    _infra: Any = viser_infra
    websockets = _infra.websockets
    part = _Beside(websockets.asyncio, server=_Beside(websockets.asyncio.server, serve=serve))
    with _one_at_a_time:
        _infra.websockets = _Beside(websockets, asyncio=part)
        try:
            yield lambda: bool(started)
        finally:
            _infra.websockets = websockets


class _Beside:
    """A module with some of its names replaced."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        self.__dict__.update(replaced)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
