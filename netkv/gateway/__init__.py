"""A server of the Redis protocol for a running rack: `netkv gateway`, docs/gateway.md.

requests.py     bytes of a connection → requests, with limits
replies.py      replies → bytes, RESP2 and RESP3
commands.py     the tables of commands; local.py and stored.py implement them
order.py        dependencies between the commands of a pipeline
connection.py   one client: requests in, replies out in the same order, back-pressure
server.py       all clients: the listener, limits, shutdown
"""
