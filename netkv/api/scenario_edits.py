"""Changes of a scenario's text that a request asks for.

Apart from the routes, since the process that makes them needs no web framework.
"""

from __future__ import annotations

from netkv.api.jobs import requests
from netkv.api.models.scenarios import EditedScenario, EditRequest
from netkv.scenarios import editing, fitting, loader
from netkv.scenarios.editing import Change


def edited(work: tuple[EditRequest, str | None]) -> EditedScenario:
    """The changed text of a request; with it, the text of the file of `request.scenario`."""
    request, original = work
    name = requests.OWN_FILE
    text = request.yaml if request.yaml is not None else original or ""
    text = editing.assign(text, request.set, name)
    changes = [Change(tuple(it.path), it.value, it.remove) for it in request.changes]
    text = editing.apply(text, changes, name)
    document = loader.parsed(text, name)
    if request.fit:
        text = editing.apply(text, list(fitting.misfits(document)), name)
        document = loader.parsed(text, name)
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
