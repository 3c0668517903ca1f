"""Waiting without sleep: for a word that another thread changes, and not for ever."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from dovetail.kernel.kernel import jit_enabled
from dovetail.kernel.spin import WORDS, wait_while

LONG = 10**9  # [ns]


def test_a_word_that_has_changed_is_not_waited_for_and_another_is_cleared():
    words = np.array([3, 1, 0, 0])
    assert wait_while(words, 1, 0, 2, LONG, 0)
    assert words[:2].tolist() == [3, 0]


def test_a_word_that_nobody_changes_is_waited_for_a_while():
    words = np.zeros(WORDS, np.int64)
    begin = time.monotonic()
    assert not wait_while(words, -1, 0, 0, 10**5, 0)
    assert time.monotonic() - begin < 1.0


@pytest.mark.skipif(not jit_enabled, reason="plain Python does not wait")
def test_python_goes_on_meanwhile_and_ends_the_wait():
    """A thread that waits with Python's lock would let nobody write the word."""
    words, found = np.zeros(WORDS, np.int64), []

    def wait() -> None:
        while not wait_while(words, -1, 0, 0, 10**7, 0):  # it gives up where others have the processor
            pass
        found.append(int(words[0]))

    wait_while(words, -1, 0, 1, 0, 0)  # compiled
    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.02)
    words[0] = 7
    waiting.join(10.0)
    assert found == [7]
