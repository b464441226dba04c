"""Replay files: recorded actions, one JSON object per line, from which episodes are played again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from sentinel_env import _native


class Replay:
    """The rows of a replay file. Made by `read_replay`."""

    def __init__(self, native: _native.ReplayFile) -> None:
        self._native = native

    def __len__(self) -> int:
        """Returns the number of rows that can be played."""
        return len(self._native)

    @property
    def problem_count(self) -> int:
        """Number of lines that are not rows."""
        return self._native.problem_count

    def problems(self) -> list[tuple[int, str]]:
        """Returns the number of each line that is not a row with the reason, at most the first 1000."""
        return self._native.problems()

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts with the keys of the file, by world and episode."""
        return [json.loads(text) for _, _, text in self._native.rows()]

    def verify(self) -> dict[str, Any]:
        """Plays every episode again and compares it with its rows.

        Returns:
            A dict as ``sentinel replay verify --json`` prints it, with ``fits``: `True` if every recorded
            action was played, no other action was taken, and all scenarios and texts match. ``episodes`` has
            the recomputed score and digest of each.
        """
        text, fits = self._native.verify()
        return {**json.loads(text), "fits": fits}


def read_replay(source: str | os.PathLike[str] | bytes) -> Replay:
    """Reads a replay file. Lines that are not rows do not affect the others; see `Replay.problems`.

    Args:
        source: Path of the file, or its bytes.

    Raises:
        OSError: If the file cannot be read.
    """
    if not isinstance(source, bytes):
        with open(source, "rb") as file:
            source = file.read()
    return Replay(_native.ReplayFile(source))


def write_replay(path: str | os.PathLike[str], texts: str | Iterable[str], *, overwrite: bool = False) -> int:
    """Writes a replay file, which the page, ``sentinel replay verify`` and ``sentinel analyze`` read.

    Args:
        path: Path of the file.
        texts: Rows as `Policy.record`, `Episode.replay` and `TextEnv.transcript` return them.
        overwrite: Replace an existing file.

    Returns:
        The number of rows.

    Raises:
        FileExistsError: If the file exists and is not to be replaced.
        ValueError: If a line is not a row of a replay. Nothing is written then.
    """
    text = texts if isinstance(texts, str) else "".join(texts)
    checked = Replay(_native.ReplayFile(text.encode()))
    if checked.problem_count:
        line, reason = checked.problems()[0]
        raise ValueError(f"line {line} is not a row: {reason}")
    with open(path, "w" if overwrite else "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return len(checked)
