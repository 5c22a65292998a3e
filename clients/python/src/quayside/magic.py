"""The IPython magic `%quayside`, after `%load_ext quayside`."""

from __future__ import annotations

import shlex
import webbrowser
from collections.abc import Callable
from typing import Any

from ._sync.client import Client
from ._sync.run import Run
from ._terminal import printable, printable_output

USAGE = """%quayside ls                   your live runs
%quayside start PROJECT        start a project and wait until it is ready; returns the run
%quayside stop RUN             stop a run, by its ID or its project's name
%quayside logs RUN [LINES]     the last lines of its output (default 50)
%quayside open RUN             open it in a browser on this machine, and return its address"""


def quayside(line: str) -> Any:
    """`%quayside ls | start PROJECT | stop RUN | logs RUN [LINES] | open RUN`."""
    name, *words = shlex.split(line) or ["help"]
    command = _commands.get(name)
    if command is None or not command[1] <= len(words) <= command[2]:
        print(USAGE)
        return None
    with Client() as client:
        return command[0](client, *words)


def _ls(client: Client) -> None:
    for run in client.runs():
        print(f"{run.id:>6}  {printable(_project_name(run)):24}  {run.state:9}  {run.url}")


def _start(client: Client, project: str) -> Run:
    run = client.start(_id_or_name(project), keep=True, progress=True)
    print(run.url)
    # The run outlives the client of this line.
    return Run(Client(), run.info, keep=True)


def _stop(client: Client, name: str) -> None:
    _find(client, name).stop()


def _logs(client: Client, name: str, lines: str = "50") -> None:
    if not lines.isdecimal():
        raise ValueError(f"LINES must be a number; got {lines!r}")
    for line in _find(client, name).logs(tail=int(lines)):
        print(printable_output(line["text"]))


def _open(client: Client, name: str) -> str:
    address = f"{client.url}/open?ID={_find(client, name).id}"
    webbrowser.open(address)
    return address


def _find(client: Client, name: str) -> Run:
    if name.isdecimal():
        return client.run(int(name))
    found = [run for run in client.runs() if _project_name(run) == name]
    if len(found) == 1:
        return found[0]
    ids = ", ".join(str(run.id) for run in found)
    raise LookupError(
        f"Several of your runs are of {name!r}; use an ID: {ids}"
        if found
        else f"You have no live run of a project {name!r}"
    )


def _project_name(run: Run) -> str:
    return str(dict(run.info["Project"]).get("ProjectName", ""))


def _id_or_name(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


_commands: dict[str, tuple[Callable[..., Any], int, int]] = {
    "ls": (_ls, 0, 0),
    "start": (_start, 1, 1),
    "stop": (_stop, 1, 1),
    "logs": (_logs, 1, 2),
    "open": (_open, 1, 1),
}


def register(shell: Any) -> None:
    """Add the magic to an IPython shell."""
    shell.register_magic_function(quayside, "line", "quayside")
