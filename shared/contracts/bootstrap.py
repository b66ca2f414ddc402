"""How a side's brokers are written down, in `HIFI_BOOTSTRAP`.

`host:port,host:port` is plain, as on one machine. `iam://host:port,host:port` is TLS with the process's own
AWS role: the only way into the twins' MSK.
"""

from typing import Final

IAM: Final = "iam://"
