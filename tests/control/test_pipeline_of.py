"""Control planes and engine assign the same pipeline to each port."""

from __future__ import annotations

import json

import pytest

from netkv import _engine
from netkv.control.pipelines import pipeline_of

# The ingress marks its port in the register `seen`.
PROGRAM = """
#include <core.p4>
#include <v1model.p4>
struct headers_t { }
struct meta_t { }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<16>>(512) seen;
    apply { seen.write((bit<32>)s.ingress_port, 1); mark_to_drop(s); }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


@pytest.mark.parametrize("pipelines", [1, 2, 4])
def test_engine_and_control_plane_agree_on_pipelines(
    pipelines: int,
) -> None:
    bundle = _engine.compile_source("ports.p4", PROGRAM)
    switch = _engine.Switch(bundle, pipelines=pipelines)
    for port in range(511):
        switch.process(port, bytes(14))
    (register,) = [
        register["identity"]["id"]
        for register in json.loads(bundle.split(b"\n", 1)[1])["program"]["registers"]
    ]
    for pipeline in range(pipelines):
        cells = switch.read_register(register, pipeline=pipeline)
        marked = {port for port, value in cells if value[-1]}
        assert marked == {port for port in range(511) if pipeline_of(port, pipelines) == pipeline}


@pytest.mark.parametrize("pipelines", [0, 3, 8])
def test_impossible_number_of_pipelines_is_refused(pipelines: int) -> None:
    bundle = _engine.compile_source("ports.p4", PROGRAM)
    with pytest.raises(ValueError, match=f"A switch has 1, 2 or 4 pipelines, not {pipelines}."):
        _engine.Switch(bundle, pipelines=pipelines)
