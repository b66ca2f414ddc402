"""The key that names one delivery."""

from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.envelope import delivery_key
from shared.contracts.receipts import KEY_BYTES

names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,5}", fullmatch=True)
texts = st.text(max_size=5)
deliveries = st.tuples(names, names, texts, texts)


@given(deliveries, deliveries)
def test_deliveries_of_two_tenants_or_pipes_have_different_keys(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    keys = delivery_key(*one), delivery_key(*other)
    assert {len(key) for key in keys} == {KEY_BYTES}
    if one[:2] != other[:2]:
        assert keys[0] != keys[1]
