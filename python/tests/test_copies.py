"""Copies and pickles of running environments, which go on as the original would and do not touch it."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest

import sentinel_env
from sentinel_env import Episode, SentinelEnv, SentinelVectorEnv, TextEnv, load_policy

CASES = [("trust", 3), ("cluster", 1), ("polyguard", "DDI-hard")]


def pickled(value):
    """Returns a value from its pickle."""
    return pickle.loads(pickle.dumps(value))


COPIES = [copy.deepcopy, pickled]


def same(one, other):
    """Asserts that two results of `step` or `reset` are equal."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            same(a, b)
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize(("world", "task"), CASES)
def test_an_environment_goes_on_in_its_copy(world, task, make_copy):
    env = SentinelEnv(world, task, rules="hardened", reward="score")
    env.action_space.seed(0)
    env.reset(seed=3)
    steps, done = 0, False
    while not done:
        other = make_copy(env)
        assert other.episode.digest == env.episode.digest
        actions = [env.action_space.sample() for _ in range(3)]
        before = env.episode.digest
        for action in actions:
            if not other.episode.done:
                other.step(action)
        assert env.episode.digest == before
        other = make_copy(env)
        one = env.step(actions[0])
        same(one, other.step(actions[0]))
        assert env.episode.digest == other.episode.digest
        assert env.episode.payload() == other.episode.payload()
        steps, done = steps + 1, one[2] or one[3]
    assert steps > 3
    other = make_copy(env)
    assert other.episode.done and other.episode.score == env.episode.score
    for _ in range(3):
        same(env.reset(), other.reset())


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize(("world", "task"), CASES)
def test_a_vector_environment_goes_on_in_its_copy(world, task, mode, make_copy):
    env = SentinelVectorEnv(5, world, task, rules="hardened", seeds=(100, 140), autoreset_mode=mode, reward="score")
    same(env.reset(seed=[3, 1, 4, 1, 5]), make_copy(env).reset(seed=[3, 1, 4, 1, 5]))
    env.action_space.seed(0)
    copies, ended = [], False
    for step in range(260):
        if step % 13 == 0 or ended:
            copies.append(make_copy(env))
            if len(copies) > 3:
                copies.pop(0)
        actions = env.action_space.sample()
        result = env.step(actions)
        ended = (result[2] | result[3]).any()
        for other in copies:
            same(result, other.step(actions))
        if step == 100:
            mask = np.array([True, False, False, True, False])
            for each in (env, *copies):
                last = each.reset(options={"reset_mask": mask})
            same(env.reset(options={"reset_mask": ~mask}), copies[-1].reset(options={"reset_mask": ~mask}))
            copies.clear()
    assert last


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize("options", [{"features": False, "masks": False}, {"copy": False}])
def test_options_of_a_vector_environment_are_copied(options, make_copy):
    env = SentinelVectorEnv(3, "trust", 1, **options)
    before = make_copy(env)
    with pytest.raises(gym.error.ResetNeeded):
        before.step([0, 0, 0])
    env.reset(seed=0)
    other = make_copy(env)
    for _ in range(60):
        same(env.step([11, 0, 5]), other.step([11, 0, 5]))
        other = make_copy(other)
    env.close()
    with pytest.raises(gym.error.ClosedEnvironmentError):
        make_copy(env).step([0, 0, 0])


def test_a_copy_of_a_vector_environment_does_not_touch_the_original():
    env = SentinelVectorEnv(4, "trust", 2, copy=False)
    env.reset(seed=0)
    first = np.stack([Episode("trust", 2, seed=seed).observation() for seed in range(4)])
    for make_copy in COPIES:
        other = make_copy(env)
        before = [np.array(part) for part in env._arrays()[:4]]
        for _ in range(50):
            other.step([11, 0, 1, 2])
        other.reset()
        for a, b in zip(before, env._arrays()):
            np.testing.assert_array_equal(a, b)
        observations = np.empty_like(before[0])
        env.write_observations(observations)
        np.testing.assert_array_equal(observations, first)


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize(("world", "task"), CASES)
def test_an_episode_keeps_messages_numbers_and_players(world, task, make_copy):
    """Steps of all three kinds are in one episode; what a message said besides its action is kept."""
    messages = {
        "trust": '{"action_type": "verify", "specialist_id": "S2", "reasoning": "a check"}',
        "cluster": '{"action_type": "tick"}',
        "polyguard": '{"candidate_id": "cand_01", "rationale": "egfr", "foo": 1}',
    }
    episode = Episode(world, task, seed=11, rules="hardened")
    policy = load_policy(world, sentinel_env.world(world).heuristic)
    player = policy.player(episode)
    episode.step_json(messages[world])
    if not episode.done:
        player.step()
    if not episode.done:
        episode.step([0] * len(sentinel_env.world(world).action_names))
    other = make_copy(episode)
    assert (other.digest, other.payload(), other.replay("x")) == (episode.digest, episode.payload(), episode.replay("x"))
    np.testing.assert_array_equal(other.observation(), episode.observation())
    while not episode.done:
        player.step()
    assert other.step_count < episode.step_count
    ended = make_copy(episode)
    assert (ended.digest, ended.done, ended.score) == (episode.digest, True, episode.score)


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize(
    ("world", "task", "name"),
    [("trust", 3, "random"), ("trust", 3, "bayes"), ("cluster", 1, "random"), ("polyguard", "DDI-hard", "random")],
)
def test_a_player_goes_on_in_its_copy(world, task, name, make_copy):
    policy = load_policy(world, name)
    episode = Episode(world, task, seed=2)
    player = policy.player(episode)
    while not episode.done:
        other = make_copy(player)
        assert other._episode is not episode
        player.step()
        other.step()
        assert other._episode.digest == episode.digest
        assert other.probabilities() == player.probabilities() and other.belief() == player.belief()
    # Both in one container stay together.
    together = make_copy((policy.player(episode), episode))
    assert together[0]._episode is together[1]


@pytest.mark.parametrize("make_copy", COPIES)
def test_policies_are_copied(root, make_copy):
    for policy in (load_policy("trust", "bayes"), load_policy(model=root / "replays/grpo")):
        other = make_copy(policy)
        assert (other.name, other.world, other.is_privileged) == (policy.name, policy.world, policy.is_privileged)
        assert other.run([1, 2], task=3)["digest"] == policy.run([1, 2], task=3)["digest"]


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize("on_invalid", ["end", "fallback"])
@pytest.mark.parametrize(("world", "task"), CASES)
def test_a_text_environment_goes_on_in_its_copy(world, task, on_invalid, make_copy):
    env = TextEnv(world, task, style="reference", invalid_reward=-0.5, on_invalid=on_invalid)
    policy = load_policy(world, sentinel_env.world(world).heuristic)
    for last in ("I would rather not", None):
        env.reset(5)
        for _ in range(2):
            completion, other = env.example(policy), make_copy(env)
            assert other.example(policy) == completion
            assert other.step(completion) == env.step(completion)
        other = make_copy(env)
        if last is None:
            env.abort()
            other.abort()
        else:
            assert env.step(last) == other.step(last)
        other = make_copy(env)
        assert (env.done, env.aborted, env.score, env.step_count) == (other.done, other.aborted, other.score, other.step_count)
        assert env.transcript("x") == other.transcript("x")
        assert env.reset() == other.reset()
    assert make_copy(TextEnv(world))._native is None


def test_made_environments_are_copied_with_their_wrappers():
    env = gym.make("sentinel_env:Sentinel/Trust-v0", task=3)
    env.reset(seed=1)
    env.step(7)
    for make_copy in COPIES:
        other = make_copy(env)
        same(other.step(3), make_copy(env).step(3))


def test_broken_pickles_are_refused():
    """A state that no environment had is an error and no panic."""
    env = SentinelVectorEnv(2, "trust", 1)
    env.reset(seed=0)
    env.step([0, 0])
    function, (batch, names, flags, (next_seed, episodes)) = env._batch.__reduce__()
    first, second = episodes
    for wrong in (
        [first],
        [first, second, second],
        [first, (1, None, [12])],
        [first, (1, 7, [0])],
        [first, (1, None, [11] * 10_000)],
        [first, (1, None, [11] * 35)],
    ):
        with pytest.raises(ValueError, match="another batch"):
            function(batch, names, flags, (next_seed, wrong))
    episode = Episode("trust", seed=0)
    episode.step(0)
    function, (world, seed, names, steps, digest) = episode._native.__reduce__()
    with pytest.raises(ValueError, match="another version"):
        function(world, seed + 1, names, steps, digest)
    for wrong in ([([12], None, False)], [([], "broken", False)], [([], "broken", True)], [([0, 0], None, False)]):
        with pytest.raises(ValueError):
            function(world, seed, names, wrong, digest)
