"""Errors of the P4Runtime service: a gRPC status and one sentence.

Every module below the RPC handlers raises `RpcError`; `server.py` turns it into the status of the
call, or into one `p4.v1.Error` for each part of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import grpc
from finsy.proto import p4r, rpc_status
from google.protobuf import any_pb2

DETAILS_KEY = "grpc-status-details-bin"
"""Trailing metadata that carries a serialized `google.rpc.Status`."""

DETAILS_LIMIT = 60_000
"""Maximum bytes of details: a common client (finsy) accepts 64 KiB of metadata."""

Code = grpc.StatusCode


class RpcError(Exception):
    """A request, or one of its parts, cannot be done.

    `code` is the gRPC status; `str()` is a sentence with the fault and the expected value.
    """

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> RpcError:
    """The request itself is wrong, independent of the state of the switch."""
    return RpcError(Code.INVALID_ARGUMENT, message)


def not_found(message: str) -> RpcError:
    """An object that the request names does not exist."""
    return RpcError(Code.NOT_FOUND, message)


def unimplemented(message: str) -> RpcError:
    """A feature of P4Runtime that this server does not support."""
    return RpcError(Code.UNIMPLEMENTED, message)


class EngineError(Protocol):
    """The shape of `netkv._engine.ControlError`: a status name beside the sentence."""

    code: str


def from_engine(error: EngineError) -> RpcError:
    """An error that the engine raised, with its status name looked up."""
    return RpcError(getattr(Code, error.code, Code.INTERNAL), str(error))


def code_number(code: grpc.StatusCode) -> int:
    """The number of a status on the wire."""
    number: int = code.value[0]
    return number


def code_of(number: int) -> grpc.StatusCode:
    """The status with a number from the wire; UNKNOWN for numbers that gRPC does not define."""
    return next((code for code in Code if code_number(code) == number), Code.UNKNOWN)


def p4_error(error: RpcError | None) -> p4r.Error:
    """The `p4.v1.Error` of one update; code OK for one that succeeded."""
    if error is None:
        return p4r.Error()
    return p4r.Error(canonical_code=code_number(error.code), message=error.message, space="netkv")


def batch_status(what: str, results: Sequence[RpcError | None]) -> tuple[str, bytes]:
    """Message and serialized details of a Write or Read of which at least one part failed.

    `what` is "update" or "request". The details hold one `p4.v1.Error` for each part in order. gRPC
    clients limit the size of metadata and would lose the whole status beyond it, so the list is cut
    at `DETAILS_LIMIT`; the message has a note if failures are cut.
    """
    failed = [index for index, result in enumerate(results) if result is not None]
    # ABORTED parts were only undone or not tried; another part is the cause.
    cause = next((at for at in failed if _code(results[at]) is not Code.ABORTED), failed[0])
    message = f"{len(failed)} of {len(results)} {what}s failed; {what} {cause}: {results[cause]}"
    details: list[any_pb2.Any] = []
    size = len(message)
    for index, result in enumerate(results):
        detail = any_pb2.Any()
        detail.Pack(p4_error(result))
        size += detail.ByteSize() + 4
        if size > DETAILS_LIMIT:
            shown = sum(1 for at in failed if at < index)
            if shown < len(failed):
                message += f" (details of the first {shown} failures only; write smaller batches)"
            break
        details.append(detail)
    status = rpc_status.Status(code=code_number(Code.UNKNOWN), message=message, details=details)
    return message, status.SerializeToString()


def _code(error: RpcError | None) -> grpc.StatusCode | None:
    return None if error is None else error.code


def read_status(data: bytes) -> dict[int, RpcError]:
    """The failed parts of a Write or Read from its details, by index in the request."""
    status = rpc_status.Status()
    status.ParseFromString(data)
    failed: dict[int, RpcError] = {}
    for index, detail in enumerate(status.details):
        error = p4r.Error()
        if detail.Unpack(error) and error.canonical_code:
            failed[index] = RpcError(code_of(error.canonical_code), error.message)
    return failed
