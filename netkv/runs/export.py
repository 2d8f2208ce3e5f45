"""Export of runs: one JSON document, or CSV with a line per interval."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from netkv.runs.records import RunRecord

_BY_SWITCH = "control_plane_mib_per_s_by_switch"


def to_json(records: Sequence[RunRecord]) -> str:
    """`{"runs": [...]}`: the complete records of the runs."""
    return json.dumps({"runs": [record.model_dump(mode="json") for record in records]}, indent=2)


def to_csv(records: Sequence[RunRecord]) -> str:
    """The series in long form: a line per run and interval, a column per server and switch.

    Each sweep parameter is a column `param:PATH`. Unknown values are empty.
    """
    params = list(dict.fromkeys(path for record in records for path in record.params))
    servers = max(
        (len(load) for record in records for load in record.series.get("server_load", [])),
        default=0,
    )
    names = dict.fromkeys(name for record in records for name in record.series)
    plain = [name for name in names if name not in ("server_load", _BY_SWITCH)]
    switches = sorted(
        {
            switch
            for record in records
            for rates in record.series.get(_BY_SWITCH, [])
            for switch in rates
        }
    )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["run", "group", "scenario", "scheme", "repeat", "seed", "status"]
        + [f"param:{path}" for path in params]
        + plain
        + [f"server_load_{index}" for index in range(servers)]
        + [f"control_plane_mib_per_s:{switch}" for switch in switches]
    )
    for record in records:
        about = [record.id, record.group, record.scenario, record.scheme, record.repeat]
        about += [record.seed, record.status, *(record.params.get(path) for path in params)]
        for index in range(len(record.series.get("time", []))):
            load = record.series["server_load"][index]
            writer.writerow(
                about
                + [record.series[name][index] if name in record.series else None for name in plain]
                + [load[i] if i < len(load) else None for i in range(servers)]
                + [record.series[_BY_SWITCH][index].get(switch) for switch in switches]
            )
    return out.getvalue()
