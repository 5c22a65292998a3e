"""Requests to the files address, by paths such as `data/Spectra/x.csv`."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx

from ._requests import parse_error
from ._sync.client import Client
from .errors import APIError, ConnectionFailed, error_from

_DATASETS, _HOME, _USERS = "data", "home", "users"


class Files:
    """The files address of a client. Refusals are `OSError`s where Python has one for them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._datasets: dict[str, str] = {}

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        content: Iterable[bytes] | None = None,
        suffix: str = "",
    ) -> httpx.Response:
        """Send a request. `suffix` follows the path, such as `/?list=json`."""
        url = self._url(path) + suffix
        plain = {"accept-encoding": "identity", **(headers or {})}
        try:
            response = self._client._http.request(method, url, headers=plain, content=content)
        except httpx.TransportError as error:
            raise ConnectionFailed(f"{url} does not answer: {error}") from error
        if response.is_success:
            return response
        raise _failure(method, path, _refusal(response))

    def transfer(self, method: str, source: str, target: str, *, overwrite: bool = True) -> None:
        """COPY or MOVE. Without `overwrite`, `FileExistsError` if the target exists."""
        headers = {"destination": self._url(target), "overwrite": "T" if overwrite else "F"}
        self.send(method, source, headers)

    def read(self, path: str, start: int, end: int, etag: str | None = None) -> bytes:
        """The bytes from `start` to before `end`. Raises `stale` if the file is another one."""
        if end <= start:
            return b""
        headers = {"range": f"bytes={start}-{end - 1}"}
        if etag is not None:
            headers["if-match"] = etag
        response = self.send("GET", path, headers)
        return response.content if response.status_code == 206 else response.content[start:end]

    def info(self, path: str) -> dict[str, Any]:
        if path in ("", _DATASETS):
            return _directory(path)
        try:
            headers = self.send("HEAD", path).headers
        except FileExistsError:
            # Directories have no content to describe: 405.
            return _directory(path)
        return {
            "name": path,
            "type": "file",
            "size": int(headers["content-length"]),
            "mtime": parsedate_to_datetime(headers["last-modified"]),
            "ETag": headers["etag"],
        }

    def list(self, path: str) -> list[dict[str, Any]]:
        """The entries of a directory."""
        if path == "":
            return [_directory(name) for name in (_DATASETS, _HOME, _USERS)]
        if path == _DATASETS:
            found = self._client.pages(self._client.list_data)
            return [_directory(f"{_DATASETS}/{each['Name']}") for each in found]
        listing = self.send("GET", path, suffix="/?list=json").json()
        if not listing["IsComplete"]:
            raise OSError(errno.E2BIG, "The directory has too many entries for one answer", path)
        return [entry_of(path, each) for each in listing["Entries"]]

    def _url(self, path: str) -> str:
        me = self._client.me()
        area, _, rest = path.partition("/")
        if any(name in (".", "..") for name in path.split("/")):
            raise ValueError(f"A path must not contain . or ..; got {path!r}")
        if area == _HOME:
            root, below = f"/{_USERS}/{me['UserName']}", rest
        elif area == _USERS:
            root, below = f"/{_USERS}", rest
        elif area == _DATASETS and rest:
            name, _, below = rest.partition("/")
            root = self._dataset_path(name)
        else:
            raise FileNotFoundError(
                errno.ENOENT, "A path begins with data/NAME, home or users/NAME", path
            )
        return me["FilesURL"] + quote(f"{root}/{below}".rstrip("/"))

    def _dataset_path(self, name: str) -> str:
        if name not in self._datasets:
            try:
                found = self._client.dataset(int(name) if name.isdecimal() else name)
            except (LookupError, APIError) as error:
                raise FileNotFoundError(errno.ENOENT, str(error), f"{_DATASETS}/{name}") from error
            self._datasets[name] = found["AccessInfo"]
        return self._datasets[name]


def entry_of(parent: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of fsspec for a row of the server's list."""
    name = f"{parent}/{row['Name']}"
    if row["IsDirectory"]:
        return _directory(name)
    mtime = datetime.fromisoformat(row["ModifiedAt"])
    return {"name": name, "type": "file", "size": row["Size"], "mtime": mtime, "ETag": row["ETag"]}


def _refusal(response: httpx.Response) -> APIError:
    """The refusal of an answer, also of one to HEAD, which has no content."""
    if response.request.method != "HEAD" or response.status_code not in (401, 403, 404):
        return parse_error(response.status_code, response.content)
    texts = {
        401: ("unauthorized", "The token is wrong, expired or revoked"),
        403: ("forbidden", "You may not read this"),
        404: ("not_found", "There is no such file or directory"),
    }
    code, msg = texts[response.status_code]
    return error_from(response.status_code, {"code": code, "msg": msg})


def _directory(path: str) -> dict[str, Any]:
    return {"name": path, "type": "directory", "size": 0}


def _failure(method: str, path: str, error: APIError) -> Exception:
    """Python's error for a refusal, or the refusal itself."""
    kinds: dict[int, tuple[type[OSError], int]] = {
        403: (PermissionError, errno.EACCES),
        404: (FileNotFoundError, errno.ENOENT),
        507: (OSError, errno.ENOSPC),
    }
    if error.status == 409 and error.code == "conflict":
        kinds[409] = (FileNotFoundError, errno.ENOENT)
    if error.status == 405 or (error.status == 412 and method in ("PUT", "COPY", "MOVE")):
        kinds[error.status] = (FileExistsError, errno.EEXIST)
    if error.status not in kinds:
        return error
    kind, number = kinds[error.status]
    failure = kind(number, error.msg, path)
    failure.__cause__ = error
    return failure
