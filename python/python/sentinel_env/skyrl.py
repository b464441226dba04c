"""An adapter for SkyRL: ``skyrl_gym.register(id="sentinel", entry_point="sentinel_env.skyrl:SentinelTextEnv")``."""

from __future__ import annotations

from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType

from sentinel_env.text import TextEnv


class SentinelTextEnv(BaseTextEnv):
    """A world as a conversation: the prompts of `TextEnv` are user messages, completions are actions.

    The rewards of an episode sum to its score: every step but the last has 0.

    Args:
        env_config: Arguments of `TextEnv` for every episode, such as ``{"world": "trust", "task": 3}``.
        extras: Arguments of `TextEnv` for this episode, and its ``seed``. Other keys are ignored.
    """

    _ARGUMENTS = ("world", "task", "streams", "rules", "style", "reader", "invalid_reward")

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        given = {**dict(env_config or {}), **(extras or {})}
        self._seed = given.get("seed")
        options = {name: given[name] for name in self._ARGUMENTS if name in given}
        if "world" not in options:
            raise ValueError('env_config has no "world": use trust, cluster or polyguard')
        self._env = TextEnv(**options)
        self.max_turns = 0

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """Starts the episode; returns the prompt with the first observation as a further user message."""
        first = self._env.reset(self._seed)
        self.turns = 0
        self.max_turns = self._env.max_steps
        return [*prompt, {"role": "user", "content": first}], {"seed": self._env.seed}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Applies a completion."""
        self.turns += 1
        step = self._env.step(action)
        observations = [] if step.prompt is None else [{"role": "user", "content": step.prompt}]
        return BaseTextEnvStepOutput(
            observations=observations,
            reward=step.score if step.done else 0.0,
            done=step.done,
            metadata={"valid": step.valid, "reason": step.reason, "action": step.action, "score": step.score},
        )

    def get_metrics(self) -> dict[str, Any]:
        """Returns the score so far, and whether an invalid completion ended the episode."""
        return {"score": self._env.score, "aborted": float(self._env.aborted)}
