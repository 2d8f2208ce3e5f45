"""The interface of a rack, live or simulated: its nodes, its events and its samples.

`nodes` has the kinds of nodes and their operations, `base` the rack. Drivers implement both:
`netkv.live` live, `netkv.sim` in virtual time.
"""
