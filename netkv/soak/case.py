"""A case with the options of all schemes, and its file, which can be replayed."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from netkv import kinds
from netkv.errors import UsageError
from netkv.events.case import GenericCase
from netkv.schemes.spec import RackSpec


class Case(GenericCase):
    """One run."""

    rack: RackSpec


def load(file: Path) -> Case:
    """Reads a case from a file; raises `UsageError` if it contains none."""
    try:
        return Case.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    except ValidationError as error:
        raise UsageError(
            f"{file} is not a case of 'netkv soak' ({kinds.first(error)}). "
            f"'netkv soak SCHEME' writes one when it finds a violation."
        ) from error


def save(case: Case, file: Path) -> None:
    """Writes a case to a file for `load`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    document = case.model_dump(mode="json", exclude_defaults=True)
    # The whole topology: what is left out of it has the default of the scheme, not of the model.
    lab = document["rack"].setdefault("lab", {})
    lab["topology"] = case.rack.lab.topology.model_dump(mode="json")
    text = json.dumps(document, indent=2, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
