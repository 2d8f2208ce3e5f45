"""Models of the messages of the event stream."""

from __future__ import annotations

from netkv.api.models.base import Model
from netkv.api.models.jobs import Jobs
from netkv.api.models.labs import LabUpdate
from netkv.scenarios.results import RunEvent, RunSample


class StreamedSample(Model):
    """An interval of a run: message `sample`."""

    id: int
    run: str
    sample: RunSample


class StreamedEvent(Model):
    """An event of a run: message `event`."""

    id: int
    run: str
    event: RunEvent


class LabUpdates(Model):
    """What is new about all labs: message `labs`, of streams with `?labs=true`."""

    labs: list[LabUpdate]
    """All labs; one that is missing does not exist any more."""


class Dropped(Model):
    """Message `dropped`: the stream was not read for long, so messages are missing here."""

    count: int
    """Number of dropped messages; the store has their samples and events."""


MESSAGES = (Jobs, StreamedSample, StreamedEvent, LabUpdates, Dropped)
"""The bodies of all messages: `jobs`, `sample`, `event`, `labs`, `dropped`."""
