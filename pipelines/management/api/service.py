"""Wires an API process and serves it."""

import time
from typing import Any

from pipelines.management.api.app import Parts, create_app
from pipelines.management.api.dead_letters import DeadLetters
from pipelines.management.api.documents import Documents
from pipelines.management.api.key_notes import KeyNote, KeyNotes
from pipelines.management.api.metrics import ApiMetrics
from pipelines.management.api.observe_client import ObserveClient
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.audit import AuditLog, AuditRow
from pipelines.management.api.rights.authentication import Authentication
from pipelines.management.api.rights.callers import ClaimNames
from pipelines.management.api.rights.member_store import MemberStore
from pipelines.management.api.rights.rate_limits import RateLimits
from pipelines.management.api.rights.read_limits import ReadLimits
from pipelines.management.api.rights.token_store import TokenStore, write_first_token
from pipelines.management.api.rollouts import Rollouts
from pipelines.management.api.settings import ApiSettings
from pipelines.management.api.source_keys import SourceKeys
from pipelines.management.api.tail_feed import TailFeed
from shared.contracts.document_status import DocumentStatus
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.dynamodb.rollout_store import RolloutStore
from shared.dynamodb.sides_reader import SidesReader
from shared.oidc.keys import KeyCache
from shared.oidc.provider import Provider
from shared.oidc.verifier import Verifier
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger
from shared.runtime.uvicorn_config import keep_alive_seconds, serve_until_stopped, server_config

_log = get_logger(__name__)
NODE = "api"


def issuer_of(settings: ApiSettings, clock: Clock) -> tuple[Verifier, ClaimNames] | None:
    """The verifier of the issuer's tokens, and the claims to read; None without an issuer."""
    if settings.oidc_issuer is None:
        return None
    keys = KeyCache(Provider(settings.oidc_issuer).keys, time.monotonic)
    names = ClaimNames(
        label=settings.oidc_label_claim, tenant=settings.oidc_tenant_claim, role=settings.oidc_role_claim
    )
    return Verifier(settings.oidc_issuer, settings.oidc_audiences, keys, clock), names


def parts_of(settings: ApiSettings, table: DocumentTable, tokens: TokenStore, clock: Clock) -> Parts:
    """The parts of the application, built from its settings."""
    place = (settings.documents_table, settings.documents_endpoint)
    observe, tails = ObserveClient(settings.observe_url), TailFeed(settings.bootstrap)
    members = MemberStore(*place)
    notes = KeyNotes(ItemStore(*place, KeyNote), ItemStore(*place, int), clock)
    documents = Documents(table, notes, ItemStore(*place, DocumentStatus), settings.egress, clock)
    authentication = Authentication(tokens, members, issuer_of(settings, clock), clock)

    def answers() -> bool:
        try:
            table.catalogues()
        except StoreError as error:
            _log.warning("not ready", extra={"error": str(error)})
            return False
        return True

    return Parts(
        documents=documents,
        source_keys=SourceKeys(documents, notes),
        rollouts=Rollouts(RolloutStore(*place), clock),
        tokens=tokens,
        members=members,
        authentication=authentication,
        access=Access(
            authentication,
            RateLimits(settings.token_rate, time.monotonic),
            RateLimits(settings.tenant_rate, time.monotonic),
        ),
        audit=AuditLog(ItemStore(*place, AuditRow)),
        observe=observe,
        sides=SidesReader(*place, own=settings.side, health=observe.stability, clock=clock),
        dead_letters=DeadLetters(settings.bootstrap, clock),
        tails=tails,
        reads=ReadLimits(),
        metrics=ApiMetrics(tails),
        answers=answers,
        clock=clock,
        body_bytes=settings.body_bytes,
        body_timeout=settings.body_timeout,
        bodies_bytes=settings.bodies_bytes,
    )


async def serve(settings: ApiSettings, clock: Clock) -> bool:
    """Serve until SIGTERM or SIGINT; False if the port could not be taken.

    Raises:
        StoreError: if the table cannot be used at the start.
        OSError: if the token file cannot be written.
    """
    place = (settings.documents_table, settings.documents_endpoint)
    table = DocumentTable(*place, limits=settings.tenant_limits)
    table.ensure()
    tokens = TokenStore.of_table(*place)
    if settings.token_file is not None and write_first_token(tokens, settings.token_file, clock()):
        _log.info("first operator token made", extra={"file": str(settings.token_file)})
    tls: dict[str, Any] = {}
    if settings.tls_certificate is not None:
        tls = {"ssl_certfile": settings.tls_certificate, "ssl_keyfile": settings.tls_key}
    parts = parts_of(settings, table, tokens, clock)
    config = server_config(
        create_app(parts),
        host=settings.host,
        port=settings.port,
        drain_seconds=settings.drain_timeout,
        timeout_keep_alive=keep_alive_seconds(settings.public_url),
        ws="none",
        lifespan="off",
        **tls,
    )
    started = await serve_until_stopped(config)
    parts.tails.close()
    return started
