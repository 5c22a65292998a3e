"""Objects by their exact names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def one_of(found: Sequence[T], noun: str, name: str, me: str) -> T:
    """The only object of a name, or the only one of `me`. Raises `LookupError` otherwise."""
    every: Any = found
    own = [each for each in every if each["UserName"] == me]
    if len(found) == 1 or len(own) == 1:
        return (own or found)[0]
    if not found:
        raise LookupError(f"You can see no {noun} {name!r}. A name must match exactly.")
    rows: Any = found[:10]
    some = ", ".join(f"{each['ID']} (of {each['UserName']})" for each in rows)
    raise LookupError(f"{len(found)} {noun}s have the name {name!r}; use one of the IDs: {some}")


def assert_local_names(path: str, system: str = os.name) -> None:
    """Refuse a path of the server of which Windows takes a name for several, or for a drive."""
    if system == "nt" and ("\\" in path or ":" in path):
        raise ValueError(f"Windows cannot have a file with this name: {path!r}")
