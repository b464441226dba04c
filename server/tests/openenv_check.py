#!/usr/bin/env python3
"""Checks a running `sentinel serve` with OpenEnv's own Python client, and with its graders where they exist.

usage: openenv_check.py PROGRAM

Starts PROGRAM on a free port, plays every world with the synchronous and the asynchronous client, kills
the server and starts it again, and, with openenv 0.10 or newer, runs `openenv validate --url` and the
graders of the runtime level. Prints one line per check; the exit code is 1 if one fails.
"""

import asyncio
import importlib.metadata
import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from openenv.core import GenericEnvClient

PACKAGE = Path(__file__).resolve().parent.parent / "openenv"
ACTIONS = {
    "trust": [{"action_type": "delegate", "specialist_id": "S1"}, {"action_type": "skip"}],
    "cluster": [
        {"action_type": "allocate", "job_id": "JOB-000", "gpu_id": "GPU-00", "worker_id": "S1"},
        {"action_type": "tick"},
    ],
    "polyguard": [{"candidate_id": "cand_01", "rationale": "egfr"}, {"completion": "candidate_id=cand_01; rationale=egfr"}],
}


@contextmanager
def serving(program, *options):
    """Starts the server and yields its process and address."""
    port = [] if "--port" in options else ["--port", "0"]
    command = [program, "serve", *port, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "the server printed no address"
        yield process, address
    finally:
        process.terminate()
        process.wait(timeout=30)


def plays_synchronously(address):
    """Plays an episode of each world to its end."""
    for world, actions in ACTIONS.items():
        with GenericEnvClient(base_url=address).sync() as env:
            first = env.reset(seed=100003, episode_id="ep", world=world)
            assert first.done is False and first.observation["prompt"], first
            assert env.state()["episode_id"] == "ep" and env.state()["step_count"] == 0
            try:
                env.step({"definitely_not_a_field": 1})
                raise SystemExit("a bad action was accepted")
            except RuntimeError as error:
                assert "VALIDATION_ERROR" in str(error), error
            assert env.state()["step_count"] == 0, "a refused action changes nothing"
            taken, result = 0, first
            while not result.done:
                result = env.step(actions[taken % len(actions)])
                taken += 1
                assert isinstance(result.reward, float) and 0.0 <= result.reward <= 1.0
                assert env.state()["step_count"] == taken
            assert 0.0 <= env.state()["score"] <= 1.0
            again = env.reset(seed=100003, episode_id="other", world=world)
            assert again.observation == first.observation, "equal seeds, other observations"


def keeps_sessions_apart(address):
    """Two sessions of one client do not touch each other."""

    async def play():
        async with GenericEnvClient(base_url=address) as one:
            await one.reset(seed=1, episode_id="one")
            if hasattr(one, "new_session"):
                two = await one.new_session()
            else:
                two = GenericEnvClient(base_url=address)
                await two.connect()
            await two.reset(seed=2, episode_id="two")
            await one.step(ACTIONS["trust"][0])
            first, second = await one.state(), await two.state()
            seen = [(state["episode_id"], state["step_count"]) for state in (first, second)]
            assert seen == [("one", 1), ("two", 0)], seen
            await two.close()

    asyncio.run(play())


def refuses_steps_before_a_reset(address):
    """A reconnected client must not step in an episode that it did not start."""
    with GenericEnvClient(base_url=address).sync() as env:
        try:
            env.step(ACTIONS["trust"][0])
            raise SystemExit("a step before the reset was accepted")
        except RuntimeError as error:
            assert "EXECUTION_ERROR" in str(error), error


def survives_kill(program):
    """After kill -9 a new server serves on the same port at once."""
    with serving(program) as (process, address):
        with GenericEnvClient(base_url=address).sync() as env:
            env.reset(seed=1)
            process.kill()
            process.wait(timeout=30)
    port = address.rsplit(":", 1)[1]
    with serving(program, "--port", port) as (_, again):
        assert again == address
        plays_one_step(again)


def plays_one_step(address):
    with GenericEnvClient(base_url=address).sync() as env:
        env.reset(seed=1)
        env.step(ACTIONS["trust"][0])


def passes_validation(address):
    """`openenv validate --url` and the graders of the runtime level accept the server."""
    command = [str(Path(sys.executable).parent / "openenv"), "validate"]
    subprocess.run([*command, "--url", address], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, str(PACKAGE), "--level", "static"], check=True, stdout=subprocess.DEVNULL)
    from openenv.validation.graders import runtime
    from openenv.validation.runtime.collector import collect_runtime_evidence
    from openenv.validation.runtime.contracts import RuntimePlan

    plan = RuntimePlan.model_validate(json.loads((PACKAGE / "validation/runtime.json").read_text()))
    evidence = collect_runtime_evidence(address, plan, episode_timeout_s=60.0)
    assert evidence.failure_reason is None, evidence.failure_reason
    subject = SimpleNamespace(
        runtime_evidence=evidence, manifest=SimpleNamespace(reward=SimpleNamespace(range=(0.0, 1.0)))
    )
    for grader in (runtime.ObservationSchemaGrader(), runtime.RewardWellFormedGrader(), runtime.StateContractGrader()):
        result = grader.run(subject)
        assert result.status.value == "pass", (result.check_id, result.evidence)


def main():
    program = sys.argv[1]
    version = importlib.metadata.version("openenv")
    checks = [plays_synchronously, keeps_sessions_apart, refuses_steps_before_a_reset]
    if tuple(int(part) for part in version.split(".")[:2]) >= (0, 10):
        checks.append(passes_validation)
    failed = False
    with serving(program) as (_, address):
        for check in checks:
            failed |= not passes(check.__name__, lambda check=check: check(address))
    failed |= not passes(survives_kill.__name__, lambda: survives_kill(program))
    sys.exit(failed)


def passes(name, check):
    """Runs a check and prints its result."""
    try:
        check()
    except BaseException as error:  # noqa: BLE001 - also SystemExit is a failed check
        print(f"FAIL {name}: {error!r}", flush=True)
        return False
    print(f"ok   {name}", flush=True)
    return True


if __name__ == "__main__":
    main()
