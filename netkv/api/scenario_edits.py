"""Changes of a scenario's text that a request asks for.

Apart from the routes, since the process that makes them needs no web framework.
"""

from __future__ import annotations

from netkv.api.jobs import requests
from netkv.api.models.scenarios import EditedScenario, EditRequest
from netkv.scenarios import editing, fitting, loader, sources
from netkv.scenarios.editing import Change
from netkv.scenarios.flattening import flattened


def edited(work: tuple[EditRequest, str | None]) -> EditedScenario:
    """The changed text of a request; with it, the text of the file of `request.scenario`."""
    request, original = work
    name = requests.OWN_FILE
    text = request.yaml if request.yaml is not None else original or ""
    changes = [Change(tuple(it.path), it.value, it.remove) for it in request.changes]
    if request.set or changes or request.fit:
        # A change may concern an option that only a base has.
        text = flattened(sources.reads(text, name))
    text = editing.assign(text, request.set, name)
    text = editing.apply(text, changes, name)
    document = sources.reads(text, name).options
    if request.fit:
        text = editing.apply(text, list(fitting.misfits(document)), name)
        document = sources.reads(text, name).options
    items = None
    if original is not None:
        items = editing.assignments(loader.parsed(original, name), document)
    return EditedScenario(
        yaml=text,
        document=document,
        lines=editing.lines(text),
        set=items,
        exact=items is not None and editing.assign(original or "", items, name) == text,
    )
