"""Decodes and encodes JSON without changing numbers that are only copied.

Integers are exact at any length. A number with a fraction or an exponent becomes a float that remembers its
text, and is written as that text again; arithmetic with it gives a plain float.
"""

from typing import Any, Final

import msgspec


class ExactFloat(float):
    """A float that keeps its original text, because a plain float would be written differently.

    Its class is named float, because JMESPath's functions check the name of a type.
    """

    __slots__ = ("text",)
    text: str


ExactFloat.__name__ = "float"


def _number(text: str) -> float:
    number = float(text)
    if msgspec.json.encode(number) == text.encode():
        return number
    written = ExactFloat(number)
    written.text = text
    return written


def _text(value: object) -> msgspec.Raw:
    if isinstance(value, ExactFloat):
        return msgspec.Raw(value.text.encode())
    raise TypeError("not a JSON value")


_decoder: Final = msgspec.json.Decoder(float_hook=_number)
_encoder: Final = msgspec.json.Encoder(enc_hook=_text)


def decode(text: bytes | str) -> Any:
    """Decode to plain values; of a name that occurs twice in an object, the last one wins.

    Raises:
        msgspec.DecodeError: if the text is not JSON.
    """
    return _decoder.decode(text)


def encode(value: object) -> bytes:
    """JSON without spaces.

    Raises:
        TypeError: if it contains something that is not a JSON value. A float that is not finite becomes null.
    """
    return _encoder.encode(value)
