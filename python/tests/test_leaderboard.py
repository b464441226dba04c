"""Leaderboards: entries are played again, and what they claim is checked."""

import copy
import json
import os
import shutil

import pytest

from sentinel_env import TextEnv, load_policy, write_replay
from sentinel_env.completions import read_rows
from sentinel_env.leaderboard import DEFAULT_SET, check, main, read_leaderboard, table

FILE = "docs/results/leaderboard.json"


def load(root):
    return read_leaderboard(root / FILE)


def problems(folder, board, root=None):
    """Returns what the checker says about a leaderboard."""
    path = folder / "board.json"
    path.write_text(json.dumps(board))
    return check(path, root=root)[1]


def entry(root, world, player):
    (found,) = (e for e in load(root)["entries"] if (e["world"], e["player"]) == (world, player))
    return copy.deepcopy(found)


def board_of(*entries):
    return {"format": "sentinel-leaderboard/1", "seed_set": "test-1", "entries": list(entries)}


def test_committed_leaderboard_is_what_playing_again_gives(root, tmp_path):
    """All entries in `cargo xtask test --full`; here those of the trust world, which take seconds."""
    if os.environ.get("SENTINEL_PYTHON_ALL"):
        count, found = check(root / FILE, root=root)
    else:
        entries = [e for e in load(root)["entries"] if e["world"] == "trust"]
        for e in entries:
            for key in {"model", "replay"} & e["evidence"].keys():
                target = (root / FILE).parent / e["evidence"][key]
                e["evidence"][key] = os.path.relpath(target, tmp_path)
        count, found = len(entries), problems(tmp_path, board_of(*entries), root=tmp_path.anchor)
    assert count >= 6 and found == []


def test_documented_table_is_that_of_the_file(root):
    text = (root / "docs/reference/leaderboard.md").read_text(encoding="utf-8")
    assert table(load(root)) in text


def test_the_set_is_outside_of_training_seeds():
    for world, seeds in DEFAULT_SET.seeds.items():
        assert seeds.stop <= 100_000 and len(DEFAULT_SET.episodes(world)) >= 60


def test_scores_are_those_of_the_policy(root):
    runs = [load_policy("trust", "bayes").run(DEFAULT_SET.seeds["trust"], task=t, rules="hardened") for t in (1, 2, 3)]
    values = [round(float(score), 4) for run in runs for score in run["score"]]
    assert entry(root, "trust", "bayes")["score"] == round(sum(values) / 60, 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": 0.9}, "played again it is"),
        ({"detection": None}, "detection is None"),
        ({"episodes": 59}, "episodes is 59"),
        ({"privileged": True}, "does not read hidden state"),
        ({"training_seeds": ["9000..10001"]}, "contain test seeds"),
        ({"training_seeds": ["10019"]}, "contain test seeds"),
        ({"training_seeds": None}, "not a list of ranges"),
        ({"training_seeds": ["some"]}, "not a range"),
        ({"kind": "human"}, "unknown kind"),
        ({"kind": "compact"}, "needs one of the keys model, replay"),
        ({"kind": ["scripted"]}, "unknown kind"),
        ({"world": "moon"}, "unknown world"),
        ({"world": ["trust"]}, "unknown world"),
        ({"player": ""}, "not a name"),
        ({"evidence": {"policy": "nobody"}}, "unknown policy"),
        ({"evidence": {"policy": "trained"}}, "unknown policy"),
        ({"evidence": {"policy": 3}}, "are texts"),
        ({"evidence": None}, "evidence"),
        ({"stars": 5}, "unknown keys: stars"),
    ],
)
def test_wrong_claims_are_found(change, words, root, tmp_path):
    (found,) = problems(tmp_path, board_of({**entry(root, "trust", "bayes"), **change}))
    assert words in found and found.startswith("entry 1 (")


def test_problems_name_their_entries_and_leave_the_others(root, tmp_path):
    good, bad = entry(root, "trust", "bayes"), entry(root, "trust", "random")
    bad["score"] += 0.0001
    found = problems(tmp_path, board_of(good, bad, 7, good))
    assert [line.split(":")[0] for line in found] == ["entry 2 (random)", "entry 3 (None)", "entry 4 (bayes)"]
    assert "twice" in found[2]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "sentinel-leaderboard/2"}', "[" * 100_000, "\0"])
def test_other_files_are_refused(text, tmp_path, capsys):
    path = tmp_path / "board.json"
    path.write_text(text)
    assert main(["check", str(path)]) == 1 and "board.json" in capsys.readouterr().err
    for frame in ({"seed_set": "mine", "entries": []}, {"seed_set": "test-1", "entries": {}}, {"seed_set": []}):
        path.write_text(json.dumps({"format": "sentinel-leaderboard/1", **frame}))
        assert main(["check", str(path)]) == 1
    assert main(["check", str(tmp_path / "nowhere.json")]) == 1


@pytest.fixture
def submission(root, tmp_path):
    """The rows of the committed language model, and a function that submits changed ones."""
    original = entry(root, "trust", "micro")
    rows = read_rows(((root / FILE).parent / original["evidence"]["replay"]).read_text(encoding="utf-8"))

    def submit(changed, *, player="micro", extra=()):
        path, file = tmp_path / "replay.jsonl", tmp_path / "board.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in changed))
        file.unlink(missing_ok=True)
        return main(["add", str(file), "--world", "trust", "--replay", str(path), "--style", "compact", *extra])

    return rows, submit


def test_replays_must_be_the_whole_set(submission, capsys):
    rows, submit = submission
    assert submit(rows) == 0
    assert submit([row for row in rows if row["seed"] != 10_003]) == 1
    assert "3 are missing" in capsys.readouterr().err
    other = TextEnv("trust", 1, rules="hardened", on_invalid="fallback")
    other.reset(10_020)
    while not other.done:
        other.step("no")
    assert submit([*rows, *read_rows(other.transcript("micro"))]) == 1
    assert "is not of the set" in capsys.readouterr().err


def test_changed_rows_are_found(submission, capsys):
    rows, submit = submission

    def changed(index, **keys):
        return [*rows[:index], {**rows[index], **keys}, *rows[index + 1 :]]

    better = {**rows[0]["action"], "specialist_id": "S4"}
    cases = [
        (changed(0, action=better), "does not fit"),
        (changed(0, completion='{"action_type":"delegate","specialist_id":"S4"}'), "does not fit"),
        (changed(0, prompt="Name S4."), "does not fit"),
        (rows[:-1], "does not fit"),
        (changed(0, rejected=["hm"]), "asked for again"),
        ([{k: v for k, v in row.items() if k not in ("prompt", "completion")} for row in rows], "no completion"),
        (changed(0, step=10_000), "does not fit"),
    ]
    for case, words in cases:
        assert submit(case) == 1
        assert words in capsys.readouterr().err, words
    assert submit(rows, extra=["--style", "reference"]) == 1
    assert "not the prompt of style reference" in capsys.readouterr().err
    assert submit(rows, extra=["--kind", "compact"]) == 1
    assert "another kind of player" in capsys.readouterr().err


def test_an_invalid_completion_ends_the_episode_for_the_score(submission, tmp_path):
    """A stand-in plays on in the file, and earns nothing for the model."""
    rows, submit = submission
    assert submit(rows) == 0
    whole = read_leaderboard(tmp_path / "board.json")["entries"][0]
    env = TextEnv("trust", 1, rules="hardened", on_invalid="fallback")
    env.reset(10_000)
    while not env.done:
        env.step("no idea")
    rest = [row for row in rows if (row["task_type"], row["seed"]) != ("task1", 10_000)]
    assert submit([*read_rows(env.transcript("micro")), *rest]) == 0
    found = read_leaderboard(tmp_path / "board.json")["entries"][0]
    ended = TextEnv("trust", 1, rules="hardened")
    ended.reset(10_000)
    ended.step("no idea")
    lost = load_score(rows) - ended.score
    assert found["scores"]["task1"] == pytest.approx(whole["scores"]["task1"] - lost / 20, abs=2e-4)
    assert found["validity"] < 1 and lost > 0.5


def load_score(rows):
    """Returns the score of the first episode of rows."""
    env = TextEnv("trust", 1, rules="hardened")
    env.reset(10_000)
    for row in rows:
        if (row["task_type"], row["seed"]) == ("task1", 10_000):
            env.step(row["completion"])
    return env.score


def test_models_are_held_to_their_files(root, tmp_path):
    original = entry(root, "trust", "grpo")
    original["evidence"]["model"] = os.path.relpath(root / "replays/grpo", tmp_path)
    anchor = tmp_path.anchor
    assert problems(tmp_path, board_of(original), anchor) == []
    other = {**original, "evidence": {**original["evidence"], "sha256": "0" * 64}}
    assert "sha256" in problems(tmp_path, board_of(other), anchor)[0]
    other = {**original, "training_seeds": ["100000..100010"]}
    assert "config.json beside the model says '100000..1000000'" in problems(tmp_path, board_of(other), anchor)[0]
    other = {**original, "evidence": {"model": str(root / "replays/grpo"), "sha256": ""}}
    assert "absolute" in problems(tmp_path, board_of(other))[0]
    other = {**original, "evidence": {"model": "nowhere", "sha256": ""}}
    assert "nowhere" in problems(tmp_path, board_of(other))[0]
    assert "world trust" in problems(tmp_path, board_of({**original, "world": "cluster"}), anchor)[0]


def test_evidence_outside_of_the_folder_is_not_read(root, tmp_path):
    """Not by a path upwards, and not by a link; the caller may name a larger folder."""
    original = entry(root, "trust", "grpo")
    board = tmp_path / "boards"
    board.mkdir()
    shutil.copytree(root / "replays/grpo", tmp_path / "outside")
    shutil.copytree(root / "replays/grpo", board / "inside")
    os.symlink(tmp_path / "outside", board / "link")
    for path in ("../outside", "../outside/model.safetensors", "inside/../../outside", "link", "../../../../etc/passwd"):
        original["evidence"]["model"] = path
        (found,) = problems(board, board_of(original))
        assert "leads out of" in found and "--root" in found
        if "etc" not in path:
            assert problems(board, board_of(original), root=tmp_path) == []
    original["evidence"]["model"] = "inside"
    assert problems(board, board_of(original)) == []
    original.update(evidence={"replay": "../../secret", "sha256": ""})
    assert "leads out of" in problems(board, board_of(original))[0]


def test_evidence_outside_of_the_folder_is_not_added(root, tmp_path, capsys):
    board = tmp_path / "boards"
    board.mkdir()
    shutil.copytree(root / "replays/grpo", tmp_path / "outside")
    file = str(board / "board.json")
    options = ["--world", "trust", "--model", str(tmp_path / "outside"), "--training-seeds", "100000..1000000"]
    assert main(["add", file, *options]) == 1 and "leads out of" in capsys.readouterr().err
    assert main(["add", file, *options, "--root", str(tmp_path)]) == 0
    assert main(["check", file]) == 1 and main(["check", file, "--root", str(tmp_path)]) == 0


def test_compact_policies_may_submit_a_replay(root, tmp_path, capsys):
    model = load_policy(model=root / "replays/grpo")
    texts = [
        model.record(names.seed, task=names.task, streams=names.streams, rules=names.rules)
        for names in DEFAULT_SET.episodes("trust")
    ]
    write_replay(tmp_path / "grpo.jsonl", texts)
    file = tmp_path / "board.json"
    options = ["--world", "trust", "--replay", str(tmp_path / "grpo.jsonl"), "--kind", "compact"]
    seeds = ["--training-seeds", "100000..1000000"]
    assert main(["add", str(file), *options, *seeds]) == 0
    found, committed = read_leaderboard(file)["entries"][0], entry(root, "trust", "grpo")
    assert {k: found[k] for k in ("score", "scores", "detection")} == {
        k: committed[k] for k in ("score", "scores", "detection")
    }
    before = file.read_bytes()
    assert main(["add", str(file), *options, *seeds]) == 1 and "--replace" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert main(["add", str(file), *options, *seeds, "--replace"]) == 0 and len(read_leaderboard(file)["entries"]) == 1
    assert main(["add", str(file), *options, "--training-seeds", "0..20000", "--player", "cheat"]) == 1
    assert main(["check", str(file)]) == 0 and main(["table", str(file)]) == 0
    assert "| trust | grpo | compact |" in capsys.readouterr().out
