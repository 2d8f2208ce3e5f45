"""How hosts are spread over switches."""


def spread(hosts: int, switches: int) -> list[int]:
    """The switch of each host: consecutive hosts share one, and the loads differ by at most one."""
    return [host * switches // hosts for host in range(hosts)]
