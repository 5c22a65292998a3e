"""A file that is written: it reaches the server as a whole when it is closed."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any

from ._files import Files

#: Bytes in memory; more are kept in a temporary file until the upload.
_MEMORY = 8 << 20
_CHUNK = 1 << 20


class Upload(io.RawIOBase):
    """Collects what is written. `close` uploads it; after an error in a `with` block nothing is.

    `mode` is `wb`, `xb` (raises `FileExistsError` if the file exists) or `ab`. With `autocommit`
    false, `close` uploads nothing until `commit`.
    """

    def __init__(self, files: Files, path: str, mode: str, autocommit: bool) -> None:
        super().__init__()
        self._files = files
        self._path = path
        self._autocommit = autocommit
        self._condition: dict[str, str] = {}
        self._buffer: IO[bytes] | None = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            _MEMORY
        )
        if mode == "xb":
            self._condition = {"if-none-match": "*"}
        if mode == "ab":
            self._load(self._buffer)

    def _load(self, buffer: IO[bytes]) -> None:
        try:
            response = self._files.send("GET", self._path)
        except FileNotFoundError:
            self._condition = {"if-none-match": "*"}
            return
        buffer.write(response.content)
        self._condition = {"if-match": response.headers["etag"]}

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.closed or self._buffer is None:
            raise ValueError("write to a closed file")
        self._buffer.write(data)
        return memoryview(data).nbytes

    def tell(self) -> int:
        return 0 if self._buffer is None else self._buffer.tell()

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self._autocommit:
            self.commit()

    def commit(self) -> None:
        """Upload what was written."""
        buffer, self._buffer = self._buffer, None
        if buffer is None:
            return
        with buffer:
            length = buffer.tell()
            buffer.seek(0)
            headers = {**self._condition, "content-length": str(length)}
            self._files.send("PUT", self._path, headers, _chunks(buffer))

    def discard(self) -> None:
        """Forget what was written."""
        buffer, self._buffer = self._buffer, None
        if buffer is not None:
            buffer.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()
        self.close()

    def __del__(self) -> None:
        self.discard()


def _chunks(buffer: IO[bytes]) -> Iterator[bytes]:
    while chunk := buffer.read(_CHUNK):
        yield chunk
