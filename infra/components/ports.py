"""TCP ports that more than one part of a side must agree on."""

HTTPS_PORT = 443
COLLECT_PORT = 8080
BROKER_PORT = 9098
"""TLS with IAM authentication; MSK opens it once IAM is the only way in."""

BROKER_METRICS_PORTS = (11001, 11002)
"""JMX and node exporter of MSK's open monitoring."""
