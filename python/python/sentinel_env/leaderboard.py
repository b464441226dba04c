"""Leaderboards: results on fixed test seeds, each with what is needed to compute it again.

    python -m sentinel_env.leaderboard check FILE
    python -m sentinel_env.leaderboard add FILE --world trust --policy bayes
    python -m sentinel_env.leaderboard table FILE
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

from sentinel_env._native import EpisodeEnded
from sentinel_env.completions import (
    EpisodeNames,
    PlayedEpisode,
    Turn,
    adversarial_counts,
    evaluation_mean,
    is_stand_in,
    parse_seeds,
    play_completions,
    read_rows,
)
from sentinel_env.episodes import Policy, load_policy
from sentinel_env.replays import read_replay
from sentinel_env.worlds import WORLDS
from sentinel_env.worlds import world as describe

#: Name and version of the format; the number grows when a key changes its meaning or is removed.
FORMAT = "sentinel-leaderboard/1"

#: Kinds of players, with the keys of the evidence that each may have.
KINDS = {"scripted": ("policy",), "compact": ("model", "replay"), "language-model": ("replay",)}

#: Keys of an entry that the checker computes again.
COMPUTED = ("episodes", "score", "scores", "detection", "validity")

#: Keys of an entry that are claims about the player.
CLAIMED = ("player", "kind", "world", "privileged", "training_seeds", "evidence", "style", "reader", "note")

#: All keys of an entry.
ENTRY_KEYS = {*CLAIMED, *COMPUTED}


@dataclasses.dataclass(frozen=True)
class SeedSet:
    """The episodes that every entry plays: all tasks of its world on the same seeds.

    Attributes:
        name: Name in files.
        seeds: Seeds of each task, for each world.
        streams: Mode in which random streams are seeded.
        rules: Rules in force.
    """

    name: str
    seeds: dict[str, range]
    streams: str = "independent"
    rules: str = "hardened"

    def episodes(self, world: str) -> list[EpisodeNames]:
        """Returns the episodes of a world, by task and seed."""
        pairs = [(task, seed) for task in describe(world).tasks for seed in self.seeds[world]]
        return [EpisodeNames(world, task, seed, self.streams, self.rules) for task, seed in pairs]


#: The set of this version.
DEFAULT_SET = SeedSet(
    "test-1",
    {"trust": range(10_000, 10_020), "cluster": range(10_000, 10_020), "polyguard": range(10_000, 10_010)},
)

#: All sets by their names.
SEED_SETS = {DEFAULT_SET.name: DEFAULT_SET}


class EntryError(ValueError):
    """An entry that is not what it claims."""


def read_leaderboard(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a leaderboard and checks its frame, not its entries.

    Raises:
        EntryError: If the file is not a leaderboard of this version.
        OSError: If it cannot be read.
    """
    try:
        board = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, RecursionError, json.JSONDecodeError) as error:
        raise EntryError(f"{path}: not JSON: {error}") from None
    if not isinstance(board, dict) or board.get("format") != FORMAT:
        raise EntryError(f"{path}: key format is not {FORMAT!r}")
    if not isinstance(board.get("seed_set"), str) or board["seed_set"] not in SEED_SETS:
        raise EntryError(f"{path}: unknown seed_set {board.get('seed_set')!r}: use {', '.join(SEED_SETS)}")
    if not isinstance(board.get("entries"), list):
        raise EntryError(f"{path}: key entries is not a list")
    return board


def check(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None
) -> tuple[int, list[str]]:
    """Computes every entry of a leaderboard again.

    Args:
        path: Path of the leaderboard.
        root: Folder that holds all evidence, by default that of the leaderboard. No file outside of it is read.

    Returns:
        The number of entries, and the problems: one line each with the number and player of the entry.

    Raises:
        EntryError: If the file is not a leaderboard of this version.
        OSError: If it cannot be read.
    """
    board = read_leaderboard(path)
    seed_set, folder = SEED_SETS[board["seed_set"]], pathlib.Path(path).parent
    root = folder if root is None else pathlib.Path(root)
    problems, seen = [], set()
    for number, entry in enumerate(board["entries"], 1):
        name = entry.get("player") if isinstance(entry, dict) else None
        try:
            claims = check_claims(entry, seed_set)
            if claims in seen:
                raise EntryError("the same player is in the file twice")
            seen.add(claims)
            found = compute(entry, seed_set, folder, root)
            for key in COMPUTED:
                if entry.get(key) != found[key]:
                    raise EntryError(f"{key} is {entry.get(key)!r}, and played again it is {found[key]!r}")
        except (ValueError, OSError, EpisodeEnded) as error:
            problems.append(f"entry {number} ({name}): {error}")
    return len(board["entries"]), problems


def check_claims(entry: Any, seed_set: SeedSet) -> tuple[str, str]:
    """Checks what an entry says about its player. Returns its world and name.

    Raises:
        EntryError: If a key is missing or wrong, or training seeds are test seeds.
    """
    if not isinstance(entry, dict):
        raise EntryError("an entry is an object")
    if entry.keys() - ENTRY_KEYS:
        raise EntryError(f"unknown keys: {', '.join(sorted(entry.keys() - ENTRY_KEYS))}")
    player, kind, world, evidence = (entry.get(key) for key in ("player", "kind", "world", "evidence"))
    if not isinstance(player, str) or not player.strip():
        raise EntryError("key player is not a name")
    if not isinstance(kind, str) or kind not in KINDS:
        raise EntryError(f"unknown kind {kind!r}: use {', '.join(KINDS)}")
    if world not in WORLDS or world not in seed_set.seeds:
        raise EntryError(f"unknown world {world!r}: use {', '.join(seed_set.seeds)}")
    named = {"policy", "model", "replay"} & evidence.keys() if isinstance(evidence, dict) else set()
    if len(named) != 1 or not named <= set(KINDS[kind]):
        raise EntryError(f"evidence of kind {kind} needs one of the keys {', '.join(KINDS[kind])}")
    if not all(isinstance(value, str) for value in evidence.values()):
        raise EntryError("the values of evidence are texts")
    if kind == "scripted" and evidence["policy"] not in (policies := describe(world).policies):
        raise EntryError(f"unknown policy {evidence['policy']!r} of world {world}: use {', '.join(policies)}")
    if not isinstance(entry.get("privileged"), bool):
        raise EntryError("key privileged is neither true nor false")
    if kind != "scripted" and entry["privileged"]:
        raise EntryError("only scripted policies can read hidden state")
    if kind == "language-model" and not all(isinstance(entry.get(key), str) for key in ("style", "reader")):
        raise EntryError("a language model needs the keys style and reader")
    check_training_seeds(entry.get("training_seeds"), seed_set.seeds[world])
    return world, player


def check_training_seeds(claimed: Any, test: range) -> None:
    """Checks that claimed training seeds are disjoint from test seeds.

    Raises:
        EntryError: If they are not disjoint, or not a list of ranges.
    """
    if not isinstance(claimed, list) or not all(isinstance(text, str) for text in claimed):
        raise EntryError('key training_seeds is not a list of ranges such as ["100000..100512"]; use [] for none')
    for text in claimed:
        first, last = bounds(text)
        if first < test.stop and test.start < last:
            raise EntryError(f"training seeds {text} contain test seeds {test.start}..{test.stop}")


def bounds(text: str) -> tuple[int, int]:
    """Returns the first seed of a range in words and the one after its last."""
    seeds = parse_seeds(text)
    return seeds.start, seeds.stop


def compute(entry: dict[str, Any], seed_set: SeedSet, folder: pathlib.Path, root: pathlib.Path) -> dict[str, Any]:
    """Plays the episodes of an entry again and returns its keys `COMPUTED`.

    Args:
        entry: The entry.
        seed_set: The episodes.
        folder: Folder at which the paths of the evidence start.
        root: Folder that holds them all.

    Raises:
        EntryError: If the evidence is not what the entry says.
        OSError: If a file cannot be read.
    """
    evidence = entry["evidence"]
    if "replay" in evidence:
        return summary(play_replay(entry, seed_set, evidence_file(evidence, "replay", folder, root)))
    if "policy" in evidence:
        policy = load_policy(entry["world"], evidence["policy"])
        if policy.is_privileged != entry["privileged"]:
            words = "reads" if policy.is_privileged else "does not read"
            raise EntryError(f"policy {policy.name} {words} hidden state, and privileged is {entry['privileged']}")
    else:
        path = evidence_file(evidence, "model", folder, root)
        policy = load_policy(entry["world"], model=path)
        check_config(entry["training_seeds"], path.parent / "config.json")
    return summary(play_policy(policy, names) for names in seed_set.episodes(entry["world"]))


def evidence_file(evidence: dict[str, str], key: str, folder: pathlib.Path, root: pathlib.Path) -> pathlib.Path:
    """Returns the path of a file of the evidence, after a comparison of its digest.

    Raises:
        EntryError: If the path is absolute or leads out of `root`, or the digest differs.
    """
    if pathlib.PurePath(evidence[key]).is_absolute():
        raise EntryError(f"path {evidence[key]!r} is absolute: name it from the folder of the leaderboard")
    path = evidence_path(key, folder / evidence[key])
    # Links are followed before the comparison.
    if not path.resolve().is_relative_to(root.resolve()):
        raise EntryError(
            f"path {evidence[key]!r} leads out of {root}: name the folder of all evidence with --root, if you trust it"
        )
    digest = sha256(path)
    if evidence.get("sha256") != digest:
        raise EntryError(f"sha256 of {evidence[key]} is {digest}, not {evidence.get('sha256')}")
    return path


def evidence_path(key: str, path: pathlib.Path) -> pathlib.Path:
    """Returns the file that a path of the evidence names."""
    return path / "model.safetensors" if key == "model" and path.is_dir() else path


def sha256(path: pathlib.Path) -> str:
    """Returns the digest of a file in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_config(claimed: list[str], path: pathlib.Path) -> None:
    """Compares claimed training seeds with the configuration beside a model, if there is one."""
    if not path.is_file():
        return
    config = json.loads(path.read_text(encoding="utf-8"))
    trained = config.get("train_seeds") if isinstance(config, dict) else None
    if trained is not None and [trained] != claimed:
        raise EntryError(f"training_seeds are {claimed}, and {path.name} beside the model says {trained!r}")


def play_policy(policy: Policy, names: EpisodeNames) -> PlayedEpisode:
    """Plays an episode with a policy."""
    options = {"task": names.task, "streams": names.streams, "rules": names.rules}
    score = float(policy.run(names.seed, **options)["score"][0])
    rows = [json.loads(line) for line in policy.record(names.seed, **options).splitlines()]
    return PlayedEpisode(names, score, True, 0, 0, *adversarial_counts(names, rows), tuple(rows))


def play_replay(entry: dict[str, Any], seed_set: SeedSet, path: pathlib.Path) -> list[PlayedEpisode]:
    """Plays the episodes of a replay file again, which must be those of the set, each once."""
    data = path.read_bytes()
    replay = read_replay(data)
    found = replay.verify()
    if replay.problem_count or not found["fits"]:
        words = [f"line {line}: {reason}" for line, reason in replay.problems()[:1]]
        for episode in found["episodes"]:
            if episode["misses"] or episode["findings"] or episode["unused"] or episode["mismatches"]:
                words.append(f"{episode['task']} seed {episode['seed']} was played otherwise, or has rows missing")
        raise EntryError(f"{path.name} does not fit its episodes: {'; '.join(words[:3])}")
    rows: dict[EpisodeNames, list[dict[str, Any]]] = {}
    for row in read_rows(data.decode()):
        streams, rules = row.get("streams", "reference"), row.get("rules", "reference")
        names = EpisodeNames(row.get("world", "trust"), row["task_type"], row["seed"], streams, rules)
        rows.setdefault(names, []).append(row)
    wanted = seed_set.episodes(entry["world"])
    missing, foreign = set(wanted) - rows.keys(), rows.keys() - set(wanted)
    if missing or foreign:
        one = min(missing or foreign, key=lambda names: (names.task, names.seed))
        what = "is missing" if missing else "is not of the set"
        raise EntryError(
            f"{path.name}: {one.world} {one.task} seed {one.seed} ({one.streams} streams, {one.rules} rules) {what};"
            f" {seed_set.name} has {len(wanted)} episodes, {len(missing)} are missing and {len(foreign)} are others"
        )
    play = play_model_rows if entry["kind"] == "language-model" else play_policy_rows
    return [play(entry, names, sorted(rows[names], key=lambda row: row["step"])) for names in wanted]


def play_policy_rows(entry: dict[str, Any], names: EpisodeNames, rows: list[dict[str, Any]]) -> PlayedEpisode:
    """Plays an episode again from the actions of a compact policy."""
    for row in rows:
        if is_stand_in(row) or "completion" in row:
            raise EntryError(f"{names.task} seed {names.seed} step {row['step']}: a row of another kind of player")
    episode = names.episode()
    for row in rows:
        episode.step({key: value for key, value in row["action"].items() if value is not None})
    return PlayedEpisode(names, episode.score, True, 0, 0, *adversarial_counts(names, rows), tuple(rows))


def play_model_rows(entry: dict[str, Any], names: EpisodeNames, rows: list[dict[str, Any]]) -> PlayedEpisode:
    """Plays an episode again from completions. It ends at the first one that is not an action."""
    turns = []
    for row in rows:
        where = f"{names.task} seed {names.seed} step {row['step']}"
        if row.get("rejected"):
            raise EntryError(f"{where}: a completion was asked for again, and the set allows one for each step")
        if "completion" not in row:
            if not is_stand_in(row):
                raise EntryError(f"{where}: no completion")
            break
        turns.append(Turn(row["completion"]))
        if row.get("fallback"):
            break
    played = play_completions(names, turns, style=entry["style"], reader=entry["reader"], model=entry["player"])
    for row, again in zip(rows, played.rows[: len(turns)]):
        if row.get("prompt") != again["prompt"]:
            where = f"{names.task} seed {names.seed} step {row['step']}"
            raise EntryError(f"{where}: not the prompt of style {entry['style']}")
    return played


def summary(episodes: Iterable[PlayedEpisode]) -> dict[str, Any]:
    """Returns the keys `COMPUTED` of an entry. Means are those of ``sentinel eval``."""
    played = list(episodes)
    by_task: dict[str, list[float]] = {}
    for episode in played:
        by_task.setdefault(episode.names.task, []).append(episode.score)
    detections = [episode.detection for episode in played if episode.detection is not None]
    completions = sum(episode.completions for episode in played)
    return {
        "episodes": len(played),
        "score": evaluation_mean(episode.score for episode in played),
        "scores": {task: evaluation_mean(scores) for task, scores in by_task.items()},
        "detection": evaluation_mean(detections) if detections else None,
        "validity": round(sum(e.valid for e in played) / completions, 4) if completions else None,
    }


def new_entry(
    seed_set: SeedSet,
    folder: pathlib.Path,
    root: pathlib.Path,
    *,
    world: str,
    kind: str,
    player: str,
    evidence: dict[str, str],
    training_seeds: list[str],
    style: str | None = None,
    reader: str | None = None,
) -> dict[str, Any]:
    """Returns an entry with its results.

    Raises:
        EntryError: If it would not pass the check.
    """
    privileged = "policy" in evidence and load_policy(world, evidence["policy"]).is_privileged
    entry: dict[str, Any] = {"player": player, "kind": kind, "world": world, "privileged": privileged}
    entry["training_seeds"] = training_seeds
    if kind == "language-model":
        entry.update(style=style, reader=reader)
    entry["evidence"] = evidence
    check_claims(entry, seed_set)
    return {**entry, **compute(entry, seed_set, folder, root)}


def table(board: dict[str, Any]) -> str:
    """Returns a leaderboard as a table in Markdown, the best player of each world first."""

    def cell(value: float | None) -> str:
        return "–" if value is None else f"{value:.4f}"

    lines = ["| world | player | kind | score | detection | validity |", "|---|---|---|---|---|---|"]
    entries = sorted(board["entries"], key=lambda e: (WORLDS.index(e["world"]), -e["score"], e["player"]))
    for e in entries:
        player = e["player"] + (" (reads hidden state)" if e["privileged"] else "")
        numbers = " | ".join(cell(e[key]) for key in ("score", "detection", "validity"))
        lines.append(f"| {e['world']} | {player} | {e['kind']} | {numbers} |")
    return "\n".join(lines)


def add(arguments: argparse.Namespace) -> str:
    """Adds an entry to a leaderboard, which is made if it does not exist."""
    path = pathlib.Path(arguments.file)
    board: dict[str, Any] = {"format": FORMAT, "seed_set": DEFAULT_SET.name, "entries": []}
    if path.exists():
        board = read_leaderboard(path)
    chosen = {key: getattr(arguments, key) for key in ("policy", "model", "replay") if getattr(arguments, key)}
    if len(chosen) != 1:
        raise EntryError("give one of --policy, --model and --replay")
    ((key, value),) = chosen.items()
    evidence, kind = {key: value}, arguments.kind
    if key != "policy":
        file = evidence_path(key, pathlib.Path(value))
        evidence = {key: os.path.relpath(value, path.parent).replace(os.sep, "/"), "sha256": sha256(file)}
    kind = kind or {"policy": "scripted", "model": "compact", "replay": "language-model"}[key]
    player = arguments.player or (value if key == "policy" else pathlib.PurePath(value).stem)
    entry = new_entry(
        SEED_SETS[board["seed_set"]],
        path.parent,
        pathlib.Path(arguments.root or path.parent),
        world=arguments.world,
        kind=kind,
        player=player,
        evidence=evidence,
        training_seeds=arguments.training_seeds,
        style=arguments.style,
        reader=arguments.reader,
    )
    same = [e for e in board["entries"] if (e["world"], e["player"]) == (entry["world"], entry["player"])]
    if same and not arguments.replace:
        raise EntryError(f"{player} is in {path} already: --replace replaces it")
    board["entries"] = [e for e in board["entries"] if e not in same] + [entry]
    write_whole(path, json.dumps(board, indent=2, ensure_ascii=False) + "\n")
    return f"{player}: {entry['score']:.4f} over {entry['episodes']} episodes"


def write_whole(path: pathlib.Path, text: str) -> None:
    """Replaces a file in one step, so that an interruption leaves the earlier one."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8", newline="\n") as file:
        file.write(text)
    try:
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError:
        os.unlink(file.name)
        raise


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    name, words = "python -m sentinel_env.leaderboard", "Leaderboards on fixed test seeds."
    top = argparse.ArgumentParser(prog=name, description=words)
    commands = top.add_subparsers(dest="command", required=True)
    words = "play every entry again; exit code 1 if one is not what it claims"
    checking = commands.add_parser("check", help=words)
    checking.add_argument("file")
    commands.add_parser("table", help="print a table in Markdown").add_argument("file")
    new = commands.add_parser("add", help="play the test seeds and add an entry")
    new.add_argument("file")
    for command in (checking, new):
        words = "folder that holds all evidence; by default that of the file"
        command.add_argument("--root", metavar="FOLDER", help=words)
    new.add_argument("--world", required=True, choices=WORLDS)
    new.add_argument("--policy", metavar="NAME", help="a scripted policy")
    new.add_argument("--model", metavar="DIR", help="a compact policy of `sentinel train`")
    new.add_argument("--replay", metavar="FILE", help="a replay of the episodes of the set")
    new.add_argument("--kind", choices=KINDS, help="kind of player; by default that of the evidence")
    new.add_argument("--player", metavar="NAME", help="name in the table")
    words = "seeds that the player was trained on"
    new.add_argument("--training-seeds", nargs="*", default=[], metavar="A..B", help=words)
    new.add_argument("--style", default="reference", help="style of the prompts of a language model")
    new.add_argument("--reader", default="strict", help="how its completions are read")
    new.add_argument("--replace", action="store_true", help="replace an entry of the same player")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line. Returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        if options.command == "add":
            print(add(options))
            return 0
        if options.command == "table":
            print(table(read_leaderboard(options.file)))
            return 0
        count, problems = check(options.file, root=options.root)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{options.file}: {count} entries, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
