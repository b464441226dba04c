"""An adapter for Stable-Baselines3: `SentinelVectorEnv` as its ``VecEnv``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from sentinel_env.envs import SentinelVectorEnv


class SentinelVecEnv(VecEnv):
    """Many environments of one task for Stable-Baselines3, stepped natively in one call.

    ``infos`` has ``episode`` (reward, length and time, as its ``Monitor`` writes them), ``score`` and
    ``terminal_observation`` at the end of an episode.

    Args:
        num_envs: Number of environments.
        world: Name of the world.
        task: Name or number of the task; by default the first one.
        options: Further arguments of `SentinelVectorEnv`, such as ``rules`` and ``seeds``.
    """

    def __init__(self, num_envs: int, world: str, task: int | str | None = None, **options: Any) -> None:
        self._vector = SentinelVectorEnv(num_envs, world, task, autoreset_mode="same_step", **options)
        self.render_mode = None
        super().__init__(num_envs, self._vector.single_observation_space, self._vector.single_action_space)
        self._actions: Any = None
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)

    def reset(self) -> np.ndarray:
        """Starts an episode in every environment, with the seed of `VecEnv.seed` if there is one."""
        given = [seed for seed in self._seeds if seed is not None]
        observations, _ = self._vector.reset(seed=given[0] if given else None)
        self._reset_seeds()
        self._returns[:] = 0
        self._lengths[:] = 0
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Keeps the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Takes one action in every environment."""
        observations, rewards, terminated, truncated, infos = self._vector.step(self._actions)
        self._returns += rewards
        self._lengths += 1
        ended = terminated | truncated
        listed: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(ended):
            listed[index] = {
                "episode": {"r": float(self._returns[index]), "l": int(self._lengths[index]), "t": 0.0},
                "score": float(infos["final_info"]["score"][index]),
                "terminal_observation": infos["final_obs"][index],
                "TimeLimit.truncated": bool(truncated[index]),
            }
        self._returns[ended] = 0
        self._lengths[ended] = 0
        return observations, rewards.astype(np.float32), ended, listed

    def action_masks(self) -> np.ndarray:
        """Returns the action masks, as sb3-contrib's ``MaskablePPO`` asks for them."""
        return self._vector.action_masks()

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the vector environment, once for each environment."""
        value = None if attr_name == "render_mode" else getattr(self._vector, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuses: the environments of a batch cannot differ."""
        raise AttributeError(f"{attr_name} cannot be set: make another SentinelVecEnv")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Returns the results of ``action_masks``, the only method of a single environment."""
        if method_name != "action_masks":
            raise AttributeError(f"environments of a batch have no method {method_name}")
        masks = self.action_masks()
        return [masks[index] for index in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Returns `False` for every environment, but `True` for ``Monitor``, whose rows `step_wait` writes."""
        is_monitor = wrapper_class.__name__ == "Monitor"
        return [is_monitor for _ in self._get_indices(indices)]

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Sets the seed of the next reset: environment ``i`` starts with ``seed + i``."""
        self._seeds = [None if seed is None else seed + index for index in range(self.num_envs)]
        return self._seeds
