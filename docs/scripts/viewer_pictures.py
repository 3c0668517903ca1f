"""Takes the pictures of the replay of `make demo` and of the live viewer in docs/images, with a browser.

    python docs/scripts/viewer_pictures.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from viewer.browser import close_notice, opened  # noqa: E402

from dovetail.demo import Press  # noqa: E402
from dovetail.viewer import Viewer, replay  # noqa: E402

IMAGES = REPOSITORY / "docs" / "images"
FRAMES, SEEN = 640, 5.2  # frames to run, and the moment [s] that is shown


def keep(page: Any, name: str) -> None:
    """Save a picture of the page."""
    page.screenshot(path=IMAGES / name, type="jpeg", quality=86)
    print(name, (IMAGES / name).stat().st_size, "bytes")


def main() -> None:
    press = Press()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with press.sim.record(folder / "demo.dove", every=2):
            press.sim.step(FRAMES)
        path = replay(folder / "demo.dove", folder / "demo.html")
        for context in opened(folder / "profile", 960, 600):
            page = context.new_page()
            page.goto(path.as_uri())
            close_notice(page)
            time = page.locator("input").first
            time.fill(str(SEEN))
            time.press("Enter")
            page.wait_for_timeout(3000)
            page.mouse.move(480, 40)
            keep(page, "demo.jpg")
            with Viewer(press.sim.world, speed=0.3) as viewer:
                viewer.start()
                page.goto(viewer.url)
                close_notice(page)
                page.get_by_role("tab", name="Plots").click()
                page.wait_for_timeout(6000)
                viewer.playing = False
                page.wait_for_timeout(2000)
                keep(page, "viewer.jpg")


if __name__ == "__main__":
    main()
