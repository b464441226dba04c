"""Threads that share an environment take turns."""

import threading

import numpy as np
import pytest

from sentinel_env import Episode, EpisodeEnded, SentinelVectorEnv, TextEnv, load_policy


def run_threads(*works):
    """Runs functions in threads, all at once, and raises the first error."""
    errors, start = [], threading.Barrier(len(works))

    def run(work):
        start.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize("copy", [True, False])
def test_a_vector_environment_takes_every_step_whole(mode, copy):
    """All threads take the same action: together they play what one thread plays."""
    env = SentinelVectorEnv(64, "trust", 1, autoreset_mode=mode, copy=copy, reward="score")
    alone = SentinelVectorEnv(64, "trust", 1, autoreset_mode=mode, reward="score")
    env.reset(seed=0)
    alone.reset(seed=0)
    action = np.full(64, 11)
    seen, lock = [], threading.Lock()

    def step():
        for _ in range(100):
            _, rewards, _, _, infos = env.step(action)
            with lock:
                seen.append((rewards, infos))
            env.action_masks()
            env.write_observations(np.empty((64, 156), np.float32))

    run_threads(*[step] * 4)
    expected = [alone.step(action)[1].copy() for _ in range(400)]
    if copy:
        assert sorted(r.tobytes() for r, _ in seen) == sorted(r.tobytes() for r in expected)
    one, other = env.step(action), alone.step(action)
    for a, b in zip(one[:4], other[:4]):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one[4]["seed"], other[4]["seed"])


def test_a_vector_environment_is_reset_and_stepped_by_threads():
    env = SentinelVectorEnv(16, "cluster", 1)
    env.reset(seed=0)
    action = np.zeros((16, 9), np.int64)
    run_threads(
        lambda: [env.step(action) for _ in range(100)],
        lambda: [env.reset(seed=seed) for seed in range(100)],
        lambda: [env.action_masks() for _ in range(100)],
        lambda: [env.write_observations(np.empty((16, env.world.observation_size), np.float32)) for _ in range(100)],
    )


def test_an_episode_is_shared_by_threads():
    episode = Episode("cluster", 3, seed=1)
    player = load_policy("cluster", "planner").player(episode)

    def act():
        try:
            while True:
                player.step()
        except EpisodeEnded:
            pass

    def read():
        while not episode.done:
            episode.observation()
            episode.action_mask()
            assert episode.payload() and episode.score >= 0 and episode.digest
            player.probabilities()
            try:
                player.act()
            except (EpisodeEnded, ValueError):
                pass

    run_threads(act, act, read, read)
    assert load_policy("cluster", "planner").run(1, task=3)["digest"] == [episode.digest]


def test_a_text_environment_is_shared_by_threads():
    env = TextEnv("trust", 3)
    env.reset(0)
    policy = load_policy("trust", "bayes")
    native = env._native

    def act():
        try:
            for _ in range(100):
                native.step('{"action_type": "skip"}')
        except EpisodeEnded:
            pass

    def read():
        while not native.done:
            native.prompt()
            native.example(policy._native)
            native.replay("x")

    run_threads(act, act, read, read)
