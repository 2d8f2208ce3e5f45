"""`netkv gateway`: the Redis protocol in front of a rack, docs/use/gateway.md.

The gateway is `engine/gateway`; here are only its start, its end, and its address.
"""
