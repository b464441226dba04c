#!/usr/bin/env python3
"""Plays a running `sentinel serve` with verifiers, as `python/examples/verifiers.toml` configures it.

usage: verifiers_check.py PROGRAM

Starts PROGRAM and an endpoint with the form of OpenAI's that always answers the same action, runs `vf-eval`
with the published configuration, and compares the reward of every episode with the score of the same
episode, played with OpenEnv's client. Needs `verifiers[openenv]` and `uv`, which installs the program of
verifiers' harness. Prints one line; the exit code is 1 if a reward differs.
"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import tomllib
from pathlib import Path

from openenv.core import GenericEnvClient
from openenv_check import serving

CONFIG = Path(__file__).resolve().parents[2] / "python/examples/verifiers.toml"
ACTION = {"action_type": "delegate", "specialist_id": "S1"}


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers every chat completion with the same action, streamed if the request asks for it."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        observation = json.loads(request["messages"][-1]["content"])["observation"]
        assert observation["prompt"], "the observation has a prompt for the model"
        streamed = request.get("stream", False)
        message = {"role": "assistant", "content": json.dumps(ACTION)}
        choice = {"index": 0, "finish_reason": "stop", "delta" if streamed else "message": message}
        kind = "chat.completion.chunk" if streamed else "chat.completion"
        reply = {"id": "1", "object": kind, "created": 0, "model": request["model"], "choices": [choice]}
        reply["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps(reply)
        if streamed:
            body = f"data: {body}\n\ndata: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


def native_score(address, reset):
    """Returns the score of an episode in which every action is the same."""
    with GenericEnvClient(base_url=address).sync() as env:
        result = env.reset(**reset)
        while not result.done:
            result = env.step(ACTION)
        return env.state()["score"]


def evaluate(address, endpoint, folder):
    """Runs `vf-eval` and returns the reward of each episode, by its number."""
    command = [str(Path(sys.executable).parent / "vf-eval"), "@", str(CONFIG)]
    command += ["--env.taskset.base-url", address, "--client.base-url", endpoint]
    command += ["--client.api-key-var", "CHECK_KEY", "--output-dir", folder]
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "CHECK_KEY": "none", "PATH": os.pathsep.join(folders)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    rewards = {}
    for file in Path(folder).glob("*/traces.jsonl"):
        for line in file.read_text().splitlines():
            for trace in json.loads(line)["traces"]:
                errors = [call["error"] for call in trace["calls"] if call.get("error")]
                assert not errors and not trace.get("errors"), (errors, trace.get("errors"))
                rewards[trace["task"]["data"]["idx"]] = trace["rewards"]["openenv_reward"]["score"]
    return rewards


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}/v1"
    resets = tomllib.loads(CONFIG.read_text())["env"]["taskset"]["resets"]
    with serving(sys.argv[1]) as (_, address), tempfile.TemporaryDirectory() as folder:
        rewards = evaluate(address, endpoint, folder)
        expected = {index: native_score(address, reset) for index, reset in enumerate(resets)}
    same = rewards.keys() == expected.keys() and all(abs(rewards[key] - expected[key]) < 1e-12 for key in expected)
    print(f"{'ok  ' if same else 'FAIL'} plays_with_verifiers: rewards {rewards}, scores {expected}", flush=True)
    sys.exit(not same)


if __name__ == "__main__":
    main()
