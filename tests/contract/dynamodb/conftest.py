"""Tables of documents."""

import pytest

from shared.dynamodb.document_table import DocumentTable


@pytest.fixture
def table(url: str, request: pytest.FixtureRequest) -> DocumentTable:
    """A table of the test's own, in moto and in DynamoDB Local."""
    made = DocumentTable("".join(letter for letter in request.node.name if letter.isalnum()), url)
    made.ensure()
    return made
