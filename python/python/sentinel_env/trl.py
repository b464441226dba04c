"""Environments for TRL's ``GRPOTrainer(environment_factory=...)``: an action is a tool call.

TRL finds tools with ``inspect.isfunction`` on the class, and takes their schema from type hints and
docstrings, so these classes are plain Python around `TextEnv`. This module does not import TRL.

    from functools import partial
    from sentinel_env.trl import TrustTools, episode_rows

    trainer = GRPOTrainer(
        model=...,
        environment_factory=partial(TrustTools, task=3),
        train_dataset=Dataset.from_list(episode_rows("trust", range(100_000, 100_512))),
    )

The seed is in the rows, so that all completions of a group play the same episode.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sentinel_env.episodes import seed_array
from sentinel_env.text import TextEnv
from sentinel_env.worlds import world as describe

#: What a model is told before the first observation, by world.
INSTRUCTIONS: dict[str, str] = {
    "trust": (
        "You lead a job of several subtasks. Five specialists, S0 to S4, can do them; each has a hidden "
        "behavior, and one of them lies about subtasks with high stakes. Trust, counts of right reports and "
        "the cost of calls are shown for each. Answer each observation with one tool call, until the job ends."
    ),
    "cluster": (
        "You schedule jobs on GPUs that fail. Five workers, S0 to S4, report on the jobs; some of them lie, and "
        "an adversary attacks. Answer each observation with one tool call, until the budget of steps is used."
    ),
    "polyguard": (
        "You make the medication regimen of a simulated patient safer under missing data. This is a simulation "
        "for research and never for patient care. Answer each observation with one tool call, until the "
        "episode ends."
    ),
}


def episode_rows(world: str, seeds: Iterable[int], task: int | str | None = None) -> list[dict[str, Any]]:
    """Returns rows of a dataset: a prompt with instructions, and the seed of the episode.

    Args:
        world: Name of the world.
        seeds: Seeds of the episodes; use training seeds, 100000 to 599999.
        task: Name or number of the task, for environments that are made without one.
    """
    row: dict[str, Any] = {"prompt": [{"role": "user", "content": INSTRUCTIONS[describe(world).name]}]}
    name = describe(world).task_name(task)
    if name is not None:
        row["task"] = name
    return [{**row, "seed": int(seed)} for seed in seed_array(seeds)]


class _Tools:
    """An episode that is played by tool calls."""

    _WORLD = ""

    def __init__(self, task: int | str | None = None, **options: Any) -> None:
        self._task = task
        self._options = options
        self._env = TextEnv(self._WORLD, task, **options)

    def reset(self, seed: int | None = None, task: str | None = None, **_row: Any) -> str:
        """Starts an episode; returns the text that TRL appends to the prompt."""
        if task is not None and task != self._task:
            self._task = task
            self._env = TextEnv(self._WORLD, task, **self._options)
        return "\n\n" + self._env.reset(seed)

    def get_reward(self) -> float:
        """Returns the score of the episode, 0 to 1. One that the model did not play to its end earns nothing
        for the steps that it gave up."""
        if not self._env.done:
            self._env.abort()
        return self._env.score

    def _call(self, **fields: Any) -> str:
        """Takes an action; an argument that does not exist is an error, and the episode is unchanged."""
        env = self._env
        completion = json.dumps({key: value for key, value in fields.items() if value is not None})
        if not env.done:
            env.parse(completion)
        step = env.step(completion)
        if step.prompt is not None:
            return step.prompt
        return f"The episode has ended with score {step.score:.3f}. Answer without a tool call."


class TrustTools(_Tools):
    """The world ``trust`` by tool calls.

    Args:
        task: Name or number of the task; by default the first one.
        options: Further arguments of `TextEnv`.
    """

    _WORLD = "trust"

    def delegate(self, specialist: str) -> str:
        """Lets a specialist do the current subtask and believes the report.

        Args:
            specialist: The specialist to call. (choices: ["S0", "S1", "S2", "S3", "S4"])

        Returns:
            The next observation.
        """
        return self._call(action_type="delegate", specialist_id=specialist)

    def verify(self, specialist: str) -> str:
        """Lets a specialist do the current subtask and checks the report, which costs a further step.

        Args:
            specialist: The specialist to call. (choices: ["S0", "S1", "S2", "S3", "S4"])

        Returns:
            The next observation.
        """
        return self._call(action_type="verify", specialist_id=specialist)

    def solve_independently(self) -> str:
        """Does the current subtask without a specialist, which costs a further step.

        Returns:
            The next observation.
        """
        return self._call(action_type="solve_independently", subtask_response="SELF_SOLVED")

    def skip(self) -> str:
        """Leaves the current subtask undone.

        Returns:
            The next observation.
        """
        return self._call(action_type="skip")


class ClusterTools(_Tools):
    """The world ``cluster`` by tool calls.

    Args:
        task: Name or number of the task; by default the first one.
        options: Further arguments of `TextEnv`.
    """

    _WORLD = "cluster"

    def allocate(self, job: str, gpu: str, worker: str) -> str:
        """Places a waiting job on a GPU and lets a worker report on it.

        Args:
            job: The job, such as JOB-004.
            gpu: The GPU, such as GPU-02.
            worker: The worker. (choices: ["S0", "S1", "S2", "S3", "S4"])

        Returns:
            The next observation.
        """
        return self._call(action_type="allocate", job_id=job, gpu_id=gpu, worker_id=worker)

    def preempt(self, job: str) -> str:
        """Removes a job from its GPU.

        Args:
            job: The job, such as JOB-004.

        Returns:
            The next observation.
        """
        return self._call(action_type="preempt", job_id=job)

    def request_info(self, job: str) -> str:
        """Asks the worker of a running job for a report and believes it.

        Args:
            job: The job, such as JOB-004.

        Returns:
            The next observation.
        """
        return self._call(action_type="request_info", job_id=job)

    def verify(self, job: str) -> str:
        """Asks the worker of a running job for a report and checks it.

        Args:
            job: The job, such as JOB-004.

        Returns:
            The next observation.
        """
        return self._call(action_type="verify", job_id=job)

    def tick(self) -> str:
        """Lets one step pass.

        Returns:
            The next observation.
        """
        return self._call(action_type="tick")


class PolyguardTools(_Tools):
    """The world ``polyguard`` by tool calls.

    Args:
        task: Name of the task; by default the first one.
        options: Further arguments of `TextEnv`.
    """

    _WORLD = "polyguard"

    def choose(self, candidate_id: str, rationale: str) -> str:
        """Carries out one of the listed candidates.

        Args:
            candidate_id: The candidate, such as cand_03.
            rationale: One sentence that names the medicine or laboratory value that decides it.

        Returns:
            The next observation.
        """
        return self._call(candidate_id=candidate_id, rationale=rationale)
