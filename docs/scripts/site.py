"""Builds the documentation site: pages of docs/, a page per example, and a reference from the docstrings.

    python docs/scripts/site.py              # build/site/index.html
    python docs/scripts/site.py --replays    # the same, with a replay on the page of every example (minutes)

`stage` writes what zensical is to build to build/docs: links that lead out of docs/ are turned to where their target is
on the site. `broken_links` looks at the pages that came out.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

__all__ = ["REFERENCE", "REPOSITORY", "broken_links", "build", "stage"]

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
ELSEWHERE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}
"""Pages outside docs/, and where they are on the site."""
REFERENCE = {
    "dovetail.sim": "The short form",
    "dovetail.worlds": "Many worlds",
    "dovetail.core": "Scene, world, engine",
    "dovetail.constitution": "Constitutions",
    "dovetail.geometry": "Geometry",
    "dovetail.io": "Files and recordings",
    "dovetail.export": "Export",
    "dovetail.viewer": "Viewer",
    "dovetail.doctor": "Checks",
    "dovetail.extend": "Joints of your own",
    "dovetail.errors": "Errors",
}
"""Modules whose public names get a page each."""
FIRST = {"Sim", "Scene", "World", "Engine"}
"""Names that come before the others on their page."""


def place(source: Path) -> Path | None:
    """Where a file of the repository is on the site, relative to its root; None if it is not there."""
    if source.is_relative_to(DOCS):
        return source.relative_to(DOCS)
    name = source.relative_to(REPOSITORY).as_posix() if source.is_relative_to(REPOSITORY) else ""
    if name in ELSEWHERE:
        return Path(ELSEWHERE[name])
    if re.fullmatch(r"examples/\d\d_\w+\.py", name):
        return Path(name).with_suffix(".md")
    return None


def turned(text: str, source: Path, staged: Path) -> str:
    """The text of a page with its relative links as they must be on the site; what is not there loses its link."""

    def found(target: str) -> str | None:
        path, hash_, anchor = target.partition("#")
        if "://" in target or not path:
            return target
        there = place((source.parent / path).resolve())
        return there and f"{Path(os.path.relpath(there, staged.parent)).as_posix()}{hash_}{anchor}"

    def on_site(text: str) -> str:
        text = re.sub(r"\[([^][]*)\]\(([^)\s]+)\)", lambda link: link[0] if found(link[2]) else link[1], text)
        return re.sub(r"\]\(([^)\s]+)\)", lambda link: f"]({found(link[1])})", text)

    pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if piece.startswith("```") else on_site(piece) for piece in pieces)


def example_page(path: Path, title: str, replays: bool) -> str:
    """The page of an example: what it says of itself, its picture or replay, its text."""
    text = path.read_text(encoding="utf-8")
    head, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    picture = DOCS / "images" / "gallery" / f"{path.stem}.webp"
    lines = [f"# {title}", "", head, *rest.splitlines(), ""]
    if replays:
        lines += [f'<iframe src="../replays/{path.stem}.html" title="replay" width="100%" height="420"></iframe>', ""]
    elif picture.exists():
        lines += [f"![{head}](../images/gallery/{picture.name})", ""]
    lines += [f"`examples/{path.name}`", "", "```python", text.rstrip(), "```", ""]
    return "\n".join(lines)


def reference_page(module: str, title: str) -> str:
    """The page of a module: its public names with their docstrings."""
    found = importlib.import_module(module)
    about = (found.__doc__ or "").splitlines()[0]
    names = sorted(found.__all__, key=lambda name: name not in FIRST)
    return "\n".join([f"# {title}: `{module}`", "", about, "", *(f"::: {module}.{name}\n" for name in names)])


def _gallery() -> Any:
    """Examples by name, with their titles."""
    return runpy.run_path(str(DOCS / "scripts" / "gallery.py"))["GALLERY"]


def stage(target: Path, replays: bool = False) -> list[Path]:
    """Write the sources of the site to a folder, emptied before; returns its pages."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target, ignore=shutil.ignore_patterns("scripts", "*.md", "__pycache__"))
    pages = [*DOCS.rglob("*.md"), *(REPOSITORY / name for name in ELSEWHERE if name != "README.md")]
    written = {}
    for source in pages:
        staged = place(source)
        assert staged is not None
        written[staged] = turned(source.read_text(encoding="utf-8"), source, staged)
    for stem, shot in _gallery().items():
        page = example_page(REPOSITORY / "examples" / f"{stem}.py", shot.title, replays)
        written[Path("examples") / f"{stem}.md"] = page
    for module, title in REFERENCE.items():
        written[Path("api") / f"{module.removeprefix('dovetail.')}.md"] = reference_page(module, title)
    for staged, text in written.items():
        (target / staged).parent.mkdir(parents=True, exist_ok=True)
        (target / staged).write_text(text, encoding="utf-8")
    return sorted(target / staged for staged in written)


class _Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name == ("href" if tag == "a" else "src") and value:
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """Links of built pages that lead nowhere, as sentences."""
    pages = {page: _Page(page.read_text(encoding="utf-8")) for page in site.rglob("*.html") if page.name != "404.html"}
    found = []
    for page, parsed in pages.items():
        for link in parsed.links:
            path, _, anchor = unquote(link).partition("#")
            if re.match(r"\w+:|//", link) or link.startswith("__"):
                continue
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{page.relative_to(site)} links to {link}, which is not there")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{page.relative_to(site)} links to {link}, which has no such heading")
    return found


def build(replays: bool = False) -> int:
    """Stage, build, and look at the links; 0 if all is well."""
    target = REPOSITORY / "build" / "docs"
    stage(target, replays)
    if replays:
        gallery = [sys.executable, str(DOCS / "scripts" / "gallery.py"), "--replays", str(target / "replays")]
        subprocess.run(gallery, check=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(REPOSITORY / "mkdocs.yml")]
    status = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
    broken = broken_links(REPOSITORY / "build" / "site") if status == 0 else []
    print("\n".join(broken), file=sys.stderr)
    if status == 0 and not broken:
        print(f"open {REPOSITORY / 'build' / 'site' / 'index.html'}")
    return 1 if status or broken else 0


if __name__ == "__main__":
    raise SystemExit(build("--replays" in sys.argv[1:]))
