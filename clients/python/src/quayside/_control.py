"""One program on the control channel, without the connection: frames in, frames out.

docs/reference/control.md describes the protocol.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import APIError, QuaysideError

SUBPROTOCOL = "quayside.control.v1"
#: Of one frame, in bytes, with room for its head.
MAX_MESSAGE = (64 << 10) + 64
#: The output of a program that is collected, in bytes.
MAX_OUTPUT = 256 << 20

_OPEN, _ACCEPT, _DATA, _CREDIT, _END, _MESSAGE, _CLOSE, _PING, _PONG = range(1, 10)
_STREAM = 1
_STDOUT, _STDERR = 1, 2
_FIRST_CREDIT = 64 << 10
_DATA_COST = 128
_CHUNK = 16 << 10


#: Receives `"stdout"` or `"stderr"`, and bytes that a program printed there.
OutputCallback = Callable[[str, bytes], object]


@dataclass(frozen=True)
class ExecResult:
    """A program that has ended: its exit code and what it printed."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")


class ExecStream:
    """The only stream of a connection: sends the input, collects the output or passes it on."""

    def __init__(
        self,
        command: Sequence[str],
        stdin: bytes,
        env: Mapping[str, str] | None,
        work_dir: str | None,
        on_output: OutputCallback | None = None,
    ) -> None:
        if isinstance(command, str) or not command:
            raise ValueError(f'command must be a list such as ["ls", "-l"]; got {command!r}')
        options: dict[str, Any] = {"kind": "exec", "command": list(command)}
        if env:
            options["env"] = dict(env)
        if work_dir is not None:
            options["workDir"] = work_dir
        self._options = options
        self._input = memoryview(stdin)
        self._credit = _FIRST_CREDIT
        self._is_open = self._has_ended_input = False
        self._on_output = on_output
        self._outputs = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self.result: ExecResult | None = None

    def start(self) -> bytes:
        return _frame(_OPEN, json.dumps(self._options).encode())

    def receive(self, message: bytes | str) -> Iterator[bytes]:
        """The frames to send after a message. Sets `result` at the end, or raises `APIError`."""
        if isinstance(message, str) or len(message) < 5:
            raise QuaysideError("The control channel sent a message that is no frame.")
        kind, stream = struct.unpack_from(">BI", message)
        payload = message[5:]
        if kind == _PING:
            yield _frame(_PONG, payload, stream=0)
        if stream != _STREAM:
            return
        if kind == _DATA and payload:
            yield self._receive_data(payload)
        elif kind == _CREDIT:
            self._credit += int.from_bytes(payload, "big")
        elif kind == _CLOSE:
            self._receive_close(json.loads(payload))
            return
        self._is_open = self._is_open or kind == _ACCEPT
        yield from self._send_input()

    def _receive_data(self, payload: bytes) -> bytes:
        part, data = payload[0], payload[1:]
        if self._on_output:
            self._on_output("stderr" if part == _STDERR else "stdout", data)
        else:
            self._outputs.setdefault(part, bytearray()).extend(data)
        if sum(map(len, self._outputs.values())) > MAX_OUTPUT:
            raise QuaysideError(
                f"The program printed more than {MAX_OUTPUT >> 20} MiB; write to a file instead."
            )
        return _frame(_CREDIT, (len(data) + _DATA_COST).to_bytes(4, "big"))

    def _receive_close(self, content: dict[str, Any]) -> None:
        if "result" not in content:
            raise APIError(400, str(content["code"]), str(content["msg"]))
        stdout, stderr = bytes(self._outputs[_STDOUT]), bytes(self._outputs[_STDERR])
        self.result = ExecResult(int(content["result"]["exitCode"]), stdout, stderr)

    def _send_input(self) -> Iterator[bytes]:
        if not self._is_open or self._has_ended_input:
            return
        while self._input and self._credit > _DATA_COST:
            data = self._input[: min(_CHUNK, self._credit - _DATA_COST)]
            self._input = self._input[len(data) :]
            self._credit -= len(data) + _DATA_COST
            yield _frame(_DATA, b"\0" + data)
        if not self._input:
            self._has_ended_input = True
            yield _frame(_END, b"")


def _frame(kind: int, payload: bytes, stream: int = _STREAM) -> bytes:
    return struct.pack(">BI", kind, stream) + payload
