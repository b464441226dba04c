"""Gymnasium environments: conventions, exact seeds, masks, and both ways of restarting."""

import threading

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import sentinel_env
from sentinel_env import Episode, SentinelEnv, SentinelVectorEnv

CASES = [("trust", 1), ("trust", 3), ("cluster", 1), ("polyguard", "DDI-easy"), ("polyguard", "REGIMEN_RISK-hard")]
IDS = {"trust": "Trust", "cluster": "Cluster", "polyguard": "PolyGuard"}


def masked_action(mask: np.ndarray, sizes: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draws an action that the mask allows; 0 for a number without any."""
    parts = np.split(mask, np.cumsum(sizes)[:-1])
    return np.array([rng.choice(np.flatnonzero(part)) if part.any() else 0 for part in parts])


@pytest.mark.parametrize(("world", "task"), CASES)
def test_check_env_passes(world, task):
    env = gym.make(f"sentinel_env:Sentinel/{IDS[world]}-v0", task=task, streams="independent", rules="hardened")
    check_env(env.unwrapped)


@pytest.mark.parametrize(("world", "task"), CASES)
def test_episode_of_a_seed_is_that_of_the_native_policy(world, task):
    policy = sentinel_env.load_policy(world, sentinel_env.world(world).planner if world != "polyguard" else "rules_only")
    env = SentinelEnv(world, task, rules="hardened")
    agent = policy.agent(env)
    for seed in (0, 7, 2**40 + 1):
        observation, info = env.reset(seed=seed)
        assert info["seed"] == seed
        done = False
        while not done:
            observation, _, terminated, truncated, info = env.step(agent(observation))
            done = terminated or truncated
        native = policy.run(seed, task=task, rules="hardened")
        assert native["digest"] == [env.episode.digest]
        assert native["score"][0] == info["score"] == env.episode.score


def test_reset_without_seed_stays_in_the_range():
    env = SentinelEnv("trust", seeds=range(500, 510))
    seen = {env.reset()[1]["seed"] for _ in range(200)}
    assert seen <= set(range(500, 510)) and len(seen) > 5
    first = [SentinelEnv("trust"), SentinelEnv("trust")]
    drawn = [[env.reset(seed=3)[1]["seed"]] + [env.reset()[1]["seed"] for _ in range(5)] for env in first]
    assert drawn[0] == drawn[1]
    assert all(100_000 <= seed < 600_000 for seed in drawn[0][1:])


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize(("world", "task"), CASES)
def test_vector_env_equals_single_episodes(world, task, mode):
    """Plays a vector environment and, beside it, the single episode of each seed that it names."""
    count, rng = 7, np.random.default_rng(0)
    vector = gym.make_vec(
        f"sentinel_env:Sentinel/{IDS[world]}-v0",
        num_envs=count,
        task=task,
        autoreset_mode=mode,
        rules="hardened",
    )
    sizes = sentinel_env.world(world).action_sizes(task)
    seeds = [3, 11, 2, 5, 999, 0, 2**50]
    observations, infos = vector.reset(seed=seeds)
    assert infos["seed"].tolist() == seeds
    singles = [Episode(world, task, seed=seed, rules="hardened") for seed in seeds]
    ended = [False] * count
    ends = 0
    for _ in range(150):
        for index, single in enumerate(singles):
            np.testing.assert_array_equal(observations[index], single.observation())
            np.testing.assert_array_equal(infos["action_mask"][index], single.action_mask())
        actions = np.stack([masked_action(mask, sizes, rng) for mask in infos["action_mask"]])
        taken = actions[:, 0] if len(sizes) == 1 else actions
        observations, rewards, terminated, truncated, infos = vector.step(taken)
        for index, single in enumerate(singles):
            if ended[index]:
                # In the mode next_step this step only shows the first observation.
                assert (rewards[index], terminated[index], truncated[index]) == (0.0, False, False)
                singles[index] = Episode(world, task, seed=int(infos["seed"][index]), rules="hardened")
                ended[index] = False
                continue
            assert single.step(actions[index]) == (rewards[index], terminated[index], truncated[index])
            if not single.done:
                continue
            ends += 1
            if mode == "next_step":
                ended[index] = True
                assert infos["_score"][index] and infos["score"][index] == single.score
                assert infos["seed"][index] == single.seed
            else:
                final = infos["final_info"]
                assert infos["_final_obs"][index] and infos["_final_info"][index]
                np.testing.assert_array_equal(infos["final_obs"][index], single.observation())
                assert final["score"][index] == single.score and final["seed"][index] == single.seed
                singles[index] = Episode(world, task, seed=int(infos["seed"][index]), rules="hardened")
    assert ends > 3


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_vector_env_is_reproducible_and_keeps_to_its_seeds(mode):
    def play():
        env = SentinelVectorEnv(5, "trust", 1, seeds=(100, 130), autoreset_mode=mode)
        env.action_space.seed(1)
        _, infos = env.reset(seed=42)
        assert infos["seed"].tolist() == [42, 43, 44, 45, 46]
        rows = []
        for _ in range(100):
            observations, rewards, terminated, _, infos = env.step(env.action_space.sample())
            rows.append((observations, rewards, terminated, infos["seed"]))
        return rows

    first, second = play(), play()
    for one, other in zip(first, second):
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)
    later = {int(seed) for row in first[40:] for seed in row[3]}
    assert later <= set(range(100, 130)) and len(later) > 10


def test_partial_reset_leaves_the_others_alone():
    env = SentinelVectorEnv(4, "cluster", 2)
    env.reset(seed=0)
    env.step(env.action_space.sample() * 0)
    before = env.reset(options={"reset_mask": np.array([False] * 4)})[0]
    after, infos = env.reset(seed=[1, None, 77, None], options={"reset_mask": np.array([False, False, True, False])})
    assert infos["seed"].tolist() == [0, 1, 77, 3]
    np.testing.assert_array_equal(after[[0, 1, 3]], before[[0, 1, 3]])
    np.testing.assert_array_equal(after[2], Episode("cluster", 2, seed=77).observation())


def test_arrays_are_reused_only_without_copy():
    for copy in (True, False):
        env = SentinelVectorEnv(3, "trust", copy=copy)
        first, _ = env.reset(seed=0)
        second, *_ = env.step(np.zeros(3, int))
        assert (first is second) is not copy
    out = np.full((3, first.shape[1]), np.nan, np.float32)
    env.write_observations(out)
    np.testing.assert_array_equal(out, second)


def test_environment_without_features_plays_the_same():
    plain = SentinelVectorEnv(6, "trust", 2, features=False, masks=False)
    full = SentinelVectorEnv(6, "trust", 2)
    assert plain.reset(seed=1)[0].shape == (6, 0)
    full.reset(seed=1)
    full.action_space.seed(0)
    for _ in range(60):
        action = full.action_space.sample()
        one, other = plain.step(action), full.step(action)
        for a, b in zip(one[1:4], other[1:4]):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize(("world", "task"), CASES)
def test_rewards_of_the_score_sum_to_it(world, task, mode):
    env = SentinelVectorEnv(4, world, task, reward="score", autoreset_mode=mode)
    _, infos = env.reset(seed=0)
    single = SentinelEnv(world, task, reward="score")
    single.reset(seed=0)
    rng, sums, ends, first = np.random.default_rng(0), np.zeros(4), 0, 0.0
    sizes, same = env.world.action_sizes(task), mode == "same_step"
    for _ in range(200):
        actions = np.stack([masked_action(mask, sizes, rng) for mask in infos["action_mask"]])
        _, rewards, terminated, truncated, infos = env.step(actions[:, 0] if len(sizes) == 1 else actions)
        sums += rewards
        ended = terminated | truncated
        if not single.episode.done:
            step = single.step(actions[0] if len(sizes) > 1 else actions[0, 0])
            assert step[1] == rewards[0]
            first += step[1]
            if step[2]:
                assert first == pytest.approx(step[4]["score"], abs=1e-12)
        for index in np.flatnonzero(ended):
            score = (infos["final_info"] if same else infos)["score"][index]
            assert sums[index] == pytest.approx(score, abs=1e-12)
            ends += 1
        sums[ended] = 0
    assert ends > 3 and single.episode.done


def test_features_have_names():
    trust = sentinel_env.world("trust")
    observation = Episode("trust", 3, seed=42).observation()
    assert len(trust.feature_names) == len(set(trust.feature_names)) == len(observation)
    named = dict(zip(trust.feature_names, observation))
    assert (named["global.task=task1"], named["global.task=task3"], named["slot0.called"]) == (0, 1, 0)
    assert trust.section("slot").of(observation).shape == (5, 26)
    vector = np.stack([observation] * 4)
    assert trust.section("global").of(vector).shape == (4, 1, 26)
    assert np.shares_memory(trust.section("slot").of(vector), vector)


def test_threads_share_a_batch_without_damage():
    """Several threads step one environment, which must take every step whole."""
    env = SentinelVectorEnv(64, "trust", features=False, masks=False)
    env.reset(seed=0)
    failures = []

    def work():
        try:
            for _ in range(50):
                rewards, flags, more = np.empty(64), np.empty(64, bool), np.empty(64, bool)
                env._batch.step(np.zeros(64, np.int64), rewards, flags, more)
        except Exception as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"world": "mars"}, "unknown world"),
        ({"world": "trust", "task": 9}, "no task number 9"),
        ({"world": "trust", "task": "task9"}, "task1, task2 or task3"),
        ({"world": "trust", "streams": "x"}, "reference or independent"),
        ({"world": "polyguard", "streams": "reference"}, "independent"),
        ({"world": "cluster", "rules": "softened"}, "reference or hardened"),
        ({"world": "trust", "seeds": (5, 5)}, "not a range"),
        ({"world": "trust", "render_mode": "human"}, "render_mode"),
        ({"world": "trust", "reward": "fame"}, "step or score"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(arguments, words):
    for make in (SentinelEnv, SentinelVectorEnv):
        with pytest.raises(ValueError, match=words):
            make(**arguments)


def test_bad_actions_are_refused_and_change_nothing():
    env = SentinelEnv("cluster", 1)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    before = env.episode.digest
    for action in ([9] + [0] * 8, [0, 10] + [0] * 7, [0] * 8, [-1] + [0] * 8, [2**40] + [0] * 8):
        with pytest.raises(ValueError):
            env.step(action)
    for action in ("tick", None, [0.5] * 9):
        with pytest.raises((TypeError, ValueError)):
            env.step(action)
    assert env.episode.digest == before
    vector = SentinelVectorEnv(2, "trust")
    with pytest.raises(gym.error.ResetNeeded):
        vector.step([0, 0])
    vector.reset(seed=0)
    for actions in ([0, 12], [0], [0, 0, 0], [[0, 0], [0, 0]], [-1, 0]):
        with pytest.raises(ValueError):
            vector.step(actions)
    with pytest.raises(ValueError, match="3 seeds for 2"):
        vector.reset(seed=[1, 2, 3])
    for seed in (-1, 2**64):
        with pytest.raises((ValueError, gym.error.Error)):
            vector.reset(seed=seed)


def test_step_after_the_end_is_refused():
    env = SentinelEnv("trust", 1)
    env.reset(seed=0)
    with pytest.raises(sentinel_env.EpisodeEnded, match="reset"):
        for _ in range(200):
            env.step(11)
