"""An asynchronous handle of a run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .. import models
from .._control import ExecResult, ExecStream, OutputCallback
from .._requests import LIVE_STATES, describe_step, is_temporary, run_failure
from .._terminal import printable
from ..errors import APIError, ConnectionFailed, QuaysideError
from .control import run_program

if TYPE_CHECKING:
    from .client import AsyncClient

#: Whether to print each step of a start, or a function that receives the run after each change.
ProgressOption = bool | Callable[[models.RunningProject], object]

#: Seconds between two looks at a run that is starting.
_FIRST_PAUSE, _LAST_PAUSE = 0.1, 2.0


class AsyncRun:
    """One start of a project. As a context manager it stops the run at the end, unless `keep`."""

    def __init__(self, client: AsyncClient, answer: models.RunningProject, *, keep: bool) -> None:
        self._client = client
        self._keep = keep
        self.info = answer
        """The run as it was when it was last read."""

    @property
    def id(self) -> int:
        return self.info["ID"]

    @property
    def state(self) -> str:
        return self.info["State"]

    @property
    def url(self) -> str:
        """The address of its program; empty until the run is ready. Open it in a browser."""
        return self.info["URL"]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.state} {self.url}>"

    async def __aenter__(self) -> AsyncRun:
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._keep:
            await self.stop()

    async def refresh(self) -> models.RunningProject:
        """Read the run again."""
        self.info = await self._client.read_run(ID=self.id)
        return self.info

    async def wait_until_ready(self, progress: ProgressOption = False) -> None:
        """Return when its program answers. Raises `RunFailed` with the reason if the run ends."""
        show = _printer() if progress is True else progress
        pause, shown = _FIRST_PAUSE, None
        while True:
            if show and self.info != shown:
                show(self.info)
                shown = self.info
            if self.state == "ready":
                return
            if self.state not in LIVE_STATES:
                raise run_failure(self.info)
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LAST_PAUSE)
            try:
                await self.refresh()
            except ConnectionFailed:
                pause = _LAST_PAUSE
            except APIError as error:
                if not is_temporary(error):
                    raise
                pause = _LAST_PAUSE

    async def stop(self) -> None:
        """Stop the run, and return when the engine holds nothing of it. An ended one is fine."""
        await self._client.stop_run(ID=self.id)

    async def keep_alive(self) -> models.RunningProject:
        """More time before the idle rule stops it."""
        self.info = await self._client.keep_run(self.id)
        return self.info

    async def stats(self) -> models.RunStats:
        """Its usage now and before, and what happened meanwhile."""
        return await self._client.run_stats(self.id)

    async def logs(
        self, *, tail: int | None = None, follow: bool = False
    ) -> AsyncIterator[models.LogLine]:
        """Its output: the last `tail` lines, or all. With `follow`, until the run has ended.

        A lost connection is made again: no line is lost, and none comes twice.
        """
        async for line in self._client.log_lines(self.id, tail=tail, follow=follow):
            yield line

    async def exec(
        self,
        command: Sequence[str],
        *,
        stdin: bytes | str = b"",
        env: Mapping[str, str] | None = None,
        work_dir: str | None = None,
        on_output: OutputCallback | None = None,
    ) -> ExecResult:
        """Run a program in the run's container, and return its exit code and output.

        `command` is a list: no shell takes part. The output may have 256 MiB. `on_output` receives
        the output as it is printed, `"stdout"` or `"stderr"` and bytes; then it may be endless, and
        the result has none. Raises `APIError` with a code of docs/reference/control.md, such as
        `command_not_found`, and `ConnectionFailed` if the connection is lost.
        """
        data = stdin.encode() if isinstance(stdin, str) else stdin
        stream = ExecStream(command, data, env, work_dir, on_output)
        address = self.info["ControlURL"] or (await self.refresh())["ControlURL"]
        if not address:
            raise QuaysideError(f"Run {self.id} is {self.state}, or you may not control it.")
        return await run_program(address, self._client.token, stream)


def _printer() -> Callable[[models.RunningProject], None]:
    last = ""

    def show(run: models.RunningProject) -> None:
        nonlocal last
        text = describe_step(run)
        if text != last:
            print(printable(text), file=sys.stderr, flush=True)
        last = text

    return show
