"""The token of a request: in the header or in the cookie, and the form that sets the cookie.

A browser cannot add a header to the requests of a page's files and event streams, so it has the
token in a cookie. `POST /login` with the form sets it, `POST /logout` clears it. Every other
request without the token gets 401 and nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope, Send

from netkv.api import limits, problems
from netkv.api.access import Access
from netkv.api.body import Body, TooLargeError
from netkv.api.token import Token

COOKIE = "netkv-token"
_FORM = "application/x-www-form-urlencoded"

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:30rem;margin:15vh auto;padding:0 1rem}"
    "input,button{font:inherit;padding:.4rem .6rem}input{width:100%;box-sizing:border-box}"
    ":root{color-scheme:light dark}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>netkv: token needed</title>
<style>{style}</style>
</head>
<body>
<h1>netkv</h1>
<p>{sentence}</p>
<form method="post" action="/login">
<p><label for="token">Token</label><br>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
</p>
<p><button type="submit">Log in</button></p>
</form>
</body>
</html>
"""
_NEEDED = "This server needs its token. 'netkv token' prints it, on the machine of the server."
_WRONG = "This is not the token. 'netkv token' prints it, on the machine of the server."
_OFTEN = "Too many wrong tokens from this address. Try again in a minute."


class Login:
    """Answers what is not the application's: requests without the token, `/login`, `/logout`."""

    def __init__(self, access: Access, token: Token) -> None:
        self._access = access
        self._token = token
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        """Times of the wrong tokens of each address."""

    async def answered(self, scope: Scope, headers: Headers, body: Body, send: Send) -> bool:
        """Whether the request was answered; otherwise it has the token."""
        path, posted = scope["path"], scope["method"] == "POST"
        if path == "/login" and posted:
            response = await self._login(scope, headers, body)
        elif not self._has_token(headers):
            response = _unauthorized(headers, _NEEDED)
        elif path == "/logout" and posted:
            response = self._logout(scope, headers)
        else:
            return False
        await body.refuse(response, scope, send)
        return True

    def _has_token(self, headers: Headers) -> bool:
        given = headers.get("authorization")
        if given is not None:
            kind, _, token = given.partition(" ")
            return kind.lower() == "bearer" and self._matches(token.strip())
        cookie = _cookie(headers)
        return cookie is not None and self._matches(cookie)

    def _matches(self, token: str) -> bool:
        return self._token.matches(token.encode(errors="replace"))

    async def _login(self, scope: Scope, headers: Headers, body: Body) -> Response:
        address = str((scope.get("client") or ("",))[0])
        if self._is_limited(address):
            after = str(int(limits.LOGIN_WINDOW_SECONDS))
            return _refused(429, headers, _OFTEN, {"retry-after": after})
        # Before the token is read: pages of other sites must not use up the attempts of a browser.
        refusal = self._access.refusal(scope, headers)
        if refusal is not None:
            return _unauthorized(headers, refusal[1])
        token = await _posted_token(headers, body)
        if token is None or not self._matches(token):
            self._count_failed(address)
            await asyncio.sleep(limits.LOGIN_DELAY_SECONDS)
            return _unauthorized(headers, _WRONG)
        response = Response(status_code=303, headers={"location": "/"})
        response.set_cookie(
            COOKIE,
            token,
            path="/",
            secure=scope["scheme"] == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    def _logout(self, scope: Scope, headers: Headers) -> Response:
        refusal = self._access.refusal(scope, headers)
        if refusal is not None:
            return problems.document(*refusal)
        response = Response(status_code=303, headers={"location": "/"})
        response.delete_cookie(
            COOKIE,
            path="/",
            secure=scope["scheme"] == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    def _is_limited(self, address: str) -> bool:
        times = self._failed.get(address, deque())
        while times and times[0] < time.monotonic() - limits.LOGIN_WINDOW_SECONDS:
            times.popleft()
        return len(times) >= limits.LOGIN_ATTEMPTS

    def _count_failed(self, address: str) -> None:
        self._failed.setdefault(address, deque()).append(time.monotonic())
        self._failed.move_to_end(address)
        while len(self._failed) > limits.LOGIN_ADDRESSES:
            self._failed.popitem(last=False)


def _cookie(headers: Headers) -> str | None:
    for line in headers.getlist("cookie"):
        try:
            cookies = SimpleCookie(line)
        except CookieError:
            continue
        if COOKIE in cookies:
            return cookies[COOKIE].value
    return None


async def _posted_token(headers: Headers, body: Body) -> str | None:
    """The token in the form; None if there is none."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return None
    declared = headers.get("content-length")
    try:
        text = await body.read(declared, limits.LOGIN_BODY, limits.BODY_SECONDS)
        fields = parse_qs(text.decode("ascii"), max_num_fields=8)
    except (TooLargeError, TimeoutError, ConnectionError, ValueError):
        return None
    return fields.get("token", [""])[0].strip()


def _unauthorized(headers: Headers, sentence: str) -> Response:
    return _refused(401, headers, sentence, {"www-authenticate": "Bearer"})


def _refused(status: int, headers: Headers, sentence: str, more: Mapping[str, str]) -> Response:
    """The form for a browser, a problem document for others."""
    if "text/html" not in headers.get("accept", ""):
        return problems.document(status, sentence, headers=more)
    page = _PAGE.format(style=_STYLE, sentence=sentence.replace("'", "&#39;"))
    own = {
        "content-security-policy": _POLICY,
        # With 'no-referrer', browsers send the form with 'Origin: null'.
        "referrer-policy": "same-origin",
    }
    return HTMLResponse(page, status, headers={**more, **own})
