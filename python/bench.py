"""Measures steps per second of the vectorized environments.

    python python/bench.py [--envs 256] [--seconds 3] [--world trust] [--cpu]

Actions are drawn beforehand, uniformly among all that the space has. Resets are counted in. Each figure is the best of three measurements.
``--cpu`` counts the processor time of this process, for a machine that others use too.
"""

from __future__ import annotations

import argparse
import time

import gymnasium as gym
import numpy as np

import sentinel_env

#: Number of different arrays of actions.
BLOCK = 64

#: The clock that is read.
clock = time.perf_counter


def drawn_actions(env: gym.vector.VectorEnv, count: int) -> list[np.ndarray]:
    """Returns `count` arrays of random actions."""
    env.action_space.seed(0)
    return [np.asarray(env.action_space.sample()) for _ in range(count)]


def steps_per_second(step, count: int, seconds: float) -> float:
    """Calls `step(index)` for some seconds, three times; returns the best number of steps per second."""
    best = 0.0
    for _ in range(3):
        done, start = 0, clock()
        while (taken := clock() - start) < seconds / 3:
            for index in range(BLOCK):
                step(index)
            done += BLOCK
        best = max(best, done * count / (clock() - start))
    return best


def vector_rate(world: str, task: object, count: int, seconds: float, **options: object) -> float:
    """Measures a `SentinelVectorEnv`."""
    env = sentinel_env.SentinelVectorEnv(count, world, task, **options)
    env.reset(seed=0)
    actions = drawn_actions(env, BLOCK)
    return steps_per_second(lambda index: env.step(actions[index]), count, seconds)


def native_rate(world: str, task: object, count: int, seconds: float, *, features: bool) -> float:
    """Measures the native batch alone, which writes into given arrays."""
    described = sentinel_env.world(world)
    batch = sentinel_env._native.Batch(
        world, count, *sentinel_env.worlds.TRAINING_SEEDS, task=described.task_name(task), features=features
    )
    size = batch.observation_size
    rewards, flags, more = np.empty(count), np.empty(count, bool), np.empty(count, bool)
    observations = np.empty((count, size), np.float32) if features else None
    sizes = np.array(batch.action_sizes)
    rng = np.random.default_rng(0)
    shape = (count,) if len(sizes) == 1 else (count, len(sizes))
    actions = [rng.integers(0, sizes, (count, len(sizes))).reshape(shape) for _ in range(BLOCK)]
    return steps_per_second(
        lambda index: batch.step(actions[index], rewards, flags, more, observations), count, seconds
    )


def single_rate(world: str, task: object, seconds: float) -> float:
    """Measures a single `SentinelEnv`, resets included."""
    env = sentinel_env.SentinelEnv(world, task)
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(BLOCK)]

    def step(index: int) -> None:
        _, _, terminated, truncated, _ = env.step(actions[index])
        if terminated or truncated:
            env.reset()

    return steps_per_second(step, 1, seconds)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--world", choices=sentinel_env.WORLDS, default="trust")
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    if given.cpu:
        global clock
        clock = time.process_time
    world, count, seconds = given.world, given.envs, given.seconds
    print(f"world {world}, {count} environments, thousand steps/s{' of processor time' if given.cpu else ''}, resets counted in\n")
    print(f"{'task':<20} {'native':>8} {'native+f':>9} {'vector':>8} {'vector+f':>9} {'+f+mask':>9} {'no copy':>9} {'single':>8}")
    for task in sentinel_env.world(world).tasks[:3]:
        plain = {"features": False, "masks": False}
        rates = [
            native_rate(world, task, count, seconds, features=False),
            native_rate(world, task, count, seconds, features=True),
            vector_rate(world, task, count, seconds, **plain),
            vector_rate(world, task, count, seconds, masks=False),
            vector_rate(world, task, count, seconds),
            vector_rate(world, task, count, seconds, copy=False),
            single_rate(world, task, seconds),
        ]
        widths = (8, 9, 8, 9, 9, 9, 8)
        print(f"{task:<20} " + " ".join(f"{rate / 1000:>{width}.0f}" for rate, width in zip(rates, widths)))


if __name__ == "__main__":
    main()
