"""Worlds in words: prompts for language models, and completions as actions.

The code is that of ``sentinel lm``: the same prompts, parser and rewards.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sentinel_env import _native
from sentinel_env.episodes import Policy
from sentinel_env.worlds import TRAINING_SEEDS, seed_range
from sentinel_env.worlds import world as describe


@dataclasses.dataclass(frozen=True)
class TextStep:
    """The effect of one completion.

    Attributes:
        prompt: The next prompt; `None` after the end.
        reward: Reward of the step itself. An invalid completion that ends the episode has the invalid
            reward.
        terminal_reward: Reward of the end, if the step ended the episode and the world has one.
        done: `True` if the episode is over.
        valid: `True` if the completion is an action.
        repaired: `True` if text around the action had to be ignored.
        reason: Word for the kind of error, such as ``not_json``; `None` if the completion is valid.
        detail: Description of the error; `None` if the completion is valid.
        action: The action that was taken, as text; `None` if there was none.
        aborted: `True` if the completion ended the episode because it is not an action.
        score: Score of the episode so far, 0 to 1.
    """

    prompt: str | None
    reward: float
    terminal_reward: float | None
    done: bool
    valid: bool
    repaired: bool
    reason: str | None
    detail: str | None
    action: str | None
    aborted: bool
    score: float


class TextEnv:
    """An environment whose observations are prompts and whose actions are completions.

    >>> env = TextEnv("trust", task=3)
    >>> prompt = env.reset(seed=42)
    >>> prompt.splitlines()[0]
    'trust task3 step 0/45 open 20'
    >>> step = env.step('{"action_type": "verify", "specialist_id": "S2"}')
    >>> step.valid, step.done
    (True, False)

    A completion that is not an action never becomes another action. In ``polyguard`` it is a step of its own.
    In the other worlds the episode ends, and this completion and every event for which the budget still
    had room earn `invalid_reward`, so that ending early never pays. With ``on_invalid="fallback"`` a
    script acts instead and the episode goes on, as ``sentinel record`` does: for transcripts.

    An environment can be copied with `copy.deepcopy` and pickled, also while an episode runs.

    Args:
        world: Name of the world.
        task: Name or number of the task; by default the first one.
        streams: ``independent``, or ``reference`` for parity with the published Python code.
        rules: ``reference`` (default, as in the published system), ``hardened``, or one of them with changes.
        style: ``compact``, numbers for models that are trained on them; ``detailed``, with the
            posterior over what is hidden; or ``reference``, with instructions and examples.
        reader: ``strict``, or ``repair`` to ignore text around the only JSON object.
        invalid_reward: Reward of a completion that ends the episode, -1 to 0.
        on_invalid: ``end`` or ``fallback``.
        seeds: Range of the seeds of episodes that are reset without one: ``(first, last + 1)``.
    """

    def __init__(
        self,
        world: str,
        task: int | str | None = None,
        *,
        streams: str | None = None,
        rules: str | None = None,
        style: str = "compact",
        reader: str = "strict",
        invalid_reward: float = 0.0,
        on_invalid: str = "end",
        seeds: tuple[int, int] | range = TRAINING_SEEDS,
    ) -> None:
        if on_invalid not in ("end", "fallback"):
            raise ValueError(f"on_invalid is {on_invalid!r}: use end or fallback")
        self.world = describe(world)
        self.seeds = seed_range(seeds)
        self._options: dict[str, Any] = {
            "task": self.world.task_name(task),
            "streams": streams,
            "rules": rules,
            "style": style,
            "reader": reader,
            "invalid_reward": invalid_reward,
            "fallback": on_invalid == "fallback",
        }
        self._random = np.random.default_rng()
        # Names that do not exist are an error now, not at the first reset.
        _native.TextEpisode(world, 0, **self._options)
        self._native: _native.TextEpisode | None = None

    def reset(self, seed: int | None = None) -> str:
        """Starts an episode and returns its first prompt.

        Args:
            seed: Seed of the episode, 0 to 2**63 - 1. Without one it is drawn from `seeds`, at random until
                a seed was given, and afterwards in an order that depends on that seed only.

        Raises:
            ValueError: If `seed` is not a seed. The environment is then unchanged.
        """
        if seed is None:
            seed = int(self._random.integers(*self.seeds))
        else:
            seed = _native.parse_seed(seed)
            self._random = np.random.default_rng(seed)
        self._native = _native.TextEpisode(self.world.name, seed, **self._options)
        return self._native.prompt()

    def step(self, completion: str) -> TextStep:
        """Applies a completion.

        Raises:
            EpisodeEnded: If the episode is over.
        """
        native = self._episode()
        step = native.step(completion)
        done = native.done
        return TextStep(prompt=None if done else native.prompt(), done=done, score=native.score, **step)

    def parse(self, completion: str) -> str:
        """Returns the action of a completion as text, without taking it.

        Raises:
            ValueError: If it is not an action; the text says why.
        """
        action, reason, detail = self._episode().parse(completion)
        if action is None:
            raise ValueError(f"{reason}: {detail}" if detail else str(reason))
        return action

    def prompt(self) -> str:
        """Returns the prompt for the current observation."""
        return self._episode().prompt()

    def abort(self) -> None:
        """Ends the episode as an invalid completion does, for a caller that stops before its end."""
        self._episode().abort()

    def example(self, policy: Policy) -> str | None:
        """Returns the completion in which a policy would answer the current prompt.

        The policy has seen every earlier observation. It may read hidden state if it is privileged.

        Returns:
            `None` after the end of the episode.
        """
        return self._episode().example(policy._native)

    def transcript(self, name: str) -> str:
        """Returns prompts, completions and actions so far as the text of a replay file.

        A completion that ended the episode is a row with the fallback of the world, marked as such.

        Args:
            name: Name of the model in the file.
        """
        return self._episode().replay(name)

    @property
    def done(self) -> bool:
        """`True` if the episode is over."""
        return self._episode().done

    @property
    def aborted(self) -> bool:
        """`True` if the episode was ended by a completion that is not an action, or by `abort`."""
        return self._episode().aborted

    @property
    def score(self) -> float:
        """Score of the episode so far, 0 to 1. An aborted episode includes the events it gave up."""
        return self._episode().score

    @property
    def seed(self) -> int:
        """Seed of the episode."""
        return self._episode().seed

    @property
    def task(self) -> str:
        """Name of the task."""
        return self._episode().task

    @property
    def step_count(self) -> int:
        """Number of budget steps used."""
        return self._episode().step_count

    @property
    def max_steps(self) -> int:
        """Step budget of the episode, an upper bound of the number of completions."""
        return self._episode().max_steps

    def _episode(self) -> _native.TextEpisode:
        if self._native is None:
            raise ValueError("no episode: reset first")
        return self._native
