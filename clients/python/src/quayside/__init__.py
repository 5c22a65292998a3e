"""Client of Quayside: start projects, work in their runs, read and write datasets.

>>> import quayside
>>> with quayside.start("Fit", cpus=2, memory="4 GiB", progress=True) as run:
...     print(run.url)
"""

from __future__ import annotations

from typing import Any

from . import models
from ._async.client import AsyncClient
from ._async.run import AsyncRun
from ._control import ExecResult
from ._sync.client import Client
from ._sync.run import Run
from .errors import (
    APIError,
    ConfigurationError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    NotFound,
    QuaysideError,
    RunFailed,
    TooManyRequests,
    Unauthorized,
)

__all__ = [
    "APIError",
    "AsyncClient",
    "AsyncRun",
    "Client",
    "ConfigurationError",
    "Conflict",
    "ConnectionFailed",
    "ExecResult",
    "Forbidden",
    "NotFound",
    "QuaysideError",
    "Run",
    "RunFailed",
    "TooManyRequests",
    "Unauthorized",
    "connect",
    "models",
    "start",
]


def connect(
    url: str | None = None, token: str | None = None, *, context: str | None = None
) -> Client:
    """A client of the named server, of the environment's, or of the command line's context."""
    return Client(url, token, context=context)


def start(project: str | int, **options: Any) -> Run:
    """`connect().start(project, …)`: see `Client.start` for the options."""
    return connect().start(project, **options)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext quayside` registers the magic `%quayside`."""
    from .magic import register

    register(shell)
