"""Gymnasium environments of all worlds, single and vectorized."""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from sentinel_env import _native
from sentinel_env.episodes import Episode, action_array
from sentinel_env.render import RENDER_MODE, check_render_mode, observation_image
from sentinel_env.worlds import TRAINING_SEEDS, WORLDS, seed_range
from sentinel_env.worlds import world as describe

ObsType = npt.NDArray[np.float32]


def action_space(world: str, task: int | str | None = None) -> gym.spaces.Discrete | gym.spaces.MultiDiscrete:
    """Returns the space of the actions of a task: `Discrete`, or `MultiDiscrete` for ``cluster``.

    Every action of the space is accepted; one outside of the action mask has no effect or is refused by
    the world's rules, which costs a step.
    """
    sizes = describe(world).action_sizes(task)
    if len(sizes) == 1:
        return gym.spaces.Discrete(sizes[0])
    return gym.spaces.MultiDiscrete(np.array(sizes, np.int64))


def observation_space(world: str) -> gym.spaces.Box:
    """Returns the space of the features of a world; `World.feature_names` has their names."""
    return gym.spaces.Box(-np.inf, np.inf, (describe(world).observation_size,), np.float32)


class SentinelEnv(gym.Env[ObsType, Any]):
    """One environment of a world.

    ``reset(seed=s)`` starts the episode ``s``, the same as ``sentinel eval --seeds s..s+1``. A reset
    without a seed draws one from `seeds`.

    ``info`` has ``action_mask`` (one flag for each value of the action; for ``cluster`` those of each
    number after the other), ``seed``, and at the end ``score``, 0 to 1.

    An environment can be copied with `copy.deepcopy` and pickled, also while an episode runs: the copy goes on
    as the original would.

    Args:
        world: Name of the world.
        task: Name or number of the task; by default the first one.
        streams: ``independent``, or ``reference`` for parity with the published Python code.
        rules: ``reference`` (default, as in the published system), ``hardened``, or one of them with changes, as in
            ``hardened-timeouts``.
        seeds: Range of the seeds of episodes that are reset without one: ``(first, last + 1)``.
        reward: ``step``, the reward of the world, whose sum is not the score; or ``score``, the change of
            the score, whose sum is.
        render_mode: ``rgb_array``, with which `render` draws the observation; or `None`. `Policy.record` and the
            page show whole episodes.
    """

    metadata: dict[str, Any] = {"render_modes": [RENDER_MODE], "render_fps": 4}

    def __init__(
        self,
        world: str = "trust",
        task: int | str | None = None,
        streams: str | None = None,
        rules: str | None = None,
        seeds: tuple[int, int] | range = TRAINING_SEEDS,
        reward: str = "step",
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        self.world = describe(world)
        self.seeds = seed_range(seeds)
        self._reward_is_score = _reward_is_score(reward)
        self._names = {"task": self.world.task_name(task), "streams": streams, "rules": rules}
        self.observation_space = observation_space(world)
        self.action_space = action_space(world, task)
        #: The current episode, `None` before the first reset.
        self.episode: Episode | None = None
        # Names that do not exist are an error now, not at the first reset.
        Episode(world, seed=0, **self._names)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Starts an episode: that of `seed`, or one of the range `seeds`.

        Raises:
            ValueError: If `seed` is not an integer from 0 to 2**63 - 1. The environment is then unchanged.
        """
        if seed is not None:
            # Before anything changes.
            seed = _native.parse_seed(seed)
        super().reset(seed=seed)
        if seed is None:
            seed = int(self.np_random.integers(*self.seeds))
        self.episode = Episode(self.world.name, seed=seed, **self._names)
        return self.episode.observation(), self._info(self.episode)

    def step(self, action: Any) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Takes one action.

        Args:
            action: A number for a space `Discrete`, also in an array of shape ``(1,)``; integers of shape
                ``(n,)`` for `MultiDiscrete`; or a dict as for `Episode.step`.

        Raises:
            EpisodeEnded: If the episode has ended.
            ValueError: If the action does not exist or has another shape. The episode is then unchanged.
            TypeError: If it has numbers that are not integers.
        """
        if self.episode is None:
            raise gym.error.ResetNeeded("no episode: call reset before the first step")
        before = self.episode.score if self._reward_is_score and self.episode.step_count else 0.0
        reward, terminated, truncated = self.episode.step(action)
        if self._reward_is_score:
            reward = self.episode.score - before
        info = self._info(self.episode)
        if terminated or truncated:
            info["score"] = self.episode.score
        return self.episode.observation(), reward, terminated, truncated, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns the action mask, under the name that sb3-contrib's ``MaskablePPO`` calls."""
        if self.episode is None:
            raise gym.error.ResetNeeded("no episode: call reset first")
        return self.episode.action_mask()

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Returns the current observation as an image in the mode ``rgb_array``, else `None`.

        A row of squares is a row of a section, as `World.sections` lists them, and a square is a feature.
        """
        if self.render_mode is None:
            gym.logger.warn("render draws nothing without a mode: make the environment with render_mode='rgb_array'")
            return None
        if self.episode is None:
            raise gym.error.ResetNeeded("no episode: call reset first")
        return observation_image(self.world, self.episode.observation())

    @staticmethod
    def _info(episode: Episode) -> dict[str, Any]:
        return {"action_mask": episode.action_mask(), "seed": episode.seed}


class SentinelVectorEnv(gym.vector.VectorEnv[npt.NDArray[np.float32], npt.NDArray[Any], npt.NDArray[Any]]):
    """Many environments of one task, stepped natively in one call without the interpreter's lock.

    ``reset(seed=s)`` starts episode ``s + i`` in environment ``i``, and a list of seeds exactly those.
    The episodes that follow take their seeds in order from `seeds`, beginning at a place that depends on
    ``s``, so that training never leaves this range.

    ``infos`` has ``action_mask`` and ``seed``, each with one entry per environment. In the mode
    ``NEXT_STEP`` an ended episode adds ``score``; in ``SAME_STEP`` it adds ``final_obs`` and
    ``final_info``, which holds ``score``, ``seed`` and ``action_mask``. Entries that count have `True` in
    ``_score`` and so on.

    Threads may share an environment. They take turns, one call at a time, which is why ``copy=False`` is not for
    them: the arrays of one thread's step are overwritten by the next step of any thread.

    An environment can be copied with `copy.deepcopy` and pickled, also while episodes run, but not while another
    thread steps it: the copy goes on as the original would, also with the seeds of further episodes.

    Args:
        num_envs: Number of environments, at least 1 and as many as memory holds.
        world: Name of the world.
        task: Name or number of the task; by default the first one.
        streams: As for `SentinelEnv`.
        rules: As for `SentinelEnv`.
        seeds: As for `SentinelEnv`.
        autoreset_mode: ``NEXT_STEP`` (default) or ``SAME_STEP``.
        reward: As for `SentinelEnv`.
        features: Compute observations; without, they are empty, and steps are faster.
        masks: Compute action masks.
        copy: Return new arrays; otherwise each step overwrites those of the step before. ``seed`` and the flags
            ``_seed`` and ``_action_mask`` of `infos` are then read-only.
        render_mode: ``rgb_array``, with which `render` draws the observations; or `None`.

    Raises:
        MemoryError: If there is no memory for so many environments.
    """

    def __init__(
        self,
        num_envs: int = 1,
        world: str = "trust",
        task: int | str | None = None,
        streams: str | None = None,
        rules: str | None = None,
        seeds: tuple[int, int] | range = TRAINING_SEEDS,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        reward: str = "step",
        features: bool = True,
        masks: bool = True,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        if render_mode is not None and not features:
            raise ValueError("rendering needs observations: use features=True, or no render_mode")
        self.world = describe(world)
        self.num_envs = operator.index(num_envs)
        if not 1 <= self.num_envs <= sys.maxsize:
            raise ValueError(f"num_envs is {self.num_envs}, and must be 1 to {sys.maxsize}")
        self.seeds = seed_range(seeds)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**SentinelEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self._same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        task = self.world.task_name(task)
        self._batch = _native.Batch(
            world,
            self.num_envs,
            *self.seeds,
            task=task,
            streams=streams,
            rules=rules,
            next_step=not self._same_step,
            features=features,
        )
        self.single_action_space = action_space(world, task)
        self.single_observation_space = (
            observation_space(world) if features else gym.spaces.Box(-np.inf, np.inf, (0,), np.float32)
        )
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.copy = copy
        self._features = features
        self._masks = masks
        sizes = self._batch.action_sizes
        self._columns = sum(sizes)
        self._action_shape = (self.num_envs,) if len(sizes) == 1 else (self.num_envs, len(sizes))
        self._all = np.ones(self.num_envs, np.bool_)
        self._seeds = np.zeros(self.num_envs, np.uint64)
        self._buffers = None if copy else self._new_buffers()
        self._reward_is_score = _reward_is_score(reward)
        self._last_scores = np.zeros(self.num_envs, np.float64)
        self._is_seeded = False
        self._restarting = False
        self._set_up()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Starts an episode in every environment, or in those of ``options["reset_mask"]``.

        Args:
            seed: Seed of the first environment, from which the others count upwards; or one for each of them.
                A seed is an integer from 0 to 2**63 - 1.
            options: ``reset_mask``: one flag for each environment; all are reset without it.

        Raises:
            ValueError: If one of these is wrong. No environment has then been reset.
        """
        with self._lock:
            self._check_open()
            chosen = self._reset_mask(options)
            listed = self._seed_list(seed)
            observations, *_, masks = self._arrays()
            if not self._is_seeded or seed is not None:
                first = next((s for s in listed if s is not None), None)
                self._np_random, self._np_random_seed = seeding.np_random(first)
                self._batch.seek(int(self._np_random.integers(*self.seeds)))
                self._is_seeded = True
            for index in np.flatnonzero(chosen):
                self._batch.reset_at(int(index), listed[index])
            self._last_scores[chosen] = 0.0
            if self._features:
                self._batch.write_observations(observations)
            infos: dict[str, Any] = {}
            if masks is not None:
                self._batch.write_masks(masks)
            self._batch.write_seeds(self._seeds)
            self._add_infos(infos, masks)
            return observations, infos

    def step(
        self, actions: Any
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Takes one action in every environment.

        Args:
            actions: Integers of shape ``(num_envs,)``, or ``(num_envs, n)`` for a space `MultiDiscrete`. They are
                copied before the first one is taken.

        Raises:
            ValueError: If an action does not exist, or the array has another shape. No environment has then been
                stepped.
            TypeError: If the actions are not integers.
        """
        with self._lock:
            self._check_open()
            if not self._is_seeded:
                raise gym.error.ResetNeeded("no episodes: call reset before the first step")
            observations, rewards, terminated, truncated, scores, masks = self._arrays()
            final_observations = np.zeros_like(observations) if self._same_step and self._features else None
            last_seeds = self._seeds if self._same_step else None
            ends = self._batch.step(
                action_array(actions, self._action_shape),
                rewards,
                terminated,
                truncated,
                observations if self._features else None,
                masks,
                final_observations,
                scores,
                self._reward_is_score,
            )
            ended = terminated | truncated if ends else None
            if self._reward_is_score:
                np.subtract(scores, self._last_scores, out=rewards)
                self._last_scores = scores.copy() if ended is None else np.where(ended, 0.0, scores)
            infos: dict[str, Any] = {}
            if ends or self._restarting:
                if last_seeds is not None:
                    last_seeds = last_seeds.copy()
                self._batch.write_seeds(self._seeds)
            if ended is not None:
                self._add_ends(infos, ended, final_observations, scores, last_seeds)
            self._restarting = bool(ends) and not self._same_step
            self._add_infos(infos, masks)
            return observations, rewards, terminated, truncated, infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns the action masks, ``[environments, values]``."""
        masks = np.empty((self.num_envs, self._columns), np.bool_)
        self._batch.write_masks(masks)
        return masks

    def write_observations(self, out: npt.NDArray[np.float32]) -> None:
        """Writes the current observations into an array, without a copy.

        Args:
            out: `float32` of shape ``(num_envs, features)``, contiguous in C order.

        Raises:
            ValueError: If `out` has another shape or order.
            TypeError: If it has another type or cannot be written.
        """
        self._batch.write_observations(out)

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """Returns an image of each environment's observation in the mode ``rgb_array``, else `None`."""
        if self.render_mode is None:
            return None
        observations = np.empty((self.num_envs, self._batch.observation_size), np.float32)
        self._batch.write_observations(observations)
        return tuple(observation_image(self.world, observation) for observation in observations)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the attributes, without those of `_set_up`."""
        with self._lock:
            return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_shown_seeds")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes the attributes of another environment."""
        self.__dict__.update(state)
        self._set_up()

    def _set_up(self) -> None:
        """Makes what a copy has of its own: the lock, and what callers see of flags and seeds with ``copy=False``."""
        self._lock = threading.RLock()
        self._all.flags.writeable = False
        self._shown_seeds = self._seeds.view()
        self._shown_seeds.flags.writeable = False

    def _check_open(self) -> None:
        if self.closed:
            raise gym.error.ClosedEnvironmentError("the environment is closed: make another one")

    def _arrays(self) -> tuple[Any, ...]:
        return self._new_buffers() if self._buffers is None else self._buffers

    def _new_buffers(self) -> tuple[Any, ...]:
        count = self.num_envs
        return (
            np.empty((count, self._batch.observation_size if self._features else 0), np.float32),
            np.empty(count, np.float64),
            np.empty(count, np.bool_),
            np.empty(count, np.bool_),
            np.zeros(count, np.float64),
            np.empty((count, self._columns), np.bool_) if self._masks else None,
        )

    def _add_infos(self, infos: dict[str, Any], masks: npt.NDArray[np.bool_] | None) -> None:
        infos["seed"] = self._seeds.copy() if self.copy else self._shown_seeds
        infos["_seed"] = self._all.copy() if self.copy else self._all
        if masks is not None:
            infos["action_mask"] = masks
            infos["_action_mask"] = self._all.copy() if self.copy else self._all

    def _add_ends(
        self,
        infos: dict[str, Any],
        ended: npt.NDArray[np.bool_],
        observations: npt.NDArray[np.float32] | None,
        scores: npt.NDArray[np.float64],
        seeds: npt.NDArray[np.uint64] | None,
    ) -> None:
        scores = np.where(ended, scores, 0.0)
        if not self._same_step:
            infos.update(score=scores, _score=ended)
            return
        final: dict[str, Any] = {"score": scores, "_score": ended, "seed": seeds, "_seed": ended}
        if self._masks:
            # Nothing can be chosen after the end.
            final["action_mask"] = np.zeros((self.num_envs, self._columns), np.bool_)
            final["_action_mask"] = ended
        infos.update(final_info=final, _final_info=ended)
        if observations is not None:
            infos.update(final_obs=observations, _final_obs=ended)

    def _reset_mask(self, options: dict[str, Any] | None) -> npt.NDArray[np.bool_]:
        given = (options or {}).get("reset_mask")
        if given is None:
            return self._all
        mask = np.asarray(given)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(f"options['reset_mask'] must be {self.num_envs} flags, not {mask.dtype} {mask.shape}")
        return mask

    def _seed_list(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, Iterable):
            first = _native.parse_seed(seed)
            last = _native.parse_seed(first + self.num_envs - 1)
            return list(range(first, last + 1))
        listed = [None if one is None else _native.parse_seed(one) for one in seed]
        if len(listed) != self.num_envs:
            raise ValueError(f"{len(listed)} seeds for {self.num_envs} environments: give one for each")
        return listed


def _reward_is_score(reward: str) -> bool:
    if reward not in ("step", "score"):
        raise ValueError(f"reward is {reward!r}: use step or score")
    return reward == "score"


def _autoreset_mode(mode: str | AutoresetMode) -> AutoresetMode:
    names = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP}
    known = {**names, **{mode.value.lower(): mode for mode in names.values()}}
    found = mode if isinstance(mode, AutoresetMode) else known.get(str(mode).lower())
    if found not in names.values():
        raise ValueError(f"autoreset_mode is {mode!r}: use next_step or same_step")
    return found


def register() -> None:
    """Registers ``Sentinel/Trust-v0``, ``Sentinel/Cluster-v0`` and ``Sentinel/PolyGuard-v0``.

    Importing ``sentinel_env`` does it.
    """
    names = {"polyguard": "PolyGuard"}
    for world in WORLDS:
        identifier = f"Sentinel/{names.get(world, world.title())}-v0"
        if identifier not in gym.registry:
            gym.register(
                id=identifier,
                entry_point="sentinel_env.envs:SentinelEnv",
                vector_entry_point="sentinel_env.envs:SentinelVectorEnv",
                kwargs={"world": world},
            )
