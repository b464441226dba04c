"""Inspect tasks: any language model plays whole episodes, and is scored as ``sentinel eval`` scores.

Installed beside ``inspect-ai``, the tasks have the names ``sentinel_env/trust``,
``sentinel_env/cluster`` and ``sentinel_env/polyguard``:

    inspect eval sentinel_env/trust --model openai/gpt-5 -T task=task3
"""

from __future__ import annotations

import itertools
import json
import pathlib
import tempfile
from typing import Any

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import subprocess

from sentinel_env.completions import (
    EpisodeNames,
    PlayedEpisode,
    Turn,
    evaluation_mean,
    is_stand_in,
    parse_seeds,
    play_completions,
    rejection,
)
from sentinel_env.leaderboard import DEFAULT_SET
from sentinel_env.worlds import world as describe

#: Key of the store of a sample: the completions of each step.
TURNS = "sentinel_env:turns"


@inspect_ai.task
def trust(
    task: int | str | list[int | str] = "all",
    seeds: int | str | None = None,
    streams: str = "independent",
    rules: str = "hardened",
    style: str = "reference",
    reader: str = "strict",
    attempts: int = 1,
    history: int = 0,
    system: str | list[str] | None = None,
    analyzer: str | None = None,
    rollouts: int = 8,
) -> inspect_ai.Task:
    """Whom to believe, verify or avoid among five specialists, one of them adversarial.

    Args:
        task: Names or numbers of tasks, separated by commas, or ``all``.
        seeds: ``A..B`` without B, ``A..=B``, or one seed, for each task; by default those of the leaderboard.
        streams: ``independent`` or ``reference``.
        rules: ``reference``, ``hardened``, or one of them with changes.
        style: Style of the prompts: ``reference``, with instructions, ``compact`` or ``detailed``.
        reader: ``strict``, or ``repair`` to ignore text around the only JSON object.
        attempts: Number of completions that the model has for a step; only the last one counts.
        history: Number of earlier steps that are shown with a prompt; -1 for all.
        system: Text of a system message.
        analyzer: Path of the ``sentinel`` command, which computes the decision loss.
        rollouts: Rollouts of each action in the decision loss.
    """
    options = {"streams": streams, "rules": rules, "style": style, "reader": reader}
    return episode_task("trust", task_names("trust", task), seeds, options, attempts, history, system, analyzer, rollouts)


@inspect_ai.task
def cluster(
    task: int | str | list[int | str] = "all",
    seeds: int | str | None = None,
    streams: str = "independent",
    rules: str = "hardened",
    style: str = "reference",
    reader: str = "strict",
    attempts: int = 1,
    history: int = 0,
    system: str | list[str] | None = None,
    analyzer: str | None = None,
    rollouts: int = 8,
) -> inspect_ai.Task:
    """How to run jobs on failing GPUs when the workers that report on them lie.

    The prompt of style ``reference`` shows no jobs, like that of the published system; the others show them.

    Args:
        task: As for `trust`, like all others.
    """
    options = {"streams": streams, "rules": rules, "style": style, "reader": reader}
    return episode_task("cluster", task_names("cluster", task), seeds, options, attempts, history, system, analyzer, rollouts)


@inspect_ai.task
def polyguard(
    task: int | str | list[int | str] = "all",
    seeds: int | str | None = None,
    split: str = "all",
    rules: str = "hardened",
    style: str = "reference",
    attempts: int = 1,
    history: int = 0,
    system: str | list[str] | None = None,
    analyzer: str | None = None,
    rollouts: int = 8,
) -> inspect_ai.Task:
    """How to make a risky medication regimen safer under missing data. For research only.

    Args:
        task: Names of cells, such as ``DDI-hard``, separated by commas, or ``all``.
        seeds: As for `trust`, like all that are not named here.
        split: ``all``, or ``train`` or ``holdout`` for patients without or with what training never plants.
    """
    if split not in ("all", "train", "holdout"):
        raise ValueError(f"split is {split!r}: use all, train or holdout")
    suffix = "" if split == "all" else f"-{split}"
    cells = [name + suffix for name in task_names("polyguard", task)]
    options = {"streams": "independent", "rules": rules, "style": style, "reader": "strict"}
    return episode_task("polyguard", cells, seeds, options, attempts, history, system, analyzer, rollouts)


def comma_text(value: Any) -> str:
    """Returns an option as the text that was typed: Inspect's command line splits texts at commas."""
    return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)


def task_names(world: str, task: int | str | list[int | str]) -> list[str]:
    """Returns the names of the tasks that an option selects.

    Raises:
        ValueError: If it names a task twice, or a number that no task has.
    """
    described = describe(world)
    if comma_text(task).strip() == "all":
        return list(described.tasks)
    names = []
    for word in comma_text(task).split(","):
        word = word.strip()
        names.append(described.task_name(int(word) if word.isdecimal() else word) or word)
    if len(set(names)) < len(names):
        raise ValueError(f"task {task!r} names a task twice")
    return names


def episode_task(
    world: str,
    tasks: list[str],
    seeds: int | str | None,
    options: dict[str, str],
    attempts: int,
    history: int,
    system: str | list[str] | None,
    analyzer: str | None,
    rollouts: int,
) -> inspect_ai.Task:
    """Returns the Inspect task of a world, with one sample for each of its tasks and seeds."""
    if attempts < 1:
        raise ValueError(f"attempts is {attempts}: a step needs at least 1")
    if history < -1:
        raise ValueError(f"history is {history}: use a number of steps, or -1 for all")
    if analyzer is not None and not pathlib.Path(analyzer).is_file():
        raise ValueError(f"analyzer {analyzer!r} is not a file: give the path of the sentinel command, or leave it out")
    chosen = DEFAULT_SET.seeds[world] if seeds is None else parse_seeds(seeds)
    samples = []
    for order, (name, seed) in enumerate(itertools.product(tasks, chosen)):
        metadata: dict[str, Any] = {"world": world, "task": name, "seed": seed, "order": order, **options}
        prompt = episode_names(metadata).text_env(options["style"], options["reader"]).prompt()
        samples.append(Sample(id=f"{name}-{seed}", input=prompt, metadata=metadata))
    scorers = [episode_score(), validity()]
    if world != "polyguard":
        scorers.append(detection())
    scorers.append(decision_loss(analyzer, rollouts))
    return inspect_ai.Task(
        dataset=MemoryDataset(samples, name=f"sentinel-{world}"),
        solver=play_episode(attempts, history, None if system is None else comma_text(system)),
        scorer=scorers,
        version=1,
    )


@solver
def play_episode(attempts: int = 1, history: int = 0, system: str | None = None) -> Solver:
    """Plays an episode: every observation is a prompt, and every completion an action.

    Args:
        attempts: Number of completions that the model has for a step.
        history: Number of earlier steps that are shown with a prompt; -1 for all.
        system: Text of a system message.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        names, options = episode_names(state.metadata), state.metadata
        env = names.text_env(options["style"], options["reader"])
        first: list[ChatMessage] = [ChatMessageSystem(content=system)] if system else []
        state.messages = list(first)
        past: list[list[ChatMessage]] = []
        turns: list[dict[str, Any]] = []
        while not env.done:
            step: list[ChatMessage] = [ChatMessageUser(content=env.prompt())]
            state.messages.append(step[0])
            rejected: list[str] = []
            while True:
                shown = past if history < 0 else past[len(past) - min(history, len(past)) :]
                context = [*first, *(message for earlier in shown for message in earlier), *step]
                state.output = await get_model().generate(context)
                step.append(state.output.message)
                state.messages.append(state.output.message)
                # Half a surrogate pair is not Unicode text, and no action contains one.
                completion = state.output.completion.encode("utf-8", "replace").decode()
                reason = rejection(env, completion)
                if reason is None or len(rejected) + 1 >= attempts:
                    break
                rejected.append(completion)
                step.append(ChatMessageUser(content=f"That is not an action ({reason}). Answer again in the asked form."))
                state.messages.append(step[-1])
            env.step(completion)
            past.append([step[0], step[-1]])
            turns.append({"completion": completion, "rejected": rejected})
            # Kept after every step, so that a limit of tokens or time leaves what was played.
            state.store.set(TURNS, list(turns))
        state.completed = True
        return state

    return solve


def episode_names(metadata: dict[str, Any]) -> EpisodeNames:
    """Returns the episode of a sample."""
    keys = ("world", "task", "seed", "streams", "rules")
    return EpisodeNames(**{key: metadata[key] for key in keys})


def replay_sample(metadata: dict[str, Any], store: Any, model: str) -> PlayedEpisode:
    """Plays the episode of a sample again from what its store has."""
    turns = [Turn(turn["completion"], tuple(turn["rejected"])) for turn in store.get(TURNS) or []]
    options = {"style": metadata["style"], "reader": metadata["reader"]}
    return play_completions(episode_names(metadata), turns, model=model, **options)


def replay_state(state: TaskState) -> PlayedEpisode:
    """Plays the episode of a running sample again."""
    return replay_sample(state.metadata, state.store, str(state.model))


@metric
def episode_mean() -> Metric:
    """Mean as ``sentinel eval`` prints it: of values with four decimals, in the order of tasks and seeds."""

    def compute(scores: list[SampleScore]) -> float:
        def order(score: SampleScore) -> int:
            return int((score.sample_metadata or {}).get("order", 0))

        if not scores:
            return float("nan")
        return evaluation_mean(score.score.as_float() for score in sorted(scores, key=order))

    return compute


@scorer(metrics=[episode_mean(), stderr()])
def episode_score() -> Scorer:
    """Score of the episode, 0 to 1. An episode that ended early includes the events that it gave up."""

    async def score(state: TaskState, target: Target) -> Score:
        played = replay_state(state)
        ending = "played to its end"
        if not played.finished:
            ending = "ended by an invalid completion, or by a limit: what was left earns nothing"
        counts = f"{played.completions} completions, {played.valid} of them actions"
        return Score(
            value=round(played.score, 4),
            answer=state.output.completion or None,
            explanation=f"{ending}; {counts}",
            metadata={"score": played.score, "finished": played.finished},
        )

    return score


@scorer(metrics=[episode_mean(), stderr()])
def validity() -> Scorer:
    """Share of completions that are actions, also of those that were asked for again."""

    async def score(state: TaskState, target: Target) -> Score:
        played = replay_state(state)
        if played.validity is None:
            return Score.unscored(reason="no_completion", explanation="the model completed nothing")
        metadata = {"valid": played.valid, "completions": played.completions}
        return Score(value=round(played.validity, 4), metadata=metadata)

    return score


@scorer(metrics=[episode_mean(), stderr()])
def detection() -> Scorer:
    """Share of adversarial answers that were caught, as the column ``detection`` of ``sentinel eval``."""

    async def score(state: TaskState, target: Target) -> Score:
        played = replay_state(state)
        if played.detection is None:
            words = "the episode ended early; the evaluation counts adversarial answers at its end"
            return Score.unscored(reason="ended_early", explanation=words)
        metadata = {"caught": played.caught, "let_in": played.let_in}
        return Score(value=round(played.detection, 4), metadata=metadata)

    return score


@scorer(metrics=[episode_mean(), stderr()])
def decision_loss(analyzer: str | None = None, rollouts: int = 8) -> Scorer:
    """Mean loss of the model's actions against the best one, by ``sentinel analyze``.

    Without the command the metric is not available, and every sample is unscored.

    Args:
        analyzer: Path of the ``sentinel`` command.
        rollouts: Rollouts of each action.
    """

    async def score(state: TaskState, target: Target) -> Score:
        if analyzer is None:
            words = "not available: give the path of the sentinel command with -T analyzer=PATH"
            return Score.unscored(reason="no_analyzer", explanation=words)
        played = replay_state(state)
        own = {index for index, row in enumerate(played.rows) if not is_stand_in(row)}
        if not own:
            return Score.unscored(reason="no_action", explanation="the model took no action")
        with tempfile.TemporaryDirectory() as folder:
            replay, out = pathlib.Path(folder, "replay.jsonl"), pathlib.Path(folder, "analysis.jsonl")
            replay.write_text(played.text(), encoding="utf-8")
            policy = continuation_policy(played.names.world)
            command = [analyzer, "analyze", str(replay), "--out", str(out), "--policy", policy]
            command += ["--rollouts", str(rollouts), "--belief-only"]
            done = await subprocess(command)
            if not done.success or not out.is_file():
                raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-2000:]}")
            losses = read_losses(out.read_text(encoding="utf-8"), own)
        if not losses:
            return Score.unscored(reason="no_choice", explanation="no step of the model had two actions to compare")
        metadata = {"steps": len(losses), "policy": policy, "rollouts": rollouts}
        return Score(value=round(sum(losses) / len(losses), 4), metadata=metadata)

    return score


def continuation_policy(world: str) -> str:
    """Returns the strongest scripted policy of a world that ``sentinel analyze`` plays on with."""
    described = describe(world)
    return described.planner if described.planner in described.policies else described.heuristic


def read_losses(text: str, own: set[int]) -> list[float]:
    """Returns the losses of the steps of an analysis of one episode whose indices are in `own`."""
    _, episode = (json.loads(line) for line in text.splitlines() if line)
    steps = (step for step in episode["steps"] if step["index"] in own and step["belief"])
    return [step["belief"]["loss"] for step in steps if step["belief"]["loss"] is not None]
