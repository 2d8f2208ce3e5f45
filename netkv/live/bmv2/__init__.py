"""bmv2 as the switch of a lab: p4c, simple_switch_grpc, and frames to and from its ports.

`toolchain` finds the programs, `compiler` compiles and caches, and `process` starts a switch.
`packet_stream` is the way to its ports and `queues` that of its queue depths. `comparison`
runs bmv2 and the engine side by side, and `setup` gives bmv2 the state of a packet test. The
control plane needs none of this: it uses P4Runtime as on any other switch. docs/use/bmv2.md has the
overview.
"""
