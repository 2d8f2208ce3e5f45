"""The simulated driver's Python half: racks in virtual time, and the models they are made of.

`rack.SimRack` is to the simulator (`_engine.Simulation`) what `netkv.lab.rack.Rack` is to a live
rack. The control planes are the same objects as live; `controller` carries their events and actions
through modelled control channels.
"""
