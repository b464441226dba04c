"""Actions mean the same as in a native session, also hostile ones."""

import json
import pathlib

import pytest

import sentinel_env
from sentinel_env import _native

ROOT = pathlib.Path(__file__).parents[2]
ROWS = [json.loads(line) for line in (ROOT / "testdata" / "messages.jsonl").read_text(encoding="utf-8").splitlines()]
NAMES = {
    "trust": {"task": "task1", "streams": "independent"},
    "cluster": {"task": "task1", "streams": "independent"},
    "polyguard": {"task": "DDI-medium", "rules": "hardened"},
}


def effect(world: str, message: str) -> str:
    """Returns what a message does on the first step of an episode, in the words of the file."""
    episode = _native.Episode(world, 7, **NAMES[world])
    before = episode.digest
    try:
        reward, terminated, truncated = episode.step_json(message)
    except ValueError:
        assert episode.digest == before
        return "refused"
    if terminated or truncated:
        assert reward == 0.001
        return "exploit"
    return "step"


@pytest.mark.parametrize("world", sentinel_env.WORLDS)
def test_hostile_messages_mean_what_the_file_says(world):
    rows = [row for row in ROWS if row["world"] == world]
    assert len(rows) > 100
    wrong = [row["message"][:100] for row in rows if effect(world, row["message"]) != row["then"]]
    assert wrong == []
