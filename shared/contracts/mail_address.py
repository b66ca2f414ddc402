"""E-mail addresses: one owner for what hifi takes as one."""

from typing import Final

MAIL_ADDRESS: Final = (
    r"^[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,63}@"
    r"([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$(?!\n)"
)
"""A pattern for Python and JSON Schema, of ASCII alone. It leaves out quotes, percent and exclamation signs,
which old mail servers take as a route. `$` of Python also matches before a last line feed."""
