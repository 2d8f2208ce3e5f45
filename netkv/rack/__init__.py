"""A rack as scenarios see it, live or simulated: its nodes, its events and its samples.

`nodes` has the kinds of nodes and what may be done to each, `base` the rack. Drivers implement
both: `netkv.lab` live, `netkv.sim` in virtual time.
"""
