"""Trains a policy for the trust world with PPO of Stable-Baselines3, and compares it with scripted ones.

    pip install "./python[sb3]"
    python python/examples/sb3_ppo_trust.py

The policy learns on training seeds, the checkpoint is chosen on validation seeds, and the test seeds are
played once, at the end. The reward is the change of the score, so that the return of an episode is its score.
"""

from __future__ import annotations

import argparse
import pathlib
import time

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import sentinel_env
from sentinel_env.sb3 import SentinelVecEnv

TRAINING = range(100_000, 600_000)
VALIDATION = range(5000, 5300)
TEST = range(1000, 2000)


def greedy_scores(model: PPO, seeds: range, task: int, rules: str) -> np.ndarray:
    """Returns the score of the episode of each seed, played greedily, all at once."""
    env = sentinel_env.SentinelVectorEnv(len(seeds), "trust", task, rules=rules, autoreset_mode="same_step")
    observations, _ = env.reset(seed=list(seeds))
    scores = np.full(len(seeds), np.nan)
    while np.isnan(scores).any():
        actions, _ = model.predict(observations, deterministic=True)
        observations, _, _, _, infos = env.step(actions)
        if "final_info" in infos:
            # Only the first episode of each environment is that of its seed.
            first = infos["_final_info"] & np.isnan(scores)
            scores[first] = infos["final_info"]["score"][first]
    return scores


class ChooseOnValidation(BaseCallback):
    """Plays the validation seeds after some steps, and saves the best policy."""

    def __init__(self, path: pathlib.Path, every: int, task: int, rules: str) -> None:
        super().__init__()
        self.path, self.every, self.task, self.rules = path, every, task, rules
        self.best, self.next, self.start = -1.0, 0, time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps < self.next:
            return
        self.next = self.num_timesteps + self.every
        score = greedy_scores(self.model, VALIDATION, self.task, self.rules).mean()
        mark = ""
        if score > self.best:
            self.best, mark = score, " *"
            self.model.save(self.path)
        seconds = time.perf_counter() - self.start
        print(f"{self.num_timesteps:>9} steps {seconds:>5.0f} s  validation {score:.4f}{mark}", flush=True)


def main() -> None:
    """Trains, chooses and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", type=int, default=3)
    parser.add_argument("--rules", default="reference")
    parser.add_argument("--timesteps", type=int, default=1_500_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("ppo-trust.zip"))
    given = parser.parse_args()
    if given.out.exists():
        parser.error(f"{given.out} exists: name another file with --out")

    env = SentinelVecEnv(64, "trust", given.task, rules=given.rules, seeds=TRAINING, reward="score", masks=False)
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=lambda left: 1e-3 * left,
        n_steps=128,
        batch_size=2048,
        n_epochs=4,
        gamma=1.0,
        gae_lambda=0.95,
        ent_coef=0.002,
        policy_kwargs={"net_arch": [128, 128]},
        seed=given.seed,
        device="cpu",
    )
    choose = ChooseOnValidation(given.out, given.timesteps // 12, given.task, given.rules)
    model.learn(given.timesteps, callback=choose)
    choose.next = 0
    choose.on_rollout_start()

    best = PPO.load(given.out, device="cpu")
    print(f"\ntest seeds {TEST.start}..{TEST.stop}, task{given.task}, {given.rules} rules, mean score ± standard error")
    for name in ("random", "heuristic", "self_solve", "bayes"):
        scores = sentinel_env.load_policy("trust", name).run(TEST, task=given.task, rules=given.rules)["score"]
        print(f"{name:<10} {scores.mean():.4f} ± {scores.std() / len(scores) ** 0.5:.4f}")
    scores = greedy_scores(best, TEST, given.task, given.rules)
    print(f"{'ppo':<10} {scores.mean():.4f} ± {scores.std() / len(scores) ** 0.5:.4f}")


if __name__ == "__main__":
    main()
