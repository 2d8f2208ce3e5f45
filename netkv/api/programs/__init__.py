"""P4 programs behind the routes: those that ship, compilation of text, traces of packets.

What requests supply runs in a process that can be killed (`netkv.api.sandbox`); these modules do
the work, there and in the server.
"""
