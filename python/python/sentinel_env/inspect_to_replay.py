"""Replays of Inspect logs, for the page, ``sentinel replay verify`` and leaderboards.

    python -m sentinel_env.inspect_to_replay LOG.eval --out replay.jsonl
"""

from __future__ import annotations

import argparse
import os
import sys

from inspect_ai.log import EvalLog, read_eval_log

from sentinel_env.completions import PlayedEpisode
from sentinel_env.inspect_tasks import replay_sample
from sentinel_env.replays import read_replay, write_replay


def export(log: EvalLog, *, model: str | None = None, epoch: int = 1) -> list[PlayedEpisode]:
    """Plays the episodes of a log again, by task and seed, and compares their scores with the log.

    Args:
        log: A log of one of the tasks, as `inspect_ai.log.read_eval_log` returns it.
        model: Name of the model in the replay; by default that of the log.
        epoch: Epoch whose episodes are taken: a replay holds an episode once.

    Raises:
        ValueError: If the log is of another task, has no such samples, a sample failed, or a score is
            another one than its completions earn.
    """
    samples = sorted(
        (sample for sample in log.samples or [] if sample.epoch == epoch),
        key=lambda sample: sample.metadata.get("order", 0),
    )
    if not samples:
        raise ValueError(f"the log has no samples of epoch {epoch}")
    played = []
    for sample in samples:
        if not {"world", "task", "seed", "streams", "rules", "style", "reader"} <= sample.metadata.keys():
            raise ValueError(f"sample {sample.id} is not an episode of a sentinel_env task")
        if sample.error is not None:
            message = sample.error.message
            raise ValueError(f"sample {sample.id} failed: {message}; play it with inspect eval-retry first")
        episode = replay_sample(sample.metadata, sample.store, model or log.eval.model)
        logged = (sample.scores or {}).get("episode_score")
        if logged is not None and logged.as_float() != round(episode.score, 4):
            raise ValueError(
                f"sample {sample.id}: the log says {logged.as_float()}, and its completions earn {episode.score:.4f}"
            )
        played.append(episode)
    return played


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line. Returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m sentinel_env.inspect_to_replay", description="Writes an Inspect log as a replay."
    )
    parser.add_argument("log", help="a log of a sentinel_env task")
    parser.add_argument("--out", required=True, metavar="FILE", help="the replay file to write")
    parser.add_argument("--model", metavar="NAME", help="name of the model in the replay")
    parser.add_argument("--epoch", type=int, default=1, help="epoch whose episodes are taken (1)")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    options = parser.parse_args(arguments)
    try:
        return run(options)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def run(options: argparse.Namespace) -> int:
    """Exports a log as the command line says. Returns the exit code."""
    if not os.path.isfile(options.log):
        raise ValueError(f"{options.log}: no such file")
    log = read_log(options.log)
    played = export(log, model=options.model, epoch=options.epoch)
    text = "".join(episode.text() for episode in played)
    found = read_replay(text.encode()).verify()
    if not found["fits"]:
        raise ValueError("the replay does not fit its episodes: the log is of another version of the worlds")
    rows = write_replay(options.out, text, overwrite=options.overwrite)
    early = [episode for episode in played if not episode.finished]
    print(f"{options.out}: {len(played)} episodes, {rows} rows")
    if log.status != "success":
        print(f"the status of the log is {log.status}: episodes may be missing")
    if early:
        stand_ins = sum(episode.stand_in_rows for episode in played)
        print(
            f"{len(early)} episodes ended early; a stand-in plays {stand_ins} rows of the file, so its score there"
            " is not that of the model"
        )
    return 0


def read_log(path: str) -> EvalLog:
    """Returns a log with its samples.

    Raises:
        ValueError: If the file is not a log.
    """
    try:
        return read_eval_log(path)
    except Exception as error:  # noqa: BLE001 - the reader raises what its parsers raise
        raise ValueError(f"{path} is not an Inspect log: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
