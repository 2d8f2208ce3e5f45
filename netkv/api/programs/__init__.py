"""P4 programs behind the routes: those that ship, compilation of text, traces of packets.

`sandbox` runs what requests supply in a process that can be killed; the other modules do the work,
there and in the server.
"""
