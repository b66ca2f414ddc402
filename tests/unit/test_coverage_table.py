"""Coverage by package."""

import pytest

from scripts.coverage_table import package_of, table

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("pipelines/data/transmit/connectors/aws/s3.py", "pipelines/data/transmit"),
        ("shared/kafka/producer.py", "shared/kafka"),
        ("scripts/cli/main.py", "scripts/cli"),
        ("infra/stacks/twin.py", "infra/stacks"),
    ],
)
def test_a_module_counts_for_its_node_or_its_package(path: str, package: str) -> None:
    assert package_of(path) == package


def test_packages_add_up_and_a_missed_line_never_reads_as_all() -> None:
    rows = [row.split() for row in table({"shared/kafka/a.py": (9_999, 9_998), "shared/kafka/b.py": (1, 1)})]
    assert rows[1:] == [["shared/kafka", "10000", "9999", "99.9"], ["total", "10000", "9999", "99.9"]]


def test_a_package_of_empty_modules_is_not_an_error() -> None:
    assert [row.split()[-1] for row in table({"shared/__init__.py": (0, 0)})][1:] == ["0.0", "0.0"]
