"""Video-player telemetry: sessions that play, send heartbeats, stall and fail. Seeded, and cheap to send.

A pool of events is built once; sending one inserts an id and a time into prepared bytes. Sizes are those of
real beacons: 300 to 900 bytes, about 500 on average.
"""

import random
from typing import Any, Final

import msgspec
from msgspec import Struct

from scripts.load.event_source import BATCH, EventBatch
from scripts.load.templates import Template, batch, fill, template
from shared.contracts.timestamps import format_time

HEARTBEAT: Final = "video.heartbeat"
PLAY: Final = "video.play"
STALL: Final = "video.stall"
ERROR: Final = "video.error"

POOL: Final = 4096
_WEIGHTS: Final = {HEARTBEAT: 86, PLAY: 7, STALL: 5, ERROR: 2}
_CDNS: Final = ("fastly", "akamai", "cloudfront", "edgio")
_DEVICES: Final = (
    ("tv", "Tizen 7.0", "Samsung", 3840, 2160),
    ("tv", "webOS 23", "LG", 3840, 2160),
    ("mobile", "iOS 19.1", "Apple", 1170, 2532),
    ("mobile", "Android 15", "Google", 1080, 2400),
    ("web", "Chrome 142", "Windows 11", 1920, 1080),
    ("web", "Firefox 145", "Linux", 2560, 1440),
    ("stick", "Fire OS 8", "Amazon", 1920, 1080),
)
_LADDER: Final = (
    (235, "240p"),
    (750, "360p"),
    (1_750, "480p"),
    (3_000, "720p"),
    (5_800, "1080p"),
    (15_600, "2160p"),
)
_COUNTRIES: Final = ("DE", "FR", "US", "BR", "IN", "JP", "GB", "ES", "PL", "MX")
_TITLES: Final = ("Die Brücke", "Cidade Baixa", "The Long Tide", "東京の夜明け", "Nordlicht", "Café de nuit")
_ERRORS: Final = (
    (1001, "MEDIA_DECODE", "decoder stalled on segment 118 of rendition 1080p", False),
    (2004, "MANIFEST_TIMEOUT", "manifest not loaded within 8000 ms, retried with the next origin", False),
    (3016, "DRM_LICENSE", 'licence server answered 403: "device limit reached"', True),
    (4102, "SEGMENT_GONE", "404 on https://cdn.example/v/118/seg-000731.m4s", True),
)

_FRAMES: Final = ("loadSegment", "appendBuffer", "onUpdateEnd", "tick", "run")


class Session(Struct, frozen=True):
    """One viewer in front of one player."""

    viewer: str
    session: str
    device: tuple[str, str, str, int, int]
    cdn: str
    country: str
    title: str


class Telemetry:
    """An endless series of events to send; ids are `<run>-<number>`, unique if the run's name is."""

    content_type = BATCH

    def __init__(self, run: str, seed: int = 0) -> None:
        """Build the pool.

        Args:
            run: characters that need no escaping in JSON.
            seed: the same seed gives the same series.
        """
        chance = random.Random(seed)
        sessions = [_session(chance) for _ in range(POOL // 8)]
        self._kinds = chance.choices(list(_WEIGHTS), weights=list(_WEIGHTS.values()), k=POOL)
        self._pool = [_event(kind, chance.choice(sessions), chance) for kind in self._kinds]
        self._run = run
        self._next = 0

    def take(self, count: int, time_ms: int) -> EventBatch:
        """The next events, with `time_ms` as their time."""
        numbers = range(self._next, self._next + count)
        self._next += count
        ids = [f"{self._run}-{number}" for number in numbers]
        templates = [self._pool[number % POOL] for number in numbers]
        events = fill(templates, [event_id.encode() for event_id in ids], format_time(time_ms).encode())
        return EventBatch(ids=ids, body=batch(events), count=count)

    def kind_of(self, event_id: str) -> str:
        """The CloudEvents type of an event of this series."""
        return self._kinds[int(event_id.rpartition("-")[2]) % POOL]


def _session(chance: random.Random) -> Session:
    return Session(
        viewer=f"u-{chance.getrandbits(40):010x}",
        session=f"{chance.getrandbits(64):016x}",
        device=chance.choice(_DEVICES),
        cdn=chance.choice(_CDNS),
        country=chance.choice(_COUNTRIES),
        title=chance.choice(_TITLES),
    )


def _event(kind: str, session: Session, chance: random.Random) -> Template:
    attributes = {
        "specversion": "1.0",
        "source": f"/players/{session.device[0]}/{session.session}",
        "type": kind,
        "subject": session.viewer,
        "datacontenttype": "application/json",
    }
    data = _common(session, chance) | _DETAILS[kind](session, chance)
    return template(attributes, msgspec.json.encode(data))


def _common(session: Session, chance: random.Random) -> dict[str, Any]:
    bitrate, rendition = chance.choice(_LADDER)
    return {
        "session": session.session,
        "cdn": session.cdn,
        "position_seconds": round(chance.uniform(0, 7_200), 3),
        "bitrate_kbps": bitrate,
        "rendition": rendition,
        "buffer_seconds": round(chance.uniform(0, 30), 2),
    }


def _who(session: Session) -> dict[str, Any]:
    form, system, maker, width, height = session.device
    return {
        "viewer": session.viewer,
        "device": {"form": form, "os": system, "maker": maker, "screen": [width, height]},
        "country": session.country,
        "title": session.title,
    }


def _heartbeat(_: Session, chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.1:
        return {"paused": True}
    return {
        "dropped_frames": chance.choice((0, 0, 0, 1, 4)),
        "bandwidth_kbps": chance.randint(900, 90_000),
        "segments": [
            {"n": chance.randint(1, 999), "ms": chance.randint(20, 900)} for _ in range(chance.randint(0, 12))
        ],
    }


def _play(session: Session, chance: random.Random) -> dict[str, Any]:
    return _who(session) | {
        "startup_ms": chance.randint(180, 4_000),
        "autoplay": chance.random() < 0.4,
        "player": {
            "name": "hls.js",
            "version": "1.6.13",
            "drm": chance.choice(("widevine", "fairplay", "none")),
        },
        "experiments": [f"exp-{chance.randint(100, 999)}:{chance.choice('ab')}" for _ in range(4)],
    }


def _stall(_: Session, chance: random.Random) -> dict[str, Any]:
    return {
        "stall_seconds": round(chance.expovariate(0.7), 3),
        "cause": chance.choice(("network", "decoder", "seek")),
        "recovered": chance.random() < 0.9,
    }


def _error(session: Session, chance: random.Random) -> dict[str, Any]:
    code, name, message, fatal = chance.choice(_ERRORS)
    frames = [f"at {part} (player.min.js:1:{chance.randint(1_000, 99_999)})" for part in _FRAMES]
    failure = {"code": code, "name": name, "message": message, "fatal": fatal, "stack": frames}
    return _who(session) | {"error": failure}


_DETAILS: Final = {HEARTBEAT: _heartbeat, PLAY: _play, STALL: _stall, ERROR: _error}
