"""Requests to one server, and what it answers."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from netkv.api_client.errors import ApiError, NoServerError, WrongField
from netkv.errors import UsageError

PREFIX = "/api/v1"
_MAX_SENTENCE = 500


_END = "-----END CERTIFICATE-----"


class Connection:
    """Sends requests, each over a connection of its own, so it may be used from any thread.

    Proxies of the environment are not used, and redirections not followed: the token must reach
    this server only.
    """

    def __init__(
        self, url: str, token: str | None, cert: str | Path | None, timeout: float
    ) -> None:
        """`cert`: certificate of the server, if no authority of this machine has signed it."""
        wrong = f"'{url}' should be the URL of a server, like http://127.0.0.1:8400"
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            raise UsageError(wrong) from None
        if parts.scheme not in ("http", "https") or not self._host or parts.query:
            raise UsageError(wrong)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise UsageError("The token should be the line that 'netkv token' prints.")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._path = parts.path.rstrip("/")
        self._trust = _trust(cert) if parts.scheme == "https" else None
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def json(
        self, method: str, path: str, query: Mapping[str, Any], body: Any, timeout: float
    ) -> Any:
        """The document that the server answers; raises `ApiError` or `NoServerError`."""
        content = None if method == "GET" else json.dumps(body if body is not None else {})
        headers = {} if content is None else {"Content-Type": "application/json"}
        with self.opened(method, path, query, content, headers, timeout) as answer:
            text = _read(answer, self.url)
        try:
            return json.loads(text)
        except ValueError as error:
            raise ApiError(f"{self.url} answered with something else than JSON.") from error

    @contextmanager
    def opened(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        content: str | None,
        headers: Mapping[str, str],
        timeout: float,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to a request, if it is no error."""
        connection = self._connection(timeout)
        given = {name: value for name, value in query.items() if value is not None}
        encoded = urlencode(given, doseq=True)
        target = f"{self._path}{PREFIX}{path}" + (f"?{encoded}" if encoded else "")
        try:
            try:
                body = None if content is None else content.encode()
                connection.request(method, target, body, {**self._headers, **headers})
                answer = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise NoServerError(
                    f"{self.url} does not answer: {_reason(error)}. Does 'netkv serve' run there?"
                ) from error
            if not 200 <= answer.status < 300:
                raise _refused(answer.status, _read(answer, self.url), self.url)
            yield answer
        finally:
            connection.close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._trust is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=timeout, context=self._trust
        )


def _trust(cert: str | Path | None) -> ssl.SSLContext:
    """Trusts the authorities of this machine, or exactly this certificate whatever its names."""
    if cert is None:
        return ssl.create_default_context()
    try:
        # The certificates behind the first one are authorities, which have signed others, too.
        text = Path(cert).read_text(encoding="ascii")
        trust = ssl.create_default_context(cadata=text[: text.index(_END) + len(_END)])
    except (OSError, ValueError) as error:
        raise UsageError(f"The certificate {cert} cannot be read: {_reason(error)}.") from error
    trust.check_hostname = False
    trust.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return trust


def _read(answer: http.client.HTTPResponse, url: str) -> bytes:
    try:
        return answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise NoServerError(f"The answer of {url} is incomplete: {_reason(error)}.") from error


def _refused(status: int, text: bytes, url: str) -> ApiError:
    """The error in a problem document."""
    try:
        problem = json.loads(text)
        wrong = [WrongField(**each) for each in problem.get("errors", [])]
        return ApiError(str(problem["detail"])[:_MAX_SENTENCE], status, wrong)
    except (ValueError, TypeError, KeyError, AttributeError):
        return ApiError(f"{url} answered with the status {status}.", status)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted, {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "the time is over"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or "it has ended"
