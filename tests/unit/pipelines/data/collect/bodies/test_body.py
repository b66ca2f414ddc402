"""Bodies that arrive in pieces, encoded or plain."""

import asyncio
import gzip
from collections.abc import Sequence
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.collect.bodies.body import BodyReader, ClientGoneError, no_memory_left
from pipelines.data.collect.bodies.decompression import decompressor
from pipelines.data.collect.errors import RefusedError
from shared.runtime.body_budget import BodyBudget

LIMIT = 5000


def read(pieces: Sequence[bytes], encoding: str = "", declared: str = "", ends: bool = True) -> bytes:
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "more_body": False} if ends else {"type": "http.disconnect"})
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    async def whole() -> bytes:
        reader = BodyReader(limit=LIMIT, seconds=60, budget=BodyBudget(LIMIT, no_memory_left))
        async with reader.body(receive, decompressor(encoding), declared) as body:
            return body

    return asyncio.run(whole())


def pack(encoding: str, body: bytes) -> bytes:
    return {"": body, "gzip": gzip.compress(body), "zstd": zstandard.compress(body)}[encoding]


@given(st.binary(max_size=LIMIT), st.sampled_from(["", "gzip", "zstd"]), st.integers(1, 700))
def test_any_pieces_make_the_same_body(body: bytes, encoding: str, size: int) -> None:
    packed = pack(encoding, body)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    if len(packed) <= LIMIT:
        assert read(pieces, encoding) == body


@pytest.mark.parametrize("encoding", ["", "gzip", "zstd"])
@pytest.mark.parametrize("extra", [0, 1, 10_000_000])
def test_the_limit_is_exact_and_on_decompressed_bytes(encoding: str, extra: int) -> None:
    packed = pack(encoding, b"x" * (LIMIT + extra))
    if not extra:
        assert len(read([packed], encoding)) == LIMIT
        return
    with pytest.raises(RefusedError) as caught:
        read([packed], encoding)
    assert caught.value.status == 413


@given(st.binary(max_size=300), st.sampled_from(["gzip", "zstd"]), st.data())
def test_cut_or_extended_data_is_400(body: bytes, encoding: str, data: st.DataObject) -> None:
    packed = pack(encoding, body)
    cut = data.draw(st.integers(0, len(packed) - 1))
    extra = data.draw(st.binary(min_size=1, max_size=5) | st.just(packed))
    for damaged in (packed[:cut], packed + extra):
        with pytest.raises(RefusedError) as caught:
            read([damaged], encoding)
        assert caught.value.status == 400


@given(st.binary(max_size=300), st.sampled_from(["gzip", "zstd"]))
def test_any_bytes_are_read_or_refused(body: bytes, encoding: str) -> None:
    try:
        read([body], encoding)
    except RefusedError as error:
        assert error.status in (400, 413)


def test_too_much_is_refused_by_its_declaration_alone() -> None:
    with pytest.raises(RefusedError) as caught:
        read([], declared=str(LIMIT + 1))
    assert (caught.value.status, caught.value.body_unread) == (413, True)


def test_a_client_that_leaves_gets_no_reply() -> None:
    with pytest.raises(ClientGoneError):
        read([b"{"], ends=False)


@pytest.mark.parametrize(("encoding", "state_kib"), [("", 0), ("gzip", 40), ("zstd", 64)])
def test_a_body_counts_with_its_decompressor_until_it_is_complete(encoding: str, state_kib: int) -> None:
    budget, held = BodyBudget(1024 * 1024, no_memory_left), []
    packed = pack(encoding, b"x" * LIMIT)
    pieces = iter([b"", packed[:-1], packed[-1:]])

    async def receive() -> dict[str, Any]:
        held.append(budget.held)
        piece = next(pieces)
        return {"type": "http.request", "body": piece, "more_body": piece != packed[-1:]}

    async def whole() -> int:
        reader = BodyReader(limit=LIMIT, seconds=60, budget=budget)
        async with reader.body(receive, decompressor(encoding), "") as body:
            assert body == b"x" * LIMIT
            return budget.held

    assert asyncio.run(whole()) == LIMIT
    assert held[0] == 0, "nothing has come"
    assert state_kib * 1024 <= held[-1] <= state_kib * 1024 + 3 * LIMIT
    assert budget.held == 0


def test_a_body_that_is_evicted_while_its_last_piece_comes_is_refused() -> None:
    """Its bytes are no longer counted, so it must not be kept."""
    budget = BodyBudget(LIMIT, no_memory_left)

    async def last_piece() -> dict[str, Any]:
        budget.evict_oldest()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def whole() -> None:
        reader = BodyReader(limit=LIMIT, seconds=60, budget=budget)
        async with reader.body(last_piece, decompressor(""), ""):
            pass

    with pytest.raises(RefusedError) as caught:
        asyncio.run(whole())
    assert caught.value.status == 503
