"""The Redis protocol in front of a rack that is up: `netkv gateway`, docs/gateway.md.

requests.py     bytes of a connection → requests, with limits
replies.py      replies → bytes, RESP2 and RESP3
commands.py     which commands there are, as COMMAND lists them; local.py and stored.py do them
order.py        what of a pipeline waits for what
connection.py   one client: requests in, replies out in the same order, back-pressure
server.py       all clients: the listener, its limits, its end
"""
