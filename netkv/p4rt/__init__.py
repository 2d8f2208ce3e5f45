"""P4Runtime 1.5: the server in front of the switch engine, the client side, and P4Info.

`server.P4RuntimeServer` serves one switch. netkv's control plane uses `client.P4RuntimeClient` for
the engine and any other target. `p4info.from_bundle` describes a compiled program.
"""

API_VERSION = "1.5.0"
"""Version of the P4Runtime specification that the server follows and announces."""
