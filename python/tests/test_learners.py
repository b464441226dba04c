"""The package beside Stable-Baselines3 and TRL. Skipped without them, but not in `cargo xtask test --full`."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest


def need(module):
    """Returns a module; skips the test without it, or fails where every package must be there."""
    if os.environ.get("SENTINEL_PYTHON_ALL"):
        return __import__(module)
    return pytest.importorskip(module)


def test_sb3_accepts_and_steps_the_environment():
    need("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env

    import sentinel_env
    from sentinel_env.sb3 import SentinelVecEnv

    check_env(sentinel_env.SentinelEnv("trust", 3), warn=False)
    env = SentinelVecEnv(6, "trust", 1, reward="score")
    env.seed(3)
    first = env.reset()
    np.testing.assert_array_equal(first[2], sentinel_env.Episode("trust", 1, seed=5).observation())
    sums, ends = np.zeros(6), 0
    rng = np.random.default_rng(0)
    for _ in range(100):
        observations, rewards, dones, infos = env.step(rng.integers(0, 12, 6))
        sums += rewards
        assert observations.shape == (6, 156) and rewards.dtype == np.float32
        for index in np.flatnonzero(dones):
            ends += 1
            assert infos[index]["score"] == pytest.approx(sums[index], abs=1e-5)
            assert infos[index]["episode"]["r"] == pytest.approx(sums[index], abs=1e-5)
            assert infos[index]["terminal_observation"].shape == (156,)
        sums[dones] = 0
    assert ends > 10
    assert len(env.env_method("action_masks")) == 6


@pytest.mark.parametrize("name", ["Trust", "Cluster", "PolyGuard"])
def test_sb3_makes_environments_by_their_id(name):
    sb3 = need("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env

    import sentinel_env  # noqa: F401 - registers the ids

    model = sb3.PPO("MlpPolicy", f"Sentinel/{name}-v0", n_steps=16, batch_size=16, n_epochs=1, device="cpu")
    model.learn(16)
    env = make_vec_env(f"Sentinel/{name}-v0", 2)
    env.reset()
    env.step([env.action_space.sample() for _ in range(2)])
    assert env.render().dtype == np.uint8


def test_sb3_learns_for_one_update():
    sb3 = need("stable_baselines3")
    from sentinel_env.sb3 import SentinelVecEnv

    env = SentinelVecEnv(8, "cluster", 1, reward="score")
    model = sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, seed=0, device="cpu")
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(256)
    assert any(not (a == b).all() for a, b in zip(before, model.policy.parameters()))


@pytest.mark.parametrize("arguments", [["--tiny", "--steps", "1"]])
def test_trl_takes_a_grpo_step(arguments, tmp_path):
    need("trl")
    example = pathlib.Path(__file__).resolve().parents[1] / "examples/trl_grpo.py"
    command = [sys.executable, str(example), *arguments, "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "'reward'" in done.stdout and "TrustTools" in done.stdout
