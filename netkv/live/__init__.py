"""The driver in wall time: nodes, links and controllers are processes and sockets."""
