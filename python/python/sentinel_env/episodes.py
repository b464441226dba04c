"""Single episodes, and the policies that play them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sentinel_env import _native
from sentinel_env.worlds import world as describe

Action = int | npt.NDArray[np.integer[Any]] | Iterable[int] | Mapping[str, Any]


class Episode:
    """An episode of a world, without the conventions of Gymnasium.

    The same world, task, seed, streams, rules and actions give the same trajectory on every machine,
    in the browser, and in the ``sentinel`` command; `digest` compares two of them.

    An episode can be copied with `copy.deepcopy` and pickled, also while it runs: the copy goes on as the
    original would. Threads that share one take turns, one call at a time.

    Args:
        world: Name of the world.
        task: Name or number of the task; by default the first one.
        seed: Seed of the episode, 0 to 2**63 - 1.
        streams: ``independent``, or ``reference`` for parity with the published Python code.
        rules: ``reference`` (default, as in the published system), ``hardened``, or one of them with changes, as in
            ``hardened-timeouts``.
    """

    def __init__(
        self,
        world: str,
        task: int | str | None = None,
        *,
        seed: int,
        streams: str | None = None,
        rules: str | None = None,
    ) -> None:
        name = describe(world).task_name(task)
        self._native = _native.Episode(world, seed, task=name, streams=streams, rules=rules)
        sizes = self._native.action_sizes
        self._factors, self._columns = len(sizes), sum(sizes)

    def step(self, action: Action) -> tuple[float, bool, bool]:
        """Takes one action.

        Args:
            action: Integers of shape ``(n,)``, one for each of `World.action_names`; for a world whose
                actions have one number also this number; or a dict as in the world's JSON protocol, such as
                ``{"action_type": "verify", "specialist_id": "S2"}``.

        Returns:
            The reward, and whether the episode was terminated or truncated.

        Raises:
            EpisodeEnded: If the episode has ended.
            ValueError: If the action does not exist. The episode is then unchanged.
        """
        if isinstance(action, Mapping):
            return self.step_json(json.dumps(dict(action)))
        return self._native.step(action_array(action, (self._factors,), scalar=self._factors == 1))

    def step_json(self, text: str) -> tuple[float, bool, bool]:
        """Takes the action of a message of the world's JSON protocol, read as it is.

        A dict has each key once; a text may have one twice, as a model can write it, and the rules of the
        world say what that means. What a message says besides its action is in `payload`.

        Args:
            text: The message, a JSON object.

        Returns:
            The same as `step`.

        Raises:
            EpisodeEnded: If the episode has ended.
            ValueError: If the text is not a message, or the world refuses it as none. The episode is then
                unchanged.
        """
        return self._native.step_json(text)

    def observation(self, out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
        """Returns the features of the current observation; `World.feature_names` has their names.

        Args:
            out: An array to write into, instead of a new one: `float32` of shape ``(features,)``.

        Raises:
            ValueError: If `out` has another shape or is not contiguous.
            TypeError: If `out` has another type or cannot be written.
        """
        if out is None:
            out = np.empty(self._native.observation_size, np.float32)
        self._native.write_observation(out)
        return out

    def action_mask(self) -> npt.NDArray[np.bool_]:
        """Returns which values can be chosen, for each number of an action after the other."""
        mask = np.empty(self._columns, np.bool_)
        self._native.write_mask(mask)
        return mask

    def payload(self) -> dict[str, Any]:
        """Returns the reply of the world's JSON protocol to the latest step."""
        return json.loads(self._native.payload())

    def replay(self, name: str) -> str:
        """Returns the actions so far as the text of a replay file.

        Args:
            name: Name of the policy that acted.
        """
        return self._native.replay(name)

    @property
    def world(self) -> str:
        """Name of the world."""
        return self._native.world

    @property
    def task(self) -> str:
        """Name of the task."""
        return self._native.task

    @property
    def seed(self) -> int:
        """Seed of the episode."""
        return self._native.seed

    @property
    def done(self) -> bool:
        """`True` after the end of the episode."""
        return self._native.done

    @property
    def step_count(self) -> int:
        """Number of budget steps used. One action may use several."""
        return self._native.step_count

    @property
    def max_steps(self) -> int:
        """Step budget of the episode."""
        return self._native.max_steps

    @property
    def score(self) -> float:
        """Score of the episode so far, 0 to 1."""
        return self._native.score

    @property
    def digest(self) -> str:
        """Size and hash of the trajectory so far."""
        return self._native.digest


class Player:
    """A policy in one episode. Made by `Policy.player`.

    A copy, also one from a pickle, has a copy of the episode, and chooses as the original would.
    """

    def __init__(self, native: _native.Player, episode: Episode, policy: Policy) -> None:
        self._native = native
        self._episode = episode
        self._policy = policy

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how to make a copy: a player that has made the same choices."""
        return _player, (self._policy, self._episode, self._native.choices())

    def act(self) -> npt.NDArray[np.int64]:
        """Chooses an action for the current observation, without taking it.

        The player has seen every earlier observation, whoever acted. Until another action is taken, it
        returns the same choice.

        Raises:
            EpisodeEnded: If the episode has ended.
            ValueError: If the action leaves out a part that numbers must name, as some policies of
                ``cluster`` do. Use `step` for these.
        """
        values, text = self._native.act(self._episode._native)
        if values is None:
            raise ValueError(f"action {text!r} leaves a choice to the environment, and numbers cannot: use step()")
        return np.asarray(values, np.int64)

    def step(self) -> tuple[float, bool, bool]:
        """Takes the action that the policy chooses. Returns the same as `Episode.step`."""
        return self._episode._native.step_player(self._native)

    def probabilities(self) -> list[float] | None:
        """Returns the probability of each kind of action at the latest choice, if the policy has them."""
        return self._native.probabilities()

    def belief(self) -> list[list[float]] | None:
        """Returns the posterior over the hidden variables at the latest choice, if the policy has one."""
        return self._native.belief()


class Policy:
    """A scripted policy, or a compact policy that ``sentinel train`` made. Made by `load_policy`.

    Called with an observation of the environment that `agent` binds, it returns an action.
    """

    def __init__(self, native: _native.Policy) -> None:
        self._native = native

    @property
    def world(self) -> str:
        """Name of the world that the policy acts in."""
        return self._native.world

    @property
    def name(self) -> str:
        """Name of the policy or model."""
        return self._native.name

    @property
    def rules(self) -> str | None:
        """Rules that a model from a file was trained under, else `None`. It plays under any rules."""
        return self._native.rules

    @property
    def is_privileged(self) -> bool:
        """`True` if the policy reads hidden state: an upper bound, never a fair baseline."""
        return self._native.is_privileged

    def player(self, episode: Episode) -> Player:
        """Starts a player in an episode."""
        return _player(self, episode, [])

    def agent(self, env: Any) -> Any:
        """Returns a function from observation to action for a `SentinelEnv`, also a wrapped one.

        The function follows the environment over its resets:

        >>> import gymnasium as gym, sentinel_env
        >>> env = gym.make("Sentinel/Trust-v0")
        >>> agent = sentinel_env.load_policy("trust", "bayes").agent(env)
        >>> observation, info = env.reset(seed=0)
        >>> env.step(agent(observation))[4]["seed"]
        0
        """
        state: dict[str, Any] = {"episode": None, "player": None}

        def act(_observation: Any = None) -> Any:
            episode = env.unwrapped.episode
            if episode is None:
                raise ValueError("the environment has no episode: reset it first")
            if state["episode"] is not episode:
                state.update(episode=episode, player=self.player(episode))
            action = state["player"].act()
            return int(action[0]) if len(action) == 1 else action

        return act

    def run(
        self,
        seeds: int | Iterable[int],
        *,
        task: int | str | None = None,
        streams: str | None = None,
        rules: str | None = None,
    ) -> dict[str, Any]:
        """Plays whole episodes natively, without the interpreter's lock.

        Args:
            seeds: A seed, or several, such as ``range(5000, 5100)``; each is 0 to 2**63 - 1.
            task: Name or number of the task; by default the first one.
            streams: As for `Episode`.
            rules: As for `Episode`.

        Returns:
            A dict with arrays ``seed``, ``score`` and ``actions`` (number of actions), and the list
            ``digest``, one entry per episode.
        """
        return self._native.run(
            seed_array(seeds), task=describe(self.world).task_name(task), streams=streams, rules=rules
        )

    def record(
        self,
        seed: int,
        *,
        task: int | str | None = None,
        streams: str | None = None,
        rules: str | None = None,
        name: str | None = None,
    ) -> str:
        """Plays an episode and returns it as the text of a replay file, for `write_replay`.

        Args:
            seed: Seed of the episode.
            task: As for `run`.
            streams: As for `Episode`.
            rules: As for `Episode`.
            name: Name of the policy in the file; by default its own.
        """
        task = describe(self.world).task_name(task)
        return self._native.record(seed, task=task, streams=streams, rules=rules, name=name)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Policy:
        """Returns the policy itself, which never changes."""
        return self

    def __repr__(self) -> str:
        return repr(self._native)


def _player(policy: Policy, episode: Episode, choices: list[int]) -> Player:
    """Starts a player that has chosen after each of these numbers of actions."""
    return Player(episode._native.player(policy._native, choices), episode, policy)


def load_policy(world: str | None = None, name: str | None = None, *, model: str | os.PathLike[str] | None = None) -> Policy:
    """Returns a policy by its name, or a trained one from its file.

    Args:
        world: Name of the world; not needed for a model.
        name: Name of a scripted policy, see `World.policies`; or ``trained`` for the published policy, which plays
            each episode with the model that was trained under rules like the episode's.
        model: Path of a ``model.safetensors``, or of its folder. `Policy.rules` names the rules that it was
            trained under.

    Raises:
        ValueError: If there is no such policy, or the model is of another world.
        OSError: If the file cannot be read.
    """
    if model is not None:
        if name is not None:
            raise ValueError(f"give either the name {name!r} of a policy, or a model")
        found = Policy(_native.Policy.from_file(os.fspath(model)))
        if world is not None and found.world != world:
            raise ValueError(f"the model is of world {found.world}, not {world}")
        return found
    if world is None or name is None:
        raise ValueError("a policy without a model needs the names of its world and its own")
    return Policy(_native.Policy(world, name))


def action_array(action: Any, shape: tuple[int, ...], *, scalar: bool = False) -> npt.NDArray[np.int64]:
    """Returns actions as an array of integers.

    Args:
        action: The actions.
        shape: The shape that they must have.
        scalar: Take a single number for an array of shape ``(1,)``.

    Raises:
        TypeError: If the actions are not integers.
        ValueError: If they have another shape.
    """
    array = np.asarray(action)
    if scalar and array.shape == ():
        array = array.reshape(1)
    if array.shape != shape:
        also = " or ()" if scalar else ""
        raise ValueError(f"the array of actions has shape {array.shape}, and must have {shape}{also}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"an action has integers, not {array.dtype}: {action!r}")
    return np.ascontiguousarray(array, np.int64)


def seed_array(seeds: int | Iterable[int]) -> npt.NDArray[np.uint64]:
    """Returns seeds as an array.

    Raises:
        ValueError: If one of them is not a seed.
    """
    listed = seeds if isinstance(seeds, Iterable) else [seeds]
    return np.array([_native.parse_seed(seed) for seed in listed], np.uint64)
