"""The exceptions of this package. All of them are `QuaysideError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class QuaysideError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(QuaysideError):
    """No server or token is configured, or the file of contexts is wrong."""


class ConnectionFailed(QuaysideError, ConnectionError):
    """The server did not answer, or the connection broke."""


class APIError(QuaysideError):
    """A refusal by the server.

    `status` is the HTTP status, `code` one of the codes in docs/reference/codes.md, `msg` one
    sentence, `field` the body field or query parameter at fault or `None`, and `extra` the other
    fields of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        msg: str,
        *,
        field: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{msg} ({code})")
        self.status = status
        self.code = code
        self.msg = msg
        self.field = field
        self.extra: Mapping[str, Any] = extra or {}


class Unauthorized(APIError):
    """401: the token is wrong, expired or revoked."""


class Forbidden(APIError):
    """403: the caller may not do this."""


class NotFound(APIError):
    """404: it does not exist, or the caller may not see it."""


class Conflict(APIError):
    """409, 412 or 423: another state, a newer version or a lock is in the way."""


class TooManyRequests(APIError):
    """429: wait a moment and try again."""


class RunFailed(APIError):
    """A run ended before it was ready. `run_id` is its ID; `hint` says what the person can do."""

    def __init__(self, run_id: int, status: int, reason: Mapping[str, Any]) -> None:
        super().__init__(status, str(reason["code"]), str(reason["msg"]), extra={"Reason": reason})
        self.run_id = run_id
        hint = reason.get("hint")
        self.hint: str | None = None if hint is None else str(hint)
        if self.hint is not None:
            self.add_note(self.hint)


_by_status: dict[int, type[APIError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    423: Conflict,
    429: TooManyRequests,
}


def error_from(status: int, body: object) -> APIError:
    """The error of an answer. `body` is its JSON, or anything else if a proxy answered."""
    kind = _by_status.get(status, APIError)
    if not isinstance(body, dict) or not isinstance(body.get("msg"), str):
        return kind(
            status, "internal", f"The answer {status} is none of Quayside's; does a proxy answer?"
        )
    known = ("ok", "msg", "code", "field")
    extra = {key: value for key, value in body.items() if key not in known}
    code, field = str(body.get("code", "internal")), body.get("field")
    return kind(status, code, body["msg"], field=None if field is None else str(field), extra=extra)
