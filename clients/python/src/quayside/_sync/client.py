# Made by script/python-client from the asynchronous module; a test fails when it is not current.
"""A synchronous client of the HTTP API."""

from __future__ import annotations

import time
from collections.abc import Iterator, Callable, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import httpx

from .. import models
from .._names import one_of
from .._requests import (
    LIVE_STATES,
    EventParser,
    SeenLines,
    is_temporary,
    memory_amount,
    parse_error,
    query_pairs,
    trust_for,
    user_agent,
)
from ..config import find_server
from ..errors import APIError, ConnectionFailed
from .operations import Operations, Query
from .run import Run, ProgressOption

T = TypeVar("T")
#: A page, at most; the server returns no more.
_PAGE_SIZE = 200
#: Seconds without an event or heartbeat after which an event stream is opened again.
_EVENTS_TIMEOUT = 60.0
#: Seconds between two connections of a stream.
_STREAM_PAUSE = 2.0


class Client(Operations):
    """A connection to one server as one person.

    `url` is the base URL, `token` a token of that person. Without them the environment and the
    contexts of the command line decide; see `config.find_server`. `timeout` is in seconds, for
    connecting and for each wait for bytes. Failures raise `APIError` or `ConnectionFailed`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        context: str | None = None,
        timeout: float = 180.0,
    ) -> None:
        server = find_server(url, token, context)
        self.url = server.url
        self.token = server.token
        headers = {"authorization": f"Bearer {server.token}", "user-agent": user_agent()}
        self._http = httpx.Client(
            headers=headers, timeout=timeout, verify=trust_for(server.url), follow_redirects=False
        )
        self._whoami: models.Whoami | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Runs go on."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Any:
        """Send any request of the API. `path` begins with a slash. Returns the answer's JSON."""
        sent = {name: value for name, value in (headers or {}).items() if value is not None}
        try:
            response = self._http.request(
                method,
                self.url + path,
                params=query_pairs(query or {}),
                json=body,
                headers=sent,
            )
        except httpx.TransportError as error:
            raise ConnectionFailed(f"{self.url} does not answer: {error}") from error
        if response.status_code != 200:
            raise parse_error(response.status_code, response.content)
        return response.json()

    @contextmanager
    def stream(
        self,
        path: str,
        query: Query,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Iterator[Iterator[str]]:
        """The lines of an answer as they come. `timeout`: seconds between bytes; `None`: any."""
        limits = httpx.Timeout(30.0, read=timeout)
        try:
            with self._http.stream(
                "GET",
                self.url + path,
                params=query_pairs(query),
                headers=dict(headers or {}),
                timeout=limits,
            ) as response:
                if response.status_code != 200:
                    raise parse_error(response.status_code, response.read())
                yield response.iter_lines()
        except httpx.TransportError as error:
            raise ConnectionFailed(f"{self.url} does not answer: {error}") from error

    def me(self) -> models.Whoami:
        """The caller, read once."""
        if self._whoami is None:
            self._whoami = self.whoami()
        return self._whoami

    def pages(
        self, operation: Callable[..., models.Page[T]], **query: Any
    ) -> Iterator[T]:
        """All objects of a list: `client.pages(client.list_projects, q="fit")`."""
        page, count = 1, 1
        while page <= count:
            answer = operation(**query, page=page, pageSize=_PAGE_SIZE)
            for each in answer["data"]:
                yield each
            page, count = page + 1, answer["pageCount"]

    def project(self, name: str | int) -> models.Project:
        """A project by its exact name or its ID. Raises `LookupError` if several have the name."""
        if isinstance(name, int):
            return self.read_project(ID=name)
        found = [each for each in self.pages(self.list_projects, ProjectName=name)]
        return one_of(found, "project", name, (self.me())["UserName"])

    def dataset(self, name: str | int) -> models.Data:
        """A dataset by its exact name or its ID. Raises `LookupError` if several have the name."""
        if isinstance(name, int):
            return self.read_data(name)
        found = [each for each in self.pages(self.list_data, Name=name)]
        return one_of(found, "dataset", name, (self.me())["UserName"])

    def image(self, name: str | int) -> models.Image:
        """An image by its exact name or its ID. Raises `LookupError` if several have the name."""
        if isinstance(name, int):
            return self.read_image(ID=name)
        found = [each for each in self.pages(self.list_images, Name=name)]
        return one_of(found, "image", name, (self.me())["UserName"])

    def runs(self) -> list[Run]:
        """The caller's live runs."""
        user = (self.me())["UserName"]
        found = [each for each in self.pages(self.list_runs, UserName=user)]
        return [Run(self, each, keep=True) for each in found]

    def run(self, run_id: int) -> Run:
        """A run by its ID. As a context manager it does not stop at the end."""
        return Run(self, self.read_run(ID=run_id), keep=True)

    def start(
        self,
        project: str | int,
        *,
        cpus: int | None = None,
        memory: int | str | None = None,
        gpus: int | None = None,
        gpu_memory: int | str | None = None,
        wait: bool = True,
        keep: bool = False,
        progress: ProgressOption = False,
    ) -> Run:
        """Start a project, and wait until its program answers unless `wait` is false.

        `project` is an exact name or an ID. Amounts of memory are numbers in the server's unit
        (MiB, unless its administrator changed that) or texts such as "4 GiB". `progress` prints
        each step, or is called with the run after each change. The result stops at the end of its
        `with` block unless `keep` is true. Raises `RunFailed`; a run that fails or whose waiting
        is interrupted does not go on.
        """
        unit = (self.me())["MemoryUnit"]
        project_id = project if isinstance(project, int) else (self.project(project))["ID"]
        body: models.StartRunBody = {"ProjectID": project_id}
        if cpus is not None:
            body["Cpus"] = cpus
        if memory is not None:
            body["Memory"] = memory_amount(memory, unit, "memory")
        if gpus is not None:
            body["Gpus"] = gpus
        if gpu_memory is not None:
            body["GpuMemory"] = memory_amount(gpu_memory, unit, "gpu_memory")
        answer = self.start_run(body, prefer="respond-async")
        run = Run(self, answer, keep=keep)
        if wait:
            try:
                run.wait_until_ready(progress)
            except BaseException:
                run.stop()
                raise
        return run

    def events(self, after: str | None = None) -> Iterator[models.Event]:
        """Everything that happens and that the caller may see, without end.

        `after` is the `id` of the last known event; default: from now on. When a connection ends,
        the next one goes on after the last event. An event `reset` means that events were missed.
        Raises `APIError` for refusals that waiting does not help against.
        """
        last = after
        while True:
            try:
                headers = {} if last is None else {"last-event-id": last}
                with self.stream("/events", {}, headers, _EVENTS_TIMEOUT) as lines:
                    parser = EventParser()
                    for line in lines:
                        event = parser.feed(line)
                        if event is None:
                            continue
                        last = event["id"]
                        if event["event"] != "position":
                            yield cast(models.Event, event)
            except ConnectionFailed:
                pass
            except APIError as error:
                if not is_temporary(error):
                    raise
            time.sleep(_STREAM_PAUSE)

    def log_lines(
        self, run_id: int, *, tail: int | None = None, follow: bool = False
    ) -> Iterator[models.LogLine]:
        """The output of a run: the last `tail` lines, or all. `follow`: until the run has ended.

        A connection that is lost while it follows is made again, and goes on after the last line.
        """
        query: dict[str, int | str | None] = {"ID": run_id, "tail": tail}
        query["follow"] = 1 if follow else None
        seen = SeenLines()
        while True:
            try:
                with self.stream("/running_project/logs", query) as lines:
                    seen.begin()
                    for line in lines:
                        if line and (parsed := seen.parse_new(line)) is not None:
                            yield cast(models.LogLine, parsed)
                # A server that stops ends the answer too.
                if not follow or (self.read_run(ID=run_id))["State"] not in LIVE_STATES:
                    return
            except ConnectionFailed:
                if not follow or not seen.has_begun:
                    raise
            except APIError as error:
                if not follow or not seen.has_begun or not is_temporary(error):
                    raise
            if since := seen.since:
                query = {"ID": run_id, "since": since, "follow": 1}
            time.sleep(_STREAM_PAUSE)
