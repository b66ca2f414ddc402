"""The docs mention only existing things: relative links, headings, and paths in backticks."""

import re
from pathlib import Path

import msgspec
import pytest

from scripts.local.side import Side
from shared.connectors.registry import SPECS
from shared.contracts.documents import Contact, Destination, Pipe, Source

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCE = re.compile(r"(?ms)^ *(```|~~~).*?^ *\1")
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_PATH = re.compile(r"(?:pipelines|shared|scripts|docs|tests|infra|\.github)/[\w./*-]*")
_PLACEHOLDER = re.compile(r"\b(NAME|NNNN)\b")


def prose(page: Path) -> str:
    """The text without code blocks."""
    return _FENCE.sub("", page.read_text())


def headings(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    lines = re.findall(r"(?m)^#+ (.+)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def dead_links(page: Path) -> list[str]:
    dead = []
    for link in _LINK.findall(_CODE.sub("", prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            dead.append(link)
    return dead


def dead_paths(page: Path) -> list[str]:
    named = [path.rstrip("/") for path in _CODE.findall(prose(page)) if _PATH.fullmatch(path)]
    return [path for path in named if not _PLACEHOLDER.search(path) and not list(ROOT.glob(path))]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_repository_path_in_backticks_exists(page: Path) -> None:
    assert dead_paths(page) == []


def test_a_dead_link_a_missing_heading_and_a_missing_path_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# Here\n[a](#here) [b](#there) [c](gone.md) `shared/gone.py` `docs/adr`\n"
    page.write_text(f"{text}```\n[d](gone.md)\n```\n")
    assert dead_links(page) == ["#there", "gone.md"]
    assert dead_paths(page) == ["shared/gone.py"]


def test_every_field_of_a_document_is_described() -> None:
    page = (ROOT / "docs" / "documents.md").read_text()
    for kind in (Source, Destination, Pipe, Contact):
        section = re.split(r"(?m)^## ", page)
        (text,) = (each for each in section if each.startswith(kind.__name__))
        for field in msgspec.structs.fields(kind):
            inner = getattr(field.type, "__struct_fields__", None)
            names = [f"{field.name}.{name}" for name in inner] if inner else [field.name]
            for name in names:
                assert name in ("name", "tenant") or f"`{name}`" in text, f"{kind.__name__}: {name}"


def test_the_table_of_a_sides_ports_has_each_of_them() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    first = re.findall(r"(?m)^\| (8\d{3}[^|]*) \|", page)
    found: set[int] = set()
    for cell in first:
        for part in cell.split(", "):
            begin, _, end = part.partition("-")
            found |= set(range(int(begin), int(end or begin) + 1))
    assert found == set(Side(root=ROOT).ports)


def test_every_connector_has_a_page_and_a_line_in_the_list() -> None:
    listed = (ROOT / "docs" / "delivery.md").read_text()
    for name in SPECS:
        assert (ROOT / "docs" / "connectors" / f"{name}.md").exists()
        assert f"[`{name}`](connectors/{name}.md)" in listed
