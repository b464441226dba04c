"""The worlds: their tasks, rules and policies, and the names of observations and actions."""

from __future__ import annotations

import dataclasses
import functools
import operator

import numpy as np

from sentinel_env import _native

#: Seeds for training. Validation and test seeds are outside of this range.
TRAINING_SEEDS = (100_000, 600_000)

#: The names of all worlds.
WORLDS: tuple[str, ...] = tuple(_native.world_names())


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of an observation: rows of the same features.

    Attributes:
        name: The kind of object that a row describes, such as ``slot`` or ``global``.
        rows: Number of rows.
        features: Names of the features of a row.
        start: Index of the first feature in the observation.
    """

    name: str
    rows: int
    features: tuple[str, ...]
    start: int

    @property
    def slice(self) -> slice:
        """The place of the section in an observation."""
        return slice(self.start, self.start + self.rows * len(self.features))

    def of(self, observation: np.ndarray) -> np.ndarray:
        """Returns the section of observations as a view, ``[..., rows, features]``."""
        part = observation[..., self.slice]
        return part.reshape(*part.shape[:-1], self.rows, len(self.features))


@dataclasses.dataclass(frozen=True)
class World:
    """A description of a world.

    Attributes:
        name: Name in files and on the command line.
        tasks: Names of the tasks. A world may accept further ones by name.
        streams: Modes in which random streams are seeded.
        changes: Names of the changes to the reference's rules, each with a sentence.
        policies: Names of the scripted policies; ``True`` for those that read hidden state.
        heuristic: Name of the rule-based baseline.
        planner: Name of the strongest scripted policy that sees public observations only.
        sections: Parts of an observation, in order.
        action_names: Names of the numbers of an action.
    """

    name: str
    tasks: tuple[str, ...]
    streams: tuple[str, ...]
    changes: dict[str, str]
    policies: dict[str, bool]
    heuristic: str
    planner: str
    sections: tuple[Section, ...]
    action_names: tuple[str, ...]

    @property
    def observation_size(self) -> int:
        """Number of features of an observation."""
        last = self.sections[-1]
        return last.slice.stop

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature of an observation, such as ``slot0.trust`` or ``global.stakes``."""
        names = []
        for section in self.sections:
            for row in range(section.rows):
                label = section.name if section.rows == 1 else f"{section.name}{row}"
                names += [f"{label}.{feature}" for feature in section.features]
        return tuple(names)

    def section(self, name: str) -> Section:
        """Returns the section with a name.

        Raises:
            ValueError: If there is none.
        """
        for section in self.sections:
            if section.name == name:
                return section
        known = ", ".join(section.name for section in self.sections)
        raise ValueError(f"unknown section {name!r} of world {self.name}: use one of {known}")

    def task_name(self, task: int | str | None) -> str | None:
        """Returns the name of a task that is given by its name or number; ``None`` stays ``None``.

        Raises:
            ValueError: If the world has no task of this number.
        """
        if task is None or isinstance(task, str):
            return task
        name = f"task{task}"
        if name not in self.tasks:
            known = ", ".join(self.tasks[:3])
            raise ValueError(f"world {self.name} has no task number {task!r}: use a name such as {known}")
        return name

    def action_sizes(self, task: int | str | None = None) -> tuple[int, ...]:
        """Returns the number of values of each number of an action in a task."""
        return tuple(_native.action_sizes(self.name, self.task_name(task)))


@functools.cache
def world(name: str) -> World:
    """Returns the description of a world.

    Args:
        name: ``trust``, ``cluster`` or ``polyguard``.

    Raises:
        ValueError: If there is no such world.
    """
    found = _native.describe_world(name)
    sections = []
    start = 0
    for row, count, features in found["sections"]:
        sections.append(Section(row, count, tuple(features), start))
        start += count * len(features)
    return World(
        name=found["name"],
        tasks=tuple(found["tasks"]),
        streams=tuple(found["streams"]),
        changes=dict(found["changes"]),
        policies=dict(found["policies"]),
        heuristic=found["heuristic"],
        planner=found["planner"],
        sections=tuple(sections),
        action_names=tuple(found["action_names"]),
    )


def seed_range(seeds: tuple[int, int] | range) -> tuple[int, int]:
    """Returns the first seed of a range, and the one after its last.

    Raises:
        ValueError: If the range is empty, has a step, or goes beyond the seeds, 0 to 2**63 - 1.
        TypeError: If a bound is not an integer.
    """
    if isinstance(seeds, range):
        if seeds.step != 1:
            raise ValueError(f"seeds {seeds} must have step 1")
        seeds = (seeds.start, seeds.stop)
    start, stop = (operator.index(seed) for seed in seeds)
    if not 0 <= start < stop <= _native.SEED_MAX + 1:
        raise ValueError(
            f"seeds ({start}, {stop}) are not a range of integers from 0 to 2**63 - 1: give (first, last + 1)"
        )
    return start, stop
