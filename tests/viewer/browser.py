"""A real browser for tests: Debian's chromium, or the one that Playwright installs, without a screen."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["close_notice", "missing", "opened", "place_of"]

_ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """What has to be installed before these tests can run; '' if nothing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "playwright is missing; pip install playwright"
    if any(map(shutil.which, _NAMES)):
        return ""
    with sync_playwright() as play:
        if Path(play.chromium.executable_path).exists():
            return ""
    return "no browser; apt install chromium, or python -m playwright install chromium"


def opened(profile: Path, width: int = 860, height: int = 440) -> Iterator[Any]:
    """A browser with an empty profile and a window of this size."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, _NAMES)), None)
    with sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile, executable_path=found, headless=True, args=_ARGUMENTS, viewport={"width": width, "height": height}
        )
        context.set_default_timeout(60_000)  # without a graphics card, and other tests beside it
        yield context
        context.close()


def close_notice(page: Any) -> None:
    """Wait for the page to be ready: it then says that it draws without a graphics card, which we know."""
    page.locator(".mantine-Notification-closeButton").first.click()


def place_of(page: Any, colour: str, upper_part: float = 1.0) -> np.ndarray:
    """Where the middle of everything "green" or "blue" is in the upper part of the picture, (x, y) in pixels.

    A page that is still being drawn is waited for, half a minute at most.
    """
    for _ in range(60):
        box = page.locator("canvas").first.bounding_box()
        box["height"] *= upper_part
        places = _places(page.screenshot(clip=box), colour)
        if len(places) > 30:
            return places.mean(axis=0) + np.array([box["x"], box["y"]])
        page.wait_for_timeout(500)
    raise AssertionError(f"nothing {colour} is to be seen")


def _places(png: bytes, colour: str) -> np.ndarray:
    """Where a picture has the colour, (n, 2) in pixels."""
    import imageio.v3 as imageio

    shot = imageio.imread(io.BytesIO(png))[..., :3] / 255
    one, others = {"green": (1, (0, 2)), "blue": (2, (0, 1))}[colour]
    strong = (shot[..., one] > 0.35) & (shot[..., others].max(axis=-1) < 0.6 * shot[..., one])
    return np.argwhere(strong)[:, ::-1]
