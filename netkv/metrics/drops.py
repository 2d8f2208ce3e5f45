"""Counters of what nodes drop, by the names in their answers."""

from __future__ import annotations

from collections.abc import Mapping

_FRAMES = ("send_drops", "receive_drops", "crossing_drops")
_CONTROL = ("cpu_queue_drops", "packet_out_drops")
_REPORTS = ("report_drops", "digest_drops")

SWITCH_DROPS = ("malformed", "unrouted", *_FRAMES, *_CONTROL, *_REPORTS, "links_dropped")
"""Frames and messages that a switch has dropped at full queues or as invalid."""
NODE_DROPS = (*SWITCH_DROPS, "links_lost")
"""The same with the frames that the impaired links of a node have lost."""
QUEUE_DROPS: Mapping[str, tuple[str, ...]] = {
    "control": (
        *_CONTROL,
        *("control_dropped", "outbox_drops", "outbox_idle_drops"),
        *("events_dropped", "frames_dropped"),
    ),
    "reports": (
        *_REPORTS,
        *("reports_dropped", "outbox_report_drops", "acknowledgements_dropped"),
    ),
    "frames": (*_FRAMES, "link_drops", "pipeline_drops", "client_drops"),
}
"""What was dropped at full queues: messages and reports between switches and controllers, and
frames between nodes."""
