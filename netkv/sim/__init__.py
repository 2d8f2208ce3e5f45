"""The Python part of the simulator: racks in virtual time, and the models of their parts.

`rack.SimRack` drives the simulator (`_engine.Simulation`), `rack_nodes` has its nodes. The control
planes are the same classes as live; `controller` passes their events and actions through modelled
control channels.
"""
