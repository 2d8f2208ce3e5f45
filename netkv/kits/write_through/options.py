"""Options of write-through caches."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netkv.model.scheme_options import SwitchCache


class WriteThroughOptions(SwitchCache):
    """Options of write-through caches."""

    left_out = {"sample_rate": 1.0}  # noqa: RUF012 (declared as ClassVar by the base)

    cache_rows: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Rows of the switch's eight value arrays that the cache may fill; left out, all there are."""
