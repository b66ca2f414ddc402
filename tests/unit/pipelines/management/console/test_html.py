"""HTML written from Python."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.console.html import Markup, joined, tag


class _Read(HTMLParser):
    """The first element's name and attributes, and all text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text().filter(lambda text: "\r" not in text and "\0" not in text))
def test_no_text_of_a_customer_becomes_markup(text: str) -> None:
    read = _Read(tag("p", text, title=text))
    assert read.tags == ["p"]
    assert read.text == text
    assert read.attributes == {"title": text}


def test_markup_stays_as_it_is() -> None:
    assert tag("p", tag("b", "<"), None, "x") == "<p><b>&lt;</b>x</p>"
    assert tag("rect", x=1, class_="a", data_pick=None) == '<rect x="1" class="a"/>'
    assert isinstance(joined("a", Markup("<br/>")), Markup)
