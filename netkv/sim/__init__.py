"""The simulated driver's Python half: racks in virtual time, and the models they are made of.

`rack.SimRack` drives the simulator (`_engine.Simulation`), `rack_nodes` has its nodes. The control
planes are the same objects as live; `controller` carries their events and actions through modelled
control channels.
"""
