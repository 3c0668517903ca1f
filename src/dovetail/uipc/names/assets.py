"""The module `uipc.assets`: libuipc's collection of scenes on the net, which dovetail does not fetch."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail.errors import SceneError

__all__ = ["asset_path", "list_assets", "load"]


def _refuse(call: str) -> NoReturn:
    raise SceneError(
        f"uipc.assets.{call}: libuipc's assets are on the net and are not fetched; download what the script needs and "
        "read it with SimplicialComplexIO or SceneIO."
    )


def load(*given: Any, **named: Any) -> NoReturn:
    _refuse("load")


def asset_path(*given: Any, **named: Any) -> NoReturn:
    _refuse("asset_path")


def list_assets(*given: Any, **named: Any) -> NoReturn:
    _refuse("list_assets")
