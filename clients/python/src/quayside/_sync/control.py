# Made by script/python-client from the asynchronous module; a test fails when it is not current.
"""Programs in a run, over its control channel."""

from __future__ import annotations

from websockets.sync.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from .._control import MAX_MESSAGE, SUBPROTOCOL, ExecResult, ExecStream
from .._requests import parse_error, user_agent
from ..errors import ConnectionFailed


def run_program(url: str, token: str, stream: ExecStream) -> ExecResult:
    """Run a program to its end. If this is interrupted, the program ends as well."""
    try:
        with connect(
            url,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            additional_headers={"authorization": f"Bearer {token}"},
            user_agent_header=user_agent(),
            max_size=MAX_MESSAGE,
        ) as socket:
            socket.send(stream.start())
            while stream.result is None:
                for frame in stream.receive(socket.recv()):
                    socket.send(frame)
            return stream.result
    except InvalidStatus as error:
        raise parse_error(error.response.status_code, bytes(error.response.body)) from error
    except (ConnectionClosed, InvalidHandshake, OSError) as error:
        raise ConnectionFailed(f"The control channel ended: {error}") from error
