"""The local side: brokers, collect and Spark as processes of this machine."""
