"""Errors of a provider of OpenID Connect, and of its tokens."""


class ProviderAwayError(Exception):
    """The provider does not answer, or not as it should; the text names it and the cause."""


class TokenRefusedError(Exception):
    """A token, code or refresh token is not valid; the text says why, without any of it."""
