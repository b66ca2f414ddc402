"""Which pipes take an event, decided in Python exactly as route decides it in Spark. Pure."""
