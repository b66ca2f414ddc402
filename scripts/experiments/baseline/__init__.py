"""The yardstick: the same three hops as plain confluent-kafka loops, one process a hop.

What an engineer would write in a day instead of hifi's Spark nodes: the same records, headers, keys and
acknowledgements. It does without what the nodes have beyond that: waiting retries, memory of deliveries,
scale-out.
"""
