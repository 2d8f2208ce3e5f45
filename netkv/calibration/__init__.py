"""`netkv calibrate`: measures the machine for the simulator's profile `this-machine`."""
