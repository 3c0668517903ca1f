"""The messages that the page of troubles explains are those of the sources."""

from __future__ import annotations

import ast
import re

import pytest
from docs.pages import DOCS, REPOSITORY

PAGE = DOCS / "troubleshooting.md"
MESSAGES = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def _texts():
    """Every string of the sources; what is computed in an f-string is … in it."""
    for path in (REPOSITORY / "src" / "dovetail").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.fixture(scope="module")
def texts():
    return list(_texts())


def test_the_page_has_messages():
    assert len(MESSAGES) > 20


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_the_page_is_in_the_sources(message, texts):
    pattern = re.compile(".*".join(re.escape(part) for part in message.split("…")), re.DOTALL)
    assert any(pattern.search(text) for text in texts), f"no source says: {message}"
