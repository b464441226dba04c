"""Episodes and policies: digests equal to the recorded ones, and players that follow an episode."""

import json
import pickle

import numpy as np
import pytest

import sentinel_env
from sentinel_env import Episode, load_policy

#: Every policy that plays an episode in a few milliseconds.
SLOW = {"lookahead", "oracle"}


def recorded(root, name):
    """Returns the world, rules and episodes of a list of digests."""
    found = json.loads((root / "testdata/digests" / f"{name}.json").read_text())
    return found.get("world", "trust"), found.get("rules", "reference"), found["episodes"]


@pytest.mark.parametrize("name", ["trust", "trust_hardened", "cluster", "cluster_hardened", "polyguard", "polyguard_hardened"])
def test_digests_equal_the_recorded_ones(root, name):
    world, rules, episodes = recorded(root, name)
    groups = {}
    for episode in episodes:
        if world == "cluster" and episode["policy"] in SLOW:
            continue
        groups.setdefault((episode["task"], episode["policy"], episode["streams"]), []).append(episode)
    assert groups
    for (task, policy, streams), group in groups.items():
        # Natively, because some seeds are beyond the largest one that the package accepts.
        seeds = np.array([e["seed"] for e in group], np.uint64)
        played = load_policy(world, policy)._native.run(seeds, task=task, streams=streams, rules=rules)
        assert played["digest"] == [e["digest"] for e in group], (task, policy, streams)


@pytest.mark.parametrize(
    ("world", "task", "name"),
    [
        ("trust", 3, "random"),
        ("trust", 3, "bayes"),
        ("trust", 2, "oracle"),
        ("cluster", 1, "random"),
        ("cluster", 1, "planner"),
        ("polyguard", "DDI-hard", "random"),
        ("polyguard", "DDI-hard", "rules_only"),
    ],
)
def test_player_in_python_equals_native_run(world, task, name):
    policy = load_policy(world, name)
    assert policy.rules is None
    for seed in range(3):
        episode = Episode(world, task, seed=seed)
        player = policy.player(episode)
        while not episode.done:
            player.step()
        native = policy.run(seed, task=task)
        assert native["digest"] == [episode.digest] and native["score"][0] == episode.score


@pytest.mark.parametrize(
    ("folder", "world", "task", "rules"),
    [
        ("grpo", "trust", 3, "reference"),
        ("trust-grpo-hardened", "trust", 3, "hardened"),
        ("cluster-grpo-reference", "cluster", 2, "reference"),
        ("cluster-grpo", "cluster", 2, "hardened"),
        ("polyguard-grpo", "polyguard", "DDI-hard", "hardened"),
    ],
)
def test_trained_policy_plays(root, folder, world, task, rules):
    policy = load_policy(model=root / "replays" / folder)
    assert policy.world == world and not policy.is_privileged
    assert policy.rules == rules and pickle.loads(pickle.dumps(policy)).rules == rules
    again = load_policy(world, model=root / "replays" / folder / "model.safetensors")
    episode = Episode(world, task, seed=4, rules=policy.rules)
    player = again.player(episode)
    probabilities = None
    while not episode.done:
        player.step()
        probabilities = player.probabilities()
    assert abs(sum(probabilities) - 1) < 1e-9
    assert policy.run(4, task=task, rules=policy.rules)["digest"] == [episode.digest]


@pytest.mark.parametrize(
    ("world", "task", "folders"),
    [
        ("trust", 3, {"reference": "grpo", "hardened": "trust-grpo-hardened"}),
        ("cluster", 2, {"reference": "cluster-grpo-reference", "hardened": "cluster-grpo"}),
        ("polyguard", "DDI-hard", {"reference": "polyguard-grpo", "hardened": "polyguard-grpo"}),
    ],
)
def test_published_policy_follows_the_rules(root, world, task, folders):
    policy = load_policy(world, "trained")
    assert policy.name == "trained" and policy.rules is None and not policy.is_privileged
    for rules, folder in folders.items():
        expected = load_policy(model=root / "replays" / folder).run(range(3), task=task, rules=rules)
        for copy in (policy, pickle.loads(pickle.dumps(policy))):
            assert copy.run(range(3), task=task, rules=rules)["digest"] == expected["digest"]
        episode = Episode(world, task, seed=2, rules=rules)
        player = policy.player(episode)
        while not episode.done:
            player.step()
        assert episode.digest == expected["digest"][2]


def test_every_world_has_a_published_policy():
    for world in sentinel_env.WORLDS:
        assert load_policy(world, "trained").run(1)["actions"][0] > 0


def test_player_sees_the_steps_of_others():
    """A player that joins late has seen everything: its belief is that of a player from the start."""
    policy = load_policy("trust", "bayes")
    episode = Episode("trust", 3, seed=5)
    early = policy.player(episode)
    for slot in range(5):
        early.act()
        episode.step(5 + slot)
    late = policy.player(episode)
    assert late.act() == early.act() == early.act()
    np.testing.assert_array_equal(late.belief(), early.belief())


def test_actions_as_numbers_and_as_json_are_the_same():
    one, other = Episode("trust", 1, seed=7), Episode("trust", 1, seed=7)
    assert one.step(7) == other.step({"action_type": "verify", "specialist_id": "S2"})
    assert one.digest == other.digest
    assert other.payload()["observation"]["step_count"] == one.step_count
    with pytest.raises(ValueError):
        other.step({"action_type": "dance"})
    with pytest.raises(ValueError):
        other.step({"action_type": ["verify"]})


def test_refused_names_are_explained(tmp_path, root):
    with pytest.raises(ValueError, match="heuristic"):
        load_policy("trust", "nobody")
    with pytest.raises(ValueError, match="needs the names"):
        load_policy("trust")
    with pytest.raises(OSError, match="nowhere"):
        load_policy(model=tmp_path / "nowhere")
    (tmp_path / "model.safetensors").write_bytes(b"no model")
    with pytest.raises(ValueError, match="safetensors"):
        load_policy(model=tmp_path)
    with pytest.raises(ValueError, match="of world trust"):
        load_policy("cluster", model=root / "replays/grpo")
    policy = load_policy("trust", "random")
    with pytest.raises(ValueError, match="of world trust"):
        policy.player(Episode("cluster", seed=0))
    for seed in (-1, 2**64, "seven", 1.5):
        with pytest.raises(ValueError):
            Episode("trust", seed=seed)
    for seeds in (-1, [2**64]):
        with pytest.raises(ValueError):
            policy.run(seeds)
    player = policy.player(Episode("trust", seed=0))
    player._episode = Episode("trust", seed=1)
    with pytest.raises(ValueError, match="another episode"):
        player.act()
