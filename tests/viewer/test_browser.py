"""The viewer and its replays in a real browser."""

from __future__ import annotations

import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scenes import read_state
from viewer.browser import close_notice, missing, opened, place_of

from dovetail import Sim
from dovetail.viewer import Viewer, replay

pytest.importorskip("viser", reason="viser is missing; pip install 'dovetail[viewer]'")
pytestmark = [
    pytest.mark.long,
    pytest.mark.browser,
    pytest.mark.skipif(bool(missing()), reason=missing() or "a browser is there"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from opened(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def page(browser):
    page = browser.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    page.close()
    assert not wrong


def settled(page, colour, near=None, away=0.0):
    """The place of a colour once it is `away` pixels from `near`, or after half a minute."""
    for _ in range(60):
        place = place_of(page, colour)
        if near is None or np.linalg.norm(place - near) >= away:
            break
        page.wait_for_timeout(500)
    return place


def height_of(world, body):
    return read_state(world)[0][body, 2, 3]


def test_a_world_is_seen_to_run_and_a_slider_a_click_and_a_pull_take_part_in_it(running, page):
    hinge = next(iter(running.scene.objects.find("hinge")[0].geometries)).geometry.edges
    with Viewer(running, playing=False) as viewer:
        viewer.start()
        page.goto(viewer.url)
        close_notice(page)
        page.get_by_role("button", name="Play").wait_for()
        before = settled(page, "blue")
        page.get_by_role("button", name="Play").click()
        # the boxes fall by 0.15 m, a good part of the picture
        fallen = settled(page, "blue", before, 8.0)
        assert fallen[1] > before[1] + 8

        level = settled(page, "green")
        page.get_by_role("tab", name="Joints").click()
        row = page.locator("div.mantine-Flex-root", has=page.get_by_text("aim angle [rad]")).last
        # to its lower end, the lower limit of the hinge; a key that a page still being laid out gets is lost
        for _ in range(20):
            row.get_by_role("slider").press("Home")
            page.wait_for_timeout(500)
            if hinge["aim_angle"][0] == -1.0:
                break
        raised = settled(page, "green", level, 10.0)
        assert hinge["aim_angle"][0] == -1.0
        assert raised[1] < level[1] - 10  # up, in pixels

        page.get_by_role("tab", name="Bodies").click()
        x, y = settled(page, "blue")
        page.mouse.click(x, y)
        page.locator("strong", has_text="boxes[0]").wait_for()

        page.keyboard.down("Control")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 40, y - 60, steps=4)
        height = [height_of(running, 5)]
        while height[-1] < 0.15 and len(height) < 100:  # it lay on the ground, its centre 0.05 m above it
            page.wait_for_timeout(100)
            height.append(height_of(running, 5))
        page.mouse.up()
        page.keyboard.up("Control")
        assert height[-1] >= 0.15


def test_on_a_phone_everything_is_above_the_panel_nothing_runs_before_and_a_finger_pulls(running, browser, page):
    with Viewer(running, title="my <b>machine</b>") as viewer:
        viewer.start()
        time.sleep(0.5)
        assert running.frame() == 0  # nobody looks
        finger = browser.new_cdp_session(page)
        finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        page.goto(viewer.url)
        close_notice(page)
        page.set_viewport_size({"width": 390, "height": 844})  # it was held across
        assert page.title() == "my <b>machine</b>"
        page.get_by_label("Drag to pull").check()
        page.wait_for_timeout(1500)  # the boxes land, and are seen to
        assert running.frame() > 0
        # bodies at the right and at the left of the machine; the panel begins at half the height
        (x, y), _ = (place_of(page, colour, upper_part=0.5) for colour in ("blue", "green"))
        for k in range(9):
            at = [{"x": x - 4 * k, "y": y - 10 * k}]
            finger.send("Input.dispatchTouchEvent", {"type": "touchMove" if k else "touchStart", "touchPoints": at})
            page.wait_for_timeout(50)
        highest = 0.0
        for _ in range(100):
            highest = max(highest, height_of(running, 5))
            if highest > 0.15:
                break
            page.wait_for_timeout(100)
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert highest > 0.15  # it lay on the ground, its centre 0.05 m above it


def test_a_replay_opens_from_a_file_without_a_network_and_its_timeline_moves_it(recorded, browser, page, tmp_path):
    path = replay(recorded, tmp_path / "machine.html")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    browser.set_offline(True)
    try:
        page.goto(path.as_uri())
        close_notice(page)
        assert page.title() == "machine · dovetail"
        time = page.locator("input").first
        time.fill("0")
        time.press("Enter")
        start = settled(page, "green")
        time.fill("0.6")
        time.press("Enter")
        end = settled(page, "green", start, 10.0)
    finally:
        browser.set_offline(False)
    # the arm is raised by 1.2 rad
    assert end[1] < start[1] - 10
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


HOSTILE = (
    "<img src='http://127.0.0.1:9/body' onerror='window.hit = 1'>",
    '<iframe srcDoc="<script>top.hit = 2</script>"></iframe>',
)


def hostile(path=None):
    """A simulation, or the recording of it, in which a body and a joint are called what a page must not obey."""
    sim = Sim(contact=False)
    body = sim.box(0.2, name=HOSTILE[0])
    sim.revolute(None, body, (0, 0, 0.1), (0, 1, 0), name=HOSTILE[1], drive=True)
    if path is None:
        return sim.world
    with sim.record(path):
        sim.step(3)
    return path


@pytest.mark.parametrize("kind", ["live", "recording"])
def test_names_are_shown_as_they_are_and_never_obeyed(kind, page, tmp_path):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    with Viewer(hostile(None if kind == "live" else tmp_path / "hostile.dove"), playing=False) as viewer:
        viewer.start()
        page.goto(viewer.url)
        close_notice(page)
        if kind == "live":
            page.get_by_role("tab", name="Joints").click()
            page.get_by_text(HOSTILE[1]).first.wait_for()
        page.get_by_role("tab", name="Plots").click()
        page.locator(".u-title", has_text=HOSTILE[1]).first.wait_for()
        page.get_by_role("tab", name="Bodies").click()
        viewer.post(lambda: (viewer._body_panel.choose(0), viewer.refresh()))
        page.locator("strong", has_text=HOSTILE[0]).wait_for()
        assert page.evaluate("window.hit") is None
        assert page.locator("iframe").count() == 0
    assert not [url for url in asked if "127.0.0.1:9/" in url]


def test_a_hostile_name_does_nothing_in_a_replay(page, tmp_path):
    path = replay(hostile(tmp_path / "hostile.dove"), tmp_path / "<img src=x onerror=alert(1)>.html".replace("/", ""))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    close_notice(page)
    page.wait_for_timeout(1000)
    assert page.evaluate("window.hit") is None
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
def other_site(tmp_path):
    """The address of another server, whose pages have an origin of their own."""
    (tmp_path / "index.html").write_text("<p>another site</p>", encoding="utf-8")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_of_another_site_cannot_reach_the_viewer(running, page, other_site):
    """It has its own origin, and a browser tells so."""
    import viser

    with Viewer(running, playing=False) as viewer:
        viewer.start()
        page.goto(viewer.url)
        close_notice(page)
        reach = """([url, version]) => new Promise((done) => {
            const socket = new WebSocket(url, "viser-v" + version);
            socket.onopen = () => done("open");
            socket.onerror = () => done("refused");
        })"""
        address = [viewer.url.replace("http", "ws"), viser.__version__]
        assert page.evaluate(reach, address) == "open"
        page.goto(other_site)
        assert page.evaluate(reach, address) == "refused"
