"""Recordings as HTML files."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dovetail.errors import ViewerError
from dovetail.io import Recorder, Recording
from dovetail.viewer import replay
from dovetail.viewer.replay import _kept

pytest.importorskip("viser", reason="viser is missing; pip install 'dovetail[viewer]'")


def test_a_replay_is_one_small_file_that_asks_the_network_for_nothing(recorded, tmp_path):
    path = replay(recorded, tmp_path / "machine.html")
    page = path.read_text(encoding="utf-8")
    assert "<title>machine · dovetail</title>" in page and "__VISER_EMBED_DATA__" in page
    # nothing but the file itself: no script, style sheet or picture from elsewhere
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=.?(?:https?:)?//", page)
    assert path.stat().st_size < 1_500_000
    assert [p.name for p in tmp_path.iterdir()] == ["machine.html"]


def test_an_existing_file_is_kept_unless_it_may_be_overwritten(recorded, tmp_path):
    path = tmp_path / "machine.html"
    path.write_text("mine")
    with pytest.raises(ViewerError, match=r"machine\.html' exists already; choose another name"):
        replay(recorded, path)
    assert path.read_text() == "mine"
    with Recording(recorded) as recording:
        assert replay(recording, path, overwrite=True) == path
    assert path.stat().st_size > 100_000


@pytest.mark.parametrize("options", [{"fps": 0.0}, {"speed": -1.0}, {"fps": float("nan")}])
def test_a_speed_that_makes_no_sense_is_refused(recorded, tmp_path, options):
    with pytest.raises(ViewerError, match="give numbers above 0"):
        replay(recorded, tmp_path / "machine.html", **options)


def test_a_recording_without_frames_and_a_folder_that_is_not_there_are_refused(running, recorded, tmp_path):
    Recorder(tmp_path / "empty.dove", running).close()
    with pytest.raises(ViewerError, match="has no frames"):
        replay(tmp_path / "empty.dove", tmp_path / "empty.html")
    with pytest.raises(ViewerError, match="the folder does not exist"):
        replay(recorded, tmp_path / "nowhere" / "machine.html")


def test_frames_are_thinned_to_the_rate_and_the_first_is_kept():
    times = np.arange(101) * 0.01
    np.testing.assert_array_equal(_kept(times, 0.02), np.arange(0, 101, 2))
    np.testing.assert_array_equal(_kept(times, 0.005), np.arange(101))
    np.testing.assert_array_equal(_kept(np.array([3.0]), 0.02), [0])
