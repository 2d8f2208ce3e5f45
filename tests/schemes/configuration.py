"""What a control plane of a cache takes: the scheme's options, and its other parameters."""

from dataclasses import replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

from netkv.control.cache_parameters import CacheParameters
from netkv.model.scheme_options import SwitchCache

OptionsT = TypeVar("OptionsT", bound=SwitchCache)
ParametersT = TypeVar("ParametersT", bound=CacheParameters)


class Configuration(NamedTuple, Generic[OptionsT, ParametersT]):
    """The last two arguments of a control plane, in their order."""

    options: OptionsT
    parameters: ParametersT

    def changed(self, **changes: Any) -> Self:
        """With other values of these options and parameters, by their names."""
        known = type(self.options)
        options = {name: changes.pop(name) for name in known.model_fields if name in changes}
        return self._replace(
            options=known(**self.options.model_dump() | options),
            parameters=replace(self.parameters, **changes),
        )
