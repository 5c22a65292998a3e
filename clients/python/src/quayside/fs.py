"""An fsspec file system for datasets and homes: `quayside://data/NAME/path`.

pandas, pyarrow, dask and others find it by the protocol `quayside`, for instance
`pandas.read_parquet("quayside://data/Spectra/x.parquet")`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from ._files import Files
from ._names import assert_local_names
from ._sync.client import Client
from ._upload import Upload
from .errors import APIError, ConnectionFailed

#: Bytes that one request reads ahead.
_BLOCK_SIZE = 4 << 20
_ATTEMPTS = 3


class QuaysideFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Datasets and homes as files, over WebDAV.

    | path | is |
    |---|---|
    | `data/NAME/…` | a dataset, by its exact name or its ID |
    | `home/…` | one's own home |
    | `users/NAME/…` | anything below the files root that one may see |

    Options are those of `Client`: `url`, `token`, `context`. A file that is written appears as a
    whole when it is closed; mode `xb` refuses to replace one (`FileExistsError`). A file that is
    replaced while it is read raises `OSError` instead of mixing both.
    """

    protocol = "quayside"
    root_marker = ""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        context: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(use_listings_cache=False, **options)
        self.client = Client(url, token, context=context)
        self._files = Files(self.client)

    @classmethod
    def _strip_protocol(cls, path: str | os.PathLike[str] | list[Any]) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        text = os.fspath(path).removeprefix("quayside://")
        return "/".join(name for name in text.split("/") if name != "")

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """The entries of a directory: `name`, `size` in bytes, `type`, `mtime` and `ETag`."""
        stripped = self._strip_protocol(path)
        found = self.info(stripped)
        entries = [found] if found["type"] == "file" else self._files.list(stripped)
        return entries if detail else sorted(each["name"] for each in entries)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """`name`, `type`, and of a file `size` in bytes, `mtime` and `ETag`."""
        return self._files.info(self._strip_protocol(path))

    def modified(self, path: str) -> Any:
        """When a file was written, as a `datetime` with a time zone."""
        return self.info(path)["mtime"]

    def ukey(self, path: str) -> str:
        """A text that changes with the file."""
        return str(self.info(path).get("ETag", ""))

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Make a directory. Raises `FileExistsError`."""
        stripped = self._strip_protocol(path)
        if create_parents:
            self.makedirs(self._parent(stripped), exist_ok=True)
        self._files.send("MKCOL", stripped)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a directory and those above it."""
        stripped = self._strip_protocol(path)
        if self.isdir(stripped):
            if not exist_ok:
                raise FileExistsError(stripped)
            return
        self.makedirs(self._parent(stripped), exist_ok=True)
        try:
            self._files.send("MKCOL", stripped)
        except FileExistsError:
            if not (exist_ok and self.isdir(stripped)):
                raise

    def rm_file(self, path: str) -> None:
        """Delete a file, and no directory."""
        stripped = self._strip_protocol(path)
        entry = self.info(stripped)
        if entry["type"] == "directory":
            raise IsADirectoryError(f"{stripped} is a directory; rm with recursive=True deletes it")
        self._files.send("DELETE", stripped, {"if-match": entry["ETag"]})

    _rm = rm_file

    def rmdir(self, path: str) -> None:
        """Delete an empty directory."""
        stripped = self._strip_protocol(path)
        if self._files.list(stripped):
            raise OSError(f"{stripped} is not empty; rm with recursive=True deletes all in it")
        self._remove_tree(stripped)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Delete files. With `recursive` a directory goes at once, with all that it contains."""
        for each in self.expand_path(path) if not recursive else _listed(path):
            stripped = self._strip_protocol(each)
            if recursive and maxdepth is None and self.isdir(stripped):
                self._remove_tree(stripped)
            else:
                self.rm_file(stripped)

    def _remove_tree(self, path: str) -> None:
        if path.count("/") < 1 or (path.count("/") == 1 and not path.startswith("home/")):
            raise PermissionError(
                f"{path} is a whole dataset or home; Client.delete_data deletes it"
            )
        self._files.send("DELETE", path)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copy a file on the server. Of a directory, the directory alone is made."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(source):
            self.makedirs(target, exist_ok=True)
        else:
            self._files.transfer("COPY", source, target)

    def mv(
        self,
        path1: str,
        path2: str,
        recursive: bool = False,
        maxdepth: int | None = None,
        **_: Any,
    ) -> None:
        """Move a file or directory on the server, in one step, or into a directory."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(target):
            target = f"{target}/{source.rpartition('/')[2]}"
        self._files.transfer("MOVE", source, target, overwrite=not self.isdir(target))

    mv_file = mv

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        """The bytes of a file, from `start` to before `end`; negative ones count from the end."""
        stripped = self._strip_protocol(path)
        if start is None and end is None:
            return self._files.send("GET", stripped).content
        size = self.info(stripped)["size"]
        first, last, _step = slice(start, end).indices(size)
        return self._files.read(stripped, first, last)

    def get_file(self, rpath: str, lpath: Any, **options: Any) -> None:
        """Download a file. Raises `ValueError` if its name would lead elsewhere on this system."""
        assert_local_names(self._strip_protocol(rpath))
        super().get_file(rpath, lpath, **options)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: Mapping[str, Any] | None = None,
        cache_type: str = "blockcache",
        **_: Any,
    ) -> Any:
        if mode == "rb":
            return QuaysideFile(
                self,
                path,
                block_size=block_size or _BLOCK_SIZE,
                cache_type=cache_type,
                cache_options=cache_options,
            )
        if mode not in ("wb", "xb", "ab"):
            raise ValueError(f"mode must be rb, wb, xb or ab; got {mode!r}")
        return Upload(self._files, path, mode, autocommit)


class QuaysideFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file that is read by ranges; blocks of it are cached."""

    def __init__(self, fs: QuaysideFileSystem, path: str, **options: Any) -> None:
        entry = fs.info(path)
        if entry["type"] == "directory":
            raise IsADirectoryError(path)
        self._etag: str = entry["ETag"]
        super().__init__(fs, path, mode="rb", size=entry["size"], **options)

    def _fetch_range(self, start: int, end: int) -> bytes:
        files: Files = self.fs._files
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return files.read(self.path, start, min(end, self.size), self._etag)
            except ConnectionFailed:
                if attempt == _ATTEMPTS:
                    raise
            except APIError as error:
                if error.code == "stale":
                    raise OSError(f"{self.path} was replaced while it was read") from error
                raise
        raise AssertionError


def _listed(path: Any) -> list[Any]:
    return path if isinstance(path, list) else [path]
