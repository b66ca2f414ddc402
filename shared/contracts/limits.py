"""Sizes that one hop promises to the next. Bytes unless the name says otherwise."""

MAX_BODY_BYTES = 8 * 1024 * 1024
"""A request body, after decompression."""

MAX_EVENT_BYTES = 512 * 1024
"""One event as the client wrote it."""

MAX_REQUEST_EVENTS = 10_000
"""Events of one request; more would keep a collect process busy for a noticeable part of a second."""

MAX_CONTENT_TYPE_CHARACTERS = 256
"""The Content-Type header of a request; a usual one has fewer than 80."""

CHUNK_BYTES = 512 * 1024
"""A `collected` record's value; only an event that is larger by itself exceeds it."""

MAX_RECORD_BYTES = 4 * 1024 * 1024
"""Any Kafka record. An event doubles at most when its text becomes a JSON string (quotes, backslashes)."""

MAX_READABLE_BYTES = 3 * 1024 * 1024
"""A record's value that a node reads and writes on; a larger one goes cut to `quarantine`. With the headers
it stays under MAX_RECORD_BYTES, so that no node is stopped by a record it cannot write."""

MAX_HEADERS_BYTES = 512 * 1024
"""Names and values of a record's headers; MAX_ATTRIBUTES of MAX_ATTRIBUTE_BYTES are half of it."""

MAX_ID_BYTES = 256
MAX_ATTRIBUTE_BYTES = 4096
MAX_ATTRIBUTE_NAME = 64
"""Characters."""

MAX_ATTRIBUTES = 64

MAX_NUMBER_CHARACTERS = 1_000
MAX_NAME_BYTES = 50_000
"""Longest number, and longest name of a member, in an event; Jackson, which may parse it, takes no more."""

MAX_DEPTH = 128
"""Nesting of arrays and objects in an event; Jackson, which parses it later, stops at 1,000."""

MAX_DOCUMENT_BYTES = 256 * 1024
"""A document as JSON; an item of DynamoDB takes 400 KB."""

MAX_DOCUMENT_DEPTH = MAX_DEPTH + 8
"""Nesting of lists and mappings in a document, itself included: a pattern reaches all that an event may hold.
What handles documents recurses, and Python ends at 1,000 calls."""
