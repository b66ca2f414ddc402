"""The docs mention only existing things: relative links, headings, and paths in backticks."""

import re
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import yaml
from pydantic_settings import BaseSettings

from pipelines.control.deploy.settings import DeploySettings
from pipelines.data.collect.settings import CollectSettings
from pipelines.management.api.settings import ApiSettings
from pipelines.management.console.settings import ConsoleSettings
from scripts.dashboard.alerts import ALERTS
from scripts.local.side import Side
from scripts.settings_page import PAGE, page
from shared.connectors.registry import SPECS
from shared.contracts.alarms import AlarmKind
from shared.contracts.documents import Contact, Destination, Pipe, Source
from shared.contracts.matchers import PatternError, compile_matchers
from shared.contracts.patterns import compile_pattern
from shared.contracts.topics import topic_specs
from shared.contracts.topology import INPUTS, METERING_NODE, OUTPUTS
from shared.runtime.settings import SideSettings

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / name for name in ("docs", "infra", ".github")]
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in folder.rglob("*.md"))])
SHARED = SideSettings.model_fields
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCE = re.compile(r"(?ms)^ *(```|~~~).*?^ *\1")
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_PATH = re.compile(r"(?:pipelines|shared|scripts|docs|tests|infra|\.github)/[\w./*-]*")
_PLACEHOLDER = re.compile(r"\b(NAME|NNNN|ENVIRONMENT)\b")


def prose(page: Path) -> str:
    """The text without code blocks."""
    return prose_of(page.read_text())


def prose_of(text: str) -> str:
    """A text without its code blocks."""
    return _FENCE.sub("", text)


def headings(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    lines = re.findall(r"(?m)^#+ (.+)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def table_rows(page: str, heading: str) -> dict[str, list[str]]:
    """The other cells of each row below a heading, by each name in backticks in the row's first cell."""
    sections = re.split(r"(?m)^##+ ", (ROOT / "docs" / page).read_text())
    (section,) = (each for each in sections if each.startswith(f"{heading}\n"))
    found: dict[str, list[str]] = {}
    for row in re.findall(r"(?m)^\|(.+)\|$", section):
        first, *others = (cell.strip() for cell in row.split("|"))
        found |= dict.fromkeys(_CODE.findall(first), others)
    return found


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


def test_every_setting_of_the_deployer_is_described() -> None:
    page = (ROOT / "docs" / "releases.md").read_text().partition("\n## Settings")[2].partition("\n## ")[0]
    named = set(re.findall(r"`HIFI_(\w+)`", page))
    assert {name.upper() for name in DeploySettings.model_fields} <= named


def test_the_page_of_patterns_has_each_operator_and_nothing_that_is_refused() -> None:
    page = (ROOT / "docs" / "documents.md").read_text().partition("### Patterns")[2].partition("\n## ")[0]
    (example,) = re.findall(r"(?s)```yaml\n(.*?)```", page)
    assert compile_pattern(yaml.safe_load(example)["match"])
    shown = [yaml.safe_load(code) for code in _CODE.findall(prose_of(page)) if code.startswith("{")]
    assert all(compile_matchers([each], "page") for each in shown)
    with pytest.raises(PatternError) as refused:
        compile_matchers([{"no such": 1}], "page")
    operators = str(refused.value).partition("use one of ")[2].split(", ")
    assert {name for each in shown for name in each} == set(operators)


def test_the_table_of_a_sides_ports_has_each_of_them() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    first = re.findall(r"(?m)^\| (8\d{3}[^|]*) \|", page)
    found: set[int] = set()
    for cell in first:
        for part in cell.split(", "):
            begin, _, end = part.partition("-")
            found |= set(range(int(begin), int(end or begin) + 1))
    assert found == set(Side(root=ROOT).ports)


def test_the_table_of_topics_is_that_of_the_code() -> None:
    kept = {
        None: "for ever, compacted",
        timedelta(hours=1): "1 hour",
        timedelta(days=3): "3 days",
        timedelta(days=14): "14 days",
        timedelta(days=22): "22 days",
    }
    rows, specs = table_rows("architecture.md", "Topics"), topic_specs(partitions=7)
    assert set(rows) == {str(spec.name) for spec in specs}
    for spec in specs:
        _, retention, partitions, written, read = rows[spec.name]
        assert retention == kept[spec.retention], spec.name
        assert partitions == ("P" if spec.partitions == 7 else "1"), spec.name
        writers = {node.partition("_")[0] for node, topics in OUTPUTS.items() if spec.name in topics}
        readers = {node.partition("_")[0] for node, topics in INPUTS.items() if spec.name in topics}
        assert writers <= set(re.findall(r"\w+", written)), spec.name
        assert readers - {METERING_NODE} <= set(re.findall(r"\w+", read)), spec.name


def defaults(settings: type[BaseSettings]) -> dict[str, str]:
    """Defaults by variable, as a table shows them, without those of shared settings."""
    own = {name: each.default for name, each in settings.model_fields.items() if name not in SHARED}
    return {f"HIFI_{name.upper()}": shown(default) for name, default in own.items()}


def shown(default: object) -> str:
    if default in (None, ""):
        return "none"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def test_the_table_of_collects_settings_has_each_with_its_default() -> None:
    rows, own = table_rows("collect.md", "Settings"), defaults(CollectSettings)
    assert set(rows) == set(own)
    for variable, default in own.items():
        assert default in rows[variable][0], variable


@pytest.mark.parametrize(("heading", "settings"), [("Settings", ApiSettings), ("Console", ConsoleSettings)])
def test_every_setting_of_management_is_described_with_its_default(
    heading: str, settings: type[BaseSettings]
) -> None:
    rows, own = table_rows("management.md", heading), defaults(settings)
    assert set(own) <= set(rows)
    for variable, default in own.items():
        assert default in rows[variable][0], variable


def test_the_page_of_settings_is_that_of_the_code() -> None:
    assert PAGE.read_text() == page(), "write it again: python -m scripts.settings_page"


def test_every_workflow_is_in_the_list() -> None:
    files = {file.stem for file in (ROOT / ".github" / "workflows").glob("*.yml")}
    assert set(table_rows("infrastructure.md", "Workflows")) == files


def test_every_connector_has_a_page_and_a_line_in_the_list() -> None:
    listed = (ROOT / "docs" / "delivery.md").read_text()
    for name in SPECS:
        assert (ROOT / "docs" / "connectors" / f"{name}.md").exists()
        assert f"[`{name}`](connectors/{name}.md)" in listed


def test_every_kind_of_alarm_has_steps_to_which_its_line_leads() -> None:
    steps = headings(ROOT / "docs" / "operations.md")
    table = (ROOT / "docs" / "meter.md").read_text()
    for kind in AlarmKind:
        assert kind.value in steps
        assert f"| [`{kind.value}`](operations.md#{kind.value}) |" in table


def test_every_alert_rule_names_a_section_that_exists() -> None:
    for alert in ALERTS:
        page, _, anchor = alert.steps.partition("#")
        assert anchor in headings(ROOT / page), alert.name


def test_the_run_book_builds_the_images_that_the_workflow_builds() -> None:
    build = re.compile(r"docker buildx build --platform (\S+) --file (\S+)")
    by_hand = set(build.findall((ROOT / "docs" / "infrastructure.md").read_text()))
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "deploy.yml").read_text())["jobs"]
    steps = [each.get("with", {}) for each in jobs["images"]["steps"]]
    assert by_hand == {(each["platforms"], each["file"]) for each in steps if "platforms" in each}


def test_the_run_book_s_images_report_the_version_that_it_publishes() -> None:
    text = (ROOT / "docs" / "infrastructure.md").read_text()
    (published,) = re.findall(r"^ *scripts/release/publish_version\.sh (\w+)$", text, re.M)
    builds = [line for line in text.splitlines() if "docker buildx build" in line]
    assert builds
    assert all(f" --build-arg HIFI_VERSION={published} " in line for line in builds)
