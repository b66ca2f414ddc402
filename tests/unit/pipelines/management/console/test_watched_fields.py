"""The panel of watched fields."""

import re

from pipelines.management.console.panels.watched_fields import bars
from shared.contracts.skew import SkewBar


def test_each_part_has_two_bars_of_its_shares_and_says_them() -> None:
    drawn = bars([SkewBar(label="<DE>", now=0.25, before=0.5), SkewBar(label="AT", now=0.75, before=0.5)])
    heights = re.findall(r'height="([\d.]+)" class="(now|before)"', drawn)
    assert heights == [("26.67", "before"), ("13.33", "now"), ("26.67", "before"), ("40", "now")]
    assert "&lt;DE&gt;: 25 %, before 50 %" in drawn and "<DE>" not in drawn


def test_of_many_parts_the_first_are_drawn_and_the_rest_is_counted() -> None:
    drawn = bars([SkewBar(label=f"t{at}", now=0.05, before=0.05) for at in range(20)])
    assert drawn.count("<g>") == 12
    assert "and 8 more" in drawn


def test_nothing_to_draw_is_a_dash() -> None:
    assert bars([]) == "\u2013"
    assert 'height="0"' in bars([SkewBar(label="a", now=0.0, before=0.0)])
