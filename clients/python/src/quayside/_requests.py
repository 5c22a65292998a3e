"""The parts of requests and answers that both clients share; nothing here waits."""

from __future__ import annotations

import json
import re
import ssl
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from .errors import APIError, RunFailed, error_from

Scalar = str | int | float | bool
Pairs = list[tuple[str, Scalar | None]]
#: States in which a run has not ended.
LIVE_STATES = ("queued", "pulling", "creating", "starting", "ready", "stopping")
#: Bytes in each unit of the server's amounts of memory.
_UNITS = {"bytes": 1, "MiB": 1 << 20, "GiB": 1 << 30}
_SUFFIXES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def user_agent() -> str:
    return f"quayside-python/{version('quayside')}"


def trust_for(url: str) -> ssl.SSLContext | bool:
    """The system's certificate authorities, which organizations extend with their own."""
    return ssl.create_default_context() if url.startswith("https:") else True


def query_pairs(query: Mapping[str, Scalar | Sequence[Scalar] | None]) -> Pairs:
    """The parameters that are not `None`; a sequence repeats its name."""
    pairs: Pairs = []
    for name, value in query.items():
        if value is None:
            continue
        values = [value] if isinstance(value, (str, int, float, bool)) else value
        pairs += [(name, _text_of(each)) for each in values]
    return pairs


def _text_of(value: Scalar) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def parse_error(status: int, content: bytes) -> APIError:
    try:
        body: object = json.loads(content)
    except ValueError:
        body = None
    return error_from(status, body)


def is_temporary(error: APIError) -> bool:
    """Whether the same request may succeed a moment later."""
    return error.status >= 500 or error.status == 429


def memory_amount(amount: int | str, unit: str, name: str) -> int:
    """An amount in the server's unit. The suffixes of a text are powers of 1,024."""
    if isinstance(amount, int):
        return amount
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", amount.strip().lower())
    if match is None:
        raise ValueError(
            f'{name} must be a number, or a text such as "512 MiB" or "4 GiB"; got {amount!r}'
        )
    count = float(match[1]) * _SUFFIXES[match[2]]
    return max(1, -int(-count // _UNITS[unit]))


def run_failure(run: Mapping[str, Any]) -> RunFailed:
    reason = run["Reason"] or {"code": "internal", "msg": f"The run is {run['State']}."}
    return RunFailed(run["ID"], 409, reason)


def describe_step(run: Mapping[str, Any]) -> str:
    """One line on how far a start has come."""
    state, progress = run["State"], run["Progress"]
    if state == "queued":
        position = run["QueuePosition"]
        place = f" (position {position})" if position else ""
        return f"queued{place}: {run['WaitsFor'] or 'waits for capacity'}"
    if not progress:
        return str(state)
    current, total, unit = progress["current"], progress["total"], progress["unit"]
    amount = f"{current} {unit}" if total is None else f"{current} of {total} {unit}"
    return f"{state}: {progress['step']} ({amount})"


class EventParser:
    """Server-sent events from the lines of a stream."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> dict[str, Any] | None:
        """The event that this line completes. Without `data` it moves the position alone."""
        if line != "":
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "id" not in fields:
            return None
        if "data" not in fields:
            return {"id": fields["id"], "event": "position", "data": {}}
        data = json.loads(fields["data"])
        return {"id": fields["id"], "event": fields.get("event", "message"), "data": data}


#: Lines of two outputs may be stored in another order than that of their times, but not by more.
_LINE_OVERLAP = timedelta(seconds=1)


class SeenLines:
    """The newest lines of a run's output, by which another answer goes on after them."""

    def __init__(self) -> None:
        self.has_begun = False
        self._recent: deque[tuple[datetime, str]] = deque()
        self._newest: datetime | None = None
        self._again: Counter[str] = Counter()

    @property
    def since(self) -> str | None:
        """What the next answer is asked for: it repeats the recent lines."""
        return None if self._newest is None else (self._newest - _LINE_OVERLAP).isoformat()

    def begin(self) -> None:
        """Another answer begins."""
        self.has_begun = True
        self._again = Counter(line for _, line in self._recent)

    def parse_new(self, line: str) -> dict[str, Any] | None:
        """A line of an answer; `None` if it is a repeated one."""
        if self._again[line] > 0:
            self._again[line] -= 1
            return None
        parsed: dict[str, Any] = json.loads(line)
        time = datetime.fromisoformat(parsed["time"])
        self._newest = time if self._newest is None else max(time, self._newest)
        self._recent.append((time, line))
        while self._recent[0][0] < self._newest - _LINE_OVERLAP:
            self._recent.popleft()
        return parsed
