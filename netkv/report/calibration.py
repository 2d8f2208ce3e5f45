"""The result of `netkv calibrate` as a table."""

from __future__ import annotations

from rich import box
from rich.table import Table

from netkv.calibration.calibrate import STORE_BATCH, WINDOW, Figures
from netkv.model.profile import Profile


def table(figures: Figures, profile: Profile) -> Table:
    """A line for each measurement, with the value in the profile."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("measured", no_wrap=True)
    shown.add_column("", justify="right", no_wrap=True)
    shown.add_column("in the profile", no_wrap=True)
    switch, server = profile.switch, profile.server
    loaded = f"{WINDOW} outstanding"
    rows = [
        ("round trip to an echo on loopback", _us(figures.echo_round_trip), ""),
        (
            "round trip of a read hit",
            _us(figures.hit_round_trip),
            f"client link {profile.client_link.delay:g} µs",
        ),
        (
            "round trip of a read miss",
            _us(figures.miss_round_trip),
            f"server link {profile.server_link.delay:g} µs",
        ),
        (
            "switch, a packet alone",
            _us(figures.switch_single_packet),
            f"switch latency {switch.latency:g} µs",
        ),
        (
            f"switch, a packet, {loaded}",
            _us(figures.switch_packet),
            f"{switch.packet_rate:,.0f} packets/s",
        ),
        (f"client, an operation, {loaded}", _us(figures.client_operation), "send, receive"),
        ("echo, a frame in and one out", _us(figures.echo_frame), "server receive, send"),
        (f"server, a get, {loaded}", _us(figures.server_get), f"get {server.get.mean:g} µs"),
        (f"server, a put, {loaded}", _us(figures.server_put), f"put {server.put.mean:g} µs"),
        (
            f"server, a delete, {loaded}",
            _us(figures.server_delete),
            f"delete {server.delete.mean:g} µs",
        ),
        (
            "table write and its answer",
            _us(figures.write_round_trip),
            f"control latency {profile.control.latency:g} µs",
        ),
        ("packet-out and packet-in", _us(figures.packet_round_trip), ""),
        ("table writes", f"{figures.writes_per_s:,.0f}/s", f"{profile.control.rate:,.0f}/s"),
        ("packet-outs", f"{figures.packets_per_s:,.0f}/s", ""),
    ]
    for name, store in figures.backends.items():
        times = ", ".join(f"{each.mean:.1f}" for each in (store.get, store.put, store.delete))
        rows.append((f"{name}, get, put, delete by {STORE_BATCH}", f"{times} µs", name))
    for row in rows:
        shown.add_row(*row)
    return shown


def _us(microseconds: float) -> str:
    return f"{microseconds:,.2f} µs"
