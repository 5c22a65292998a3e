"""Text of other people and programs, for a terminal."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"(\x1b\[[\d;:]*m)")
_COMMAND = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_OUTPUT_CONTROL = re.compile(r"[\x00-\x08\x0a-\x0c\x0e-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Without control characters: these could move the cursor or reverse the text."""
    return _CONTROL.sub(" ", text)


def printable_output(line: str) -> str:
    """A line that a program printed, with its colours and without other commands."""
    parts = _COLOUR.split(line)
    parts[::2] = [_OUTPUT_CONTROL.sub("", _COMMAND.sub("", part)) for part in parts[::2]]
    return "".join(parts) + ("\x1b[0m" if len(parts) > 1 else "")
