"""Java reads the written values back from a properties file."""

import pytest

from scripts.local.kafka.properties_file import properties_text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("/data/hifi", "/data/hifi"),
        ("/home/jürgen/hifi", r"/home/j\u00fcrgen/hifi"),
        ("/data/\N{PARTY POPPER}", r"/data/\ud83c\udf89"),
        (r"/data/a\u0041", r"/data/a\\u0041"),
        ("/data/a b=c:d#e!", "/data/a b=c:d#e!"),
        (" led by a space", r"\ led by a space"),
        ("two\nlines", r"two\nlines"),
        ("\x7f", r"\u007f"),
    ],
)
def test_a_value_is_ascii_with_javas_escapes(value: str, written: str) -> None:
    assert properties_text({"name": value}) == f"name={written}\n"


def test_there_is_a_line_for_each_property_by_name() -> None:
    assert properties_text({"b": "2", "a": "1"}) == "a=1\nb=2\n"
