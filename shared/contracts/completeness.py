"""The record by which the `config` topic says that it holds everything that customers want.

A topic that was lost and made again can be read to its end as well, and then has nothing, or hifi's own
documents alone. The provisioner writes this record with the last document that was missing, and a node that
has not seen it is not ready: it would refuse customers' keys and find no pipes for their events.
"""

from typing import Final

COMPLETE_KEY: Final = b"hifi/catalogue/complete"
"""Key of the record: no document has it, since there is no kind `catalogue`."""

COMPLETE_VALUE: Final = b'{"kind":"catalogue"}'
"""It stays as it is when documents change: what is missing then is a matter of a second, not of readiness."""
