"""The certificate and the key of a server that encrypts."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from netkv.errors import NetkvError, UsageError


@dataclass(frozen=True)
class Certificate:
    """Files in PEM format that belong together."""

    cert: Path
    key: Path


def checked(cert: Path | None, key: Path | None) -> Certificate | None:
    """The files of `--tls-cert` and `--tls-key`; None without both.

    Raises `UsageError` if one is missing, and `NetkvError` if they cannot be used.
    """
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        missing = "--tls-cert" if cert is None else "--tls-key"
        raise UsageError(f"TLS needs a certificate and its key: '{missing}' is missing.")
    for file in (cert, key):
        try:
            file.read_bytes()
        except OSError as error:
            raise NetkvError(f"{file} cannot be read: {error.strerror}.") from error

    def encrypted() -> str:
        raise NetkvError(f"The key in {key} is encrypted. A server needs one without a password.")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, encrypted)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise NetkvError(f"The key in {key} is not that of the certificate {cert}.") from error
        raise NetkvError(
            f"{cert} and {key} are not a certificate and its key in PEM format."
        ) from error
    return Certificate(cert.absolute(), key.absolute())
