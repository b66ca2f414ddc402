"""Splits an array that is not valid JSON into its items, so that one bad event does not fail the others."""

import re

_TOKEN = re.compile(
    rb'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")'
    rb"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)"
    rb"|:|[ \t\r\n]+|-?(?:Infinity|NaN)|true|false|null|[-+.0-9eE]+",
    re.DOTALL,
)
_MAX_DEPTH = 1000
_MAX_TOKENS = 250_000  # about a tenth of a second


def recover_items(text: bytes) -> list[bytes] | None:
    """The raw items of an array; None if they cannot be told apart with certainty.

    Outside strings only JSON's own tokens, NaN and Infinity are allowed. If a quote is missing, the text of a
    string stands outside and the array is rejected, so text from inside a string is never taken for an event.
    """
    items: list[bytes] = []
    depth = start = at = 0
    for _ in range(_MAX_TOKENS):
        if at == len(text):
            break
        token = _TOKEN.match(text, at)
        if token is None or (depth == 0 and at > 0) or depth > _MAX_DEPTH:
            return None
        if token.lastgroup == "open":
            depth += 1
            start = start or token.end()
        elif token.lastgroup == "close":
            depth -= 1
        if (token.lastgroup == "comma" and depth == 1) or depth == 0:
            items.append(text[start:at].strip())
            start = token.end()
        at = token.end()
    whole = at == len(text) and depth == 0 and text.startswith(b"[") and text.endswith(b"]")
    return items if whole else None
