"""The baseline of the bench (`--yardstick`): the three hops as plain confluent-kafka loops, a process each.

They are what an engineer would write in a day instead of hifi's Spark nodes, with the same records, headers,
keys and acknowledgements, but without delayed retries, deduplication and scale-out.
"""
