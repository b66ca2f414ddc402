"""The local side: brokers and all nodes as processes of this machine."""
