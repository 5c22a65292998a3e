"""The server and token to use: arguments, environment, or the file of `quayside login`."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from .errors import ConfigurationError


class Server(NamedTuple):
    """A base URL without a slash at its end, and a token."""

    url: str
    token: str


def find_server(
    url: str | None = None,
    token: str | None = None,
    context: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Server:
    """The server to connect to.

    `url` and `token` win. Each that is absent comes from `QUAYSIDE_SERVER` (in a run also
    `QUAYSIDE_BASE_URL`) and `QUAYSIDE_TOKEN`, if both are then known. Otherwise both come from
    `context`, or from the current context of the command line; an `url` without a token uses the
    context of that server. Raises `ConfigurationError`.
    """
    if context is not None:
        if url is not None or token is not None:
            raise ConfigurationError("Name a context, or url and token; not both.")
        return _from_contexts(context, None, environment)
    wanted = url or environment.get("QUAYSIDE_SERVER") or environment.get("QUAYSIDE_BASE_URL")
    # A token of the environment belongs to the environment's server alone.
    known = token or (environment.get("QUAYSIDE_TOKEN") if url is None else None)
    if wanted and known:
        return Server(parse_url(wanted), known)
    if token is not None:
        raise ConfigurationError("A token needs the url of its server.")
    return _from_contexts(None, parse_url(wanted) if wanted else None, environment)


def parse_url(text: str) -> str:
    """A base URL that somebody typed: `https` without a scheme, but for their own machine."""
    scheme = "http" if re.match(r"(localhost|127\.|\[::1\])", text) else "https"
    has_scheme = re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", text)
    parts = urlsplit(text if has_scheme else f"{scheme}://{text}")
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ConfigurationError(
            f"The server must be an address such as https://quayside.example.com; got {text!r}"
        )
    return f"{parts.scheme}://{parts.netloc}{re.sub(r'/(ui/?)?$', '', parts.path)}"


def contexts_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that `quayside login` writes."""
    home = environment.get("HOME")
    base = environment.get("XDG_CONFIG_HOME")
    folder = Path(base) if base else (Path(home) if home else Path.home()) / ".config"
    return folder / "quayside" / "contexts.json"


def _from_contexts(name: str | None, url: str | None, environment: Mapping[str, str]) -> Server:
    file = contexts_file(environment)
    current, contexts = _read_contexts(file)
    if url is not None:
        same = [each for each in contexts.values() if each.url == url]
        preferred = contexts.get(current or "")
        if preferred in same or len(same) == 1:
            return preferred if preferred in same and preferred else same[0]
        raise ConfigurationError(
            f"No token is known for {url}. Pass token=, set QUAYSIDE_SERVER and QUAYSIDE_TOKEN, "
            "or sign in with `quayside login`."
            if not same
            else f"{len(same)} contexts are of {url}; name one with context=."
        )
    chosen = name if name is not None else current
    if chosen is None:
        raise ConfigurationError(
            "You are signed in to no server. Pass url and token, set QUAYSIDE_SERVER and "
            "QUAYSIDE_TOKEN, or sign in with `quayside login ADDRESS`."
        )
    if chosen not in contexts:
        known = ", ".join(contexts) or "none"
        raise ConfigurationError(f"There is no context {chosen!r} in {file}; there are: {known}.")
    return contexts[chosen]


def _read_contexts(file: Path) -> tuple[str | None, dict[str, Server]]:
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if sys.platform != "win32" and mode & 0o077:
            raise ConfigurationError(
                f"{file} holds tokens and must be readable by you alone (mode 600); its mode is "
                f"{mode:o}. Run `chmod 600 '{file}'`."
            )
        document = json.loads(file.read_text("utf-8"))
        current = document.get("current")
        contexts = {
            str(name): Server(parse_url(each["server"]), str(each["token"]))
            for name, each in document["contexts"].items()
        }
    except FileNotFoundError:
        return None, {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"{file} is not a file of contexts. Move it away and sign in with `quayside login`."
        ) from error
    return (current if isinstance(current, str) else None), contexts
