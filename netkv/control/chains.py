"""Chains of switches: those that the requests for the keys of a server pass, layer by layer."""

from netkv.model.network import Network, SwitchPlan


def chain_of(network: Network, tail: str) -> tuple[SwitchPlan, ...]:
    """The switches that all requests for the servers of `tail` pass in layers (rule 2 of
    `netkv.model.network`), from the first layer to `tail`. In a network without layers it is
    `tail` alone."""
    position = network.positions.get(tail)
    if position is None:
        return (network.switch(tail),)
    return tuple(plan for plan in network.switches if network.positions.get(plan.name) == position)
