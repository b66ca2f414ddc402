"""The page's tables equal the command's output."""

from pathlib import Path

from scripts.experiments.capacity.burst import Burst
from scripts.experiments.capacity.points import read_facts
from scripts.experiments.capacity.prediction import predict
from scripts.experiments.capacity.reporting.report import tables
from scripts.experiments.capacity.reporting.text_tables import markdown

PAGE = Path(__file__).parents[5] / "docs" / "capacity.md"


def test_every_table_of_the_command_is_on_the_page() -> None:
    facts, page = read_facts(), PAGE.read_text()
    found = predict(facts, [10_000, 100_000, 1_000_000], Burst())
    missing = [table.title for table in tables(found, facts) if markdown([table]) not in page]
    assert missing == [], "write them anew: python -m scripts.experiments.capacity --markdown FILE"
    assert len(found.footprints) == 15
