"""Episodes that are played again from their completions: score, validity, detection and replay rows.

Evaluations keep what a model said. Everything else is computed here, from the same prompts and parser
that the model had.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from sentinel_env.episodes import Episode
from sentinel_env.text import TextEnv
from sentinel_env.worlds import seed_range

#: Ending of the name of whatever acts in place of a model whose completion is not an action.
STAND_IN = " (fallback)"

#: Reason of completions that may not be tried again: they try to influence the grader.
EXPLOIT = "parser_exploit"

#: The completion of PolyGuard's stand-in. In the other worlds one that is not an action makes the script act.
KEEP_REGIMEN = '{"candidate_id":"cand_01","rationale":"The regimen is kept."}'

#: Keys of the counts of adversarial answers in the payload of a world: caught, and let in.
ADVERSARIAL_COUNTS = {
    "trust": ("adversarial_detections", "adversarial_poisonings"),
    "cluster": ("attack_detections", "attack_poisonings"),
}


@dataclasses.dataclass(frozen=True)
class EpisodeNames:
    """Names that identify an episode.

    Attributes:
        world: Name of the world.
        task: Name of the task.
        seed: Seed of the episode.
        streams: Mode in which random streams are seeded.
        rules: Rules in force.
    """

    world: str
    task: str
    seed: int
    streams: str
    rules: str

    def text_env(self, style: str, reader: str, on_invalid: str = "end") -> TextEnv:
        """Returns the episode in words, at its start."""
        names = {"streams": self.streams, "rules": self.rules}
        env = TextEnv(self.world, self.task, style=style, reader=reader, on_invalid=on_invalid, **names)
        env.reset(self.seed)
        return env

    def episode(self) -> Episode:
        """Returns the episode at its start."""
        return Episode(self.world, self.task, seed=self.seed, streams=self.streams, rules=self.rules)


@dataclasses.dataclass(frozen=True)
class Turn:
    """The completions of one step.

    Attributes:
        completion: The completion that was played.
        rejected: Completions before it that were no action and were asked for again.
    """

    completion: str
    rejected: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class PlayedEpisode:
    """The result of playing an episode again.

    Attributes:
        names: The episode.
        score: Score, 0 to 1. An episode that an invalid completion or a limit ended includes the events
            that it gave up.
        finished: `False` if the episode was ended by an invalid completion or has turns missing.
        valid: Number of completions that are actions.
        completions: Number of completions, also those that were asked for again.
        caught: Number of adversarial answers that were caught; `None` in a world without them, and if
            the episode was ended early.
        let_in: Number of those that were not.
        rows: Rows of a replay, also of the stand-in that plays what the model did not.
    """

    names: EpisodeNames
    score: float
    finished: bool
    valid: int
    completions: int
    caught: int | None
    let_in: int | None
    rows: tuple[dict[str, Any], ...]

    @property
    def detection(self) -> float | None:
        """Share of adversarial answers that were caught, as ``sentinel eval`` defines it.

        `None` if the world has none, or if the episode was ended early: the evaluation counts at the end.
        """
        if self.caught is None or self.let_in is None:
            return None
        met = self.caught + self.let_in
        if met:
            return self.caught / met
        return 1.0 if self.names.world == "trust" else 0.0

    @property
    def validity(self) -> float | None:
        """Share of completions that are actions; `None` without a completion."""
        return self.valid / self.completions if self.completions else None

    @property
    def stand_in_rows(self) -> int:
        """Number of rows that a stand-in played."""
        return sum(1 for row in self.rows if is_stand_in(row))

    def text(self) -> str:
        """Returns the rows as the text of a replay file."""
        return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in self.rows)


def is_stand_in(row: Mapping[str, Any]) -> bool:
    """Returns whether a stand-in acted in a row of a replay."""
    return bool(row.get("fallback")) or str(row.get("model_source", "")).endswith(STAND_IN)


def play_completions(
    names: EpisodeNames, turns: Iterable[Turn], *, style: str, reader: str, model: str
) -> PlayedEpisode:
    """Plays an episode again from the completions of a model.

    Args:
        names: The episode.
        turns: Completions, one turn for each step.
        style: Style of the prompts.
        reader: How completions are read.
        model: Name of the model in the rows.

    Raises:
        ValueError: If there are completions after the end of the episode, or a completion that was
            asked for again is an action.
    """
    env = names.text_env(style, reader)
    shown = names.text_env(style, reader, "fallback")
    valid = completions = 0
    rejected = []
    for index, turn in enumerate(turns):
        if env.done:
            raise ValueError(f"{label(names)}: completion {index + 1} comes after the end of the episode")
        for text in turn.rejected:
            if rejection(env, text) is None:
                raise ValueError(f"{label(names)}: a completion of step {index + 1} was rejected, and is an action")
        step = env.step(turn.completion)
        shown.step(turn.completion)
        valid += step.valid
        completions += 1 + len(turn.rejected)
        rejected.append(turn.rejected)
    finished = env.done and not env.aborted
    own = len(rejected)
    env.abort()
    while not shown.done:
        shown.step(KEEP_REGIMEN if names.world == "polyguard" else "")
    rows = read_rows(shown.transcript(model))
    for row, texts in zip(rows, rejected):
        if texts:
            row["rejected"] = list(texts)
    for row in rows[own:]:
        # The model was not asked: neither prompt nor completion, and another name.
        for key in ("prompt", "completion", "fallback"):
            row.pop(key, None)
        row["model_source"] = model + STAND_IN
    caught, let_in = adversarial_counts(names, rows) if finished else (None, None)
    return PlayedEpisode(names, env.score, finished, valid, completions, caught, let_in, tuple(rows))


def read_rows(text: str) -> list[dict[str, Any]]:
    """Returns the rows of a replay as dicts with all their keys.

    Lines end with a line feed only: texts of a model may contain other characters that break lines.
    """
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def rejection(env: TextEnv, completion: str) -> str | None:
    """Returns why a completion is not an action at the current step, ``None`` if it is one.

    Text that tries to influence the grader is not rejected: it has to be played.
    """
    try:
        env.parse(completion)
    except ValueError as error:
        reason = str(error)
        return None if reason.startswith(EXPLOIT) else reason
    return None


def adversarial_counts(names: EpisodeNames, rows: Iterable[Mapping[str, Any]]) -> tuple[int | None, int | None]:
    """Returns the numbers of adversarial answers that a whole episode caught and let in.

    Args:
        names: The episode.
        rows: The actions of the episode, to its end.

    Returns:
        Two `None` in a world without adversarial answers.
    """
    keys = ADVERSARIAL_COUNTS.get(names.world)
    if keys is None:
        return None, None
    episode = names.episode()
    for row in rows:
        episode.step({key: value for key, value in row["action"].items() if value is not None})
    info = episode.payload()["info"]
    return int(info[keys[0]]), int(info[keys[1]])


def evaluation_mean(values: Iterable[float]) -> float:
    """Returns the mean of values as ``sentinel eval`` computes it: of rounded values, rounded.

    Values are added in order, since other orders can differ in the last digit. Without values it is 0.
    """
    total, count = 0.0, 0
    for value in values:
        total += round(value, 4)
        count += 1
    return round(total / max(count, 1), 4)


def label(names: EpisodeNames) -> str:
    """Returns an episode in words, for errors."""
    return f"{names.world} {names.task} seed {names.seed}"


def parse_seeds(seeds: int | str) -> range:
    """Returns the seeds that ``A..B`` (without B), ``A..=B`` or ``A`` name.

    Raises:
        ValueError: If the text is not such a range, or is an empty one.
    """
    text = str(seeds).strip()
    first, dots, last = text.partition("..")
    closed = last.startswith("=")
    try:
        start = int(first)
        stop = int(last.removeprefix("=")) + closed if dots else start + 1
    except ValueError:
        raise ValueError(f"seeds {text!r} are not a range: use A..B without B, A..=B, or A") from None
    start, stop = seed_range((start, stop))
    if stop - start > 1_000_000:
        raise ValueError(f"seeds {text!r} are more than 1000000")
    return range(start, stop)
