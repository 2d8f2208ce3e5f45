"""The specification of a lab with the options of all schemes, and of a rack in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationInfo, create_model, field_validator

from netkv.model.hardware import GenericLab
from netkv.model.spec import GenericRack
from netkv.schemes import registry
from netkv.schemes.registry import all_schemes

if TYPE_CHECKING:

    class LabSpec(GenericLab):
        """The hardware of one rack, and the options of all schemes (`SchemeOptions.of`)."""

        def __init__(self, **options: Any) -> None: ...

else:
    LabSpec = create_model(
        "LabSpec",
        __base__=GenericLab,
        __module__=__name__,
        __doc__="The hardware of one rack: servers, clients, the switch and its cache.",
        **{
            name: (field.annotation, field)
            for scheme in all_schemes()
            for name, field in scheme.options.model_fields.items()
        },
    )
    LabSpec.declared_by = {
        name: scheme.options for scheme in all_schemes() for name in scheme.options.model_fields
    }


class RackSpec(GenericRack):
    """The specification of a rack and its load."""

    lab: Annotated[LabSpec, Field(validate_default=True)] = LabSpec()
    """With the whole topology: what was left out is that of the scheme."""

    @field_validator("lab")
    @classmethod
    def _topology_of_scheme(cls, lab: LabSpec, info: ValidationInfo) -> LabSpec:
        # A scheme that is not installed is reported when the rack is used.
        scheme = registry.catalogue().schemes.get(info.data.get("scheme", ""))
        return lab if scheme is None else scheme.with_topology(lab)
