"""Stand-ins for `p4c-bm2-ss` and `simple_switch_grpc`, for machines that have neither.

`python -m tests.lab.bmv2_standin compile|switch OPTIONS` takes the options that netkv gives the
real programs. The compiler is netkv's front end and writes a bundle of netkv as `program.json`. The
switch is netkv's engine behind its P4Runtime server and behind bmv2's gRPC service for the frames
of ports.

A lab on the stand-ins runs the whole path of the target `bmv2`: processes, compilation, cache,
packet stream, P4Runtime. The stand-ins do not show that bmv2 and p4c agree with the engine:
`tests/lab/test_real_bmv2.py` runs the real programs where they are installed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import queue
import stat
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import grpc
from grpc import aio

from netkv import _engine, resources, schemes
from netkv.live.bmv2.packet_stream import METHOD, Request, Response
from netkv.p4rt import p4info
from netkv.p4rt.server import P4RuntimeServer
from netkv.schemes.spec import LabSpec

ROOT = Path(__file__).parent.parent.parent
OPTIONS = "--no-p4 --device-id --log-console --log-level --grpc-server-addr --dp-grpc-server-addr"
WARNING = "[--Wwarn=unused] warning: 'nothing': a warning of the stand-in"


def install(folder: Path) -> None:
    """Writes both programs into a folder, which the caller adds to PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("p4c-bm2-ss", "compile"), ("simple_switch_grpc", "switch")):
        program = folder / name
        # `--version` and `--help` are answered without starting Python.
        program.write_text(
            f"#!/bin/sh\n"
            f"case $1 in\n"
            f"--version) echo 'Version 0.0-stand-in'; exit;;\n"
            f"--help) echo '{OPTIONS}'; exit;;\n"
            f"esac\n"
            f'PYTHONPATH={ROOT} exec {sys.executable} -m tests.lab.bmv2_standin {part} "$@"\n'
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)


# ------------------------------------------------------------------------------- p4c


def compile_main(arguments: list[str]) -> None:
    """Compiles a program.

    `STANDIN_COMPILED` names a file to which each call appends a line. `STANDIN_FAULT` is a fault,
    as `OLD=>NEW`: the compiler replaces OLD with NEW in the program.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--std", choices=["p4-16"])
    parser.add_argument("-D", action="append", default=[])
    parser.add_argument("-I", action="append", default=[])
    parser.add_argument("-o", required=True)
    parser.add_argument("--p4runtime-files", required=True)
    parser.add_argument("program")
    given = parser.parse_args(arguments)
    defines = dict(each.split("=", 1) for each in given.D)
    program = given.program
    if fault := os.environ.get("STANDIN_FAULT"):
        program = f"{given.o}.p4"
        old, new = fault.split("=>")
        text = Path(given.program).read_text()
        assert old in text
        Path(program).write_text(text.replace(old, new))
    try:
        bundle = _engine.compile_p4(program, given.I, defines)
    except _engine.CompileError as error:
        sys.exit(str(error))
    Path(given.o).write_bytes(bundle)
    Path(given.p4runtime_files).write_bytes(p4info.from_bundle(bundle).SerializeToString())
    print(WARNING, file=sys.stderr)
    if (counted := os.environ.get("STANDIN_COMPILED")) is not None:
        with open(counted, "a") as file:
            print(given.program, file=file)


# ---------------------------------------------------------------- simple_switch_grpc


def switch_main(arguments: list[str]) -> None:
    """Runs the switch until a signal ends the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-p4", action="store_true", required=True)
    parser.add_argument("--device-id", type=int, default=0)
    parser.add_argument("--log-console", action="store_true")
    parser.add_argument("--thrift-port", help="nothing listens there")
    parser.add_argument("--log-level")
    target = argparse.ArgumentParser()
    target.add_argument("--grpc-server-addr", required=True)
    target.add_argument("--cpu-port", type=int)
    target.add_argument("--dp-grpc-server-addr", required=True)
    target.add_argument("--priority-queues", type=int, default=1)
    separator = arguments.index("--")
    common = parser.parse_args(arguments[:separator])
    own = target.parse_args(arguments[separator + 1 :])
    asyncio.run(StandIn(common.device_id, own.cpu_port).serve(own))


class StandIn(grpc.GenericRpcHandler):
    """The switch. Its ports use gRPC, its CPU port P4Runtime (`netkv.p4rt.target.PacketPort`)."""

    def __init__(self, device_id: int, cpu_port: int | None) -> None:
        self._device_id = device_id
        self._cpu_port = cpu_port
        # The engine needs a program. `_stream` refuses frames until P4Runtime has set another one.
        placeholder = schemes.all_schemes()[0].compile(LabSpec())
        self._switch = _engine.Switch(placeholder)
        self._packet_ins: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._sent: asyncio.Queue[Any] = asyncio.Queue()
        self._active = False
        self._server = P4RuntimeServer(
            self._switch, self, device_id=device_id, include_dirs=[str(resources.path("p4"))]
        )

    async def serve(self, options: argparse.Namespace) -> None:
        dataplane = aio.server()
        dataplane.add_generic_rpc_handlers((self,))
        assert dataplane.add_insecure_port(options.dp_grpc_server_addr)
        await dataplane.start()
        await self._server.start(int(options.grpc_server_addr.rpartition(":")[2]))
        await asyncio.Event().wait()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        if details.method != METHOD:
            return None
        handler: grpc.RpcMethodHandler[Any, Any] = grpc.stream_stream_rpc_method_handler(
            self._stream, Request.FromString, Response.SerializeToString
        )
        return handler

    async def _stream(
        self, requests: AsyncIterator[Any], context: aio.ServicerContext[Any, Any]
    ) -> None:
        if self._server.pipelines.committed is None:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "not ready")
        if self._active:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "only one client")
        self._active = True
        writer = asyncio.create_task(self._write(context))
        try:
            async for request in requests:
                if request.device_id == self._device_id:
                    self._emit(self._switch.process(request.port, request.packet))
        finally:
            self._active = False
            writer.cancel()

    async def _write(self, context: aio.ServicerContext[Any, Any]) -> None:
        while True:
            await context.write(await self._sent.get())

    def _emit(self, frames: Iterable[tuple[int, bytes]]) -> None:
        for port, frame in frames:
            if port == self._cpu_port:
                self._packet_ins.put(frame)
            elif self._active:
                self._sent.put_nowait(Response(device_id=self._device_id, port=port, packet=frame))

    def packet_out(self, frame: bytes) -> None:
        assert self._cpu_port is not None
        self._emit(self._switch.process(self._cpu_port, frame))

    def wait(self, timeout_s: float) -> tuple[list[bytes], list[_engine.DigestMessage]]:
        digests = self._switch.take_digests()
        frames: list[bytes] = []
        try:
            frames.append(self._packet_ins.get(timeout=0 if digests else min(timeout_s, 0.005)))
            while True:
                frames.append(self._packet_ins.get_nowait())
        except queue.Empty:
            return frames, digests


if __name__ == "__main__":
    part, *rest = sys.argv[1:]
    {"compile": compile_main, "switch": switch_main}[part](rest)
