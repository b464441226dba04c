"""Replay files: read, verified and written."""

import json

import pytest

from sentinel_env import Episode, load_policy, read_replay, write_replay


@pytest.mark.parametrize(
    "name", ["heuristic-independent", "cluster-planner-hardened", "polyguard-rules_only-hardened", "tiny-lm-independent"]
)
def test_committed_replays_fit(root, name):
    replay = read_replay(root / "replays" / f"{name}.jsonl")
    found = replay.verify()
    assert found["fits"] and replay.problem_count == 0 and found["hits"] == len(replay) > 0
    rows = replay.rows()
    assert len(rows) == len(replay) and {"seed", "step", "action", "model_source"} <= set(rows[0])


def test_written_episodes_are_read_back(tmp_path):
    path = tmp_path / "mine.jsonl"
    episode = Episode("trust", 1, seed=9)
    while not episode.done:
        episode.step(10)
    texts = [episode.replay("me"), load_policy("cluster", "planner").record(3, task=2, name="planner")]
    count = write_replay(path, texts)
    replay = read_replay(path)
    found = replay.verify()
    assert len(replay) == count and found["fits"]
    by_world = {e["world"]: e for e in found["episodes"]}
    assert by_world["trust"]["digest"] == episode.digest
    assert by_world["cluster"]["digest"] == load_policy("cluster", "planner").run(3, task=2)["digest"][0]
    with pytest.raises(FileExistsError):
        write_replay(path, texts)
    assert write_replay(path, texts[0], overwrite=True) < count


def test_bad_lines_are_named_and_leave_the_others(tmp_path):
    row = load_policy("trust", "heuristic").record(1, task=1)
    replay = read_replay(b'{"task_type": 3}\n\xff\xfe\n' + row.encode())
    assert replay.problem_count == 2 and [line for line, _ in replay.problems()] == [1, 2]
    assert replay.verify()["fits"] and len(replay) == len(row.splitlines())
    changed = json.loads(row.splitlines()[0])
    changed["step"] = 10_000
    with pytest.raises(ValueError, match="line 1 is not a row"):
        write_replay(tmp_path / "no.jsonl", json.dumps(changed) + "\n")
    assert not (tmp_path / "no.jsonl").exists()
    with pytest.raises(FileNotFoundError):
        read_replay(tmp_path / "nowhere.jsonl")
    assert len(read_replay(b"")) == 0
