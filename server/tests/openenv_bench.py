#!/usr/bin/env python3
"""Measures `sentinel serve` beside a server of OpenEnv's own framework, in one run.

usage: openenv_bench.py COMMAND...

COMMAND starts the server and prints its address, as `target/release/sentinel serve --port 0`. The other
server is OpenEnv's `create_app` around a counter, the smallest environment there is. Both are driven by
the same client, one after the other for each number of sessions, and each prints one JSON line: steps per
second, processor time of the server per step, resident memory. Needs openenv, websockets and uvicorn.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time

from websockets.asyncio.client import connect

SECONDS = 4.0
SESSIONS = (1, 16, 64)
IDLE = 1000
WORLDS = ("trust", "cluster", "polyguard")


def counter_server(port):
    """Runs the counter behind OpenEnv's own server."""
    import uvicorn
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    class Add(Action):
        amount: int = 1

    class Total(Observation):
        total: int = 0

    class Counter(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            super().__init__()
            self.counted = State(episode_id="counter", step_count=0)

        def reset(self, seed=None, episode_id=None, **_):
            self.counted = State(episode_id=episode_id or "counter", step_count=0)
            return Total(total=0, done=False, reward=None)

        def step(self, action, timeout_s=None, **_):
            self.counted.step_count += action.amount
            return Total(total=self.counted.step_count, done=False, reward=0.5)

        @property
        def state(self):
            return self.counted

    app = create_app(Counter, Add, Total, env_name="counter", max_concurrent_envs=2 * IDLE)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


class Server:
    """A running server."""

    def __init__(self, name, process, address, action):
        self.name, self.process = name, process
        self.url = address.replace("http", "ws", 1) + "/ws"
        self.step = json.dumps({"type": "step", "data": action})
        self.reset = json.dumps({"type": "reset", "data": {"seed": 100001}})

    def processor_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self):
        lines = open(f"/proc/{self.process.pid}/status")
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    async def open(self, reset=None):
        client = await connect(self.url, compression=None, ping_interval=None)
        await self.ask(client, reset or self.reset, "observation")
        return client

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)

    @staticmethod
    async def ask(client, message, kind):
        await client.send(message)
        reply = await client.recv()
        assert reply.startswith('{"type":"%s"' % kind), reply[:200]
        return reply

    async def play(self, client, until):
        """Steps until a time, and returns the number of steps."""
        steps = 0
        while time.perf_counter() < until:
            reply = await self.ask(client, self.step, "observation")
            steps += 1
            if '"done":true' in reply:
                await self.ask(client, self.reset, "observation")
        return steps


def start_sentinel(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    return Server("sentinel", process, address, {"action_type": "delegate", "specialist_id": "S1"})


def start_counter():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, __file__, "--counter", str(port)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return Server("openenv", process, f"http://127.0.0.1:{port}", {"amount": 1})
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the counter did not start")


async def measure_steps(server, sessions):
    clients = [await server.open() for _ in range(sessions)]
    before, start = server.processor_seconds(), time.perf_counter()
    taken = await asyncio.gather(*(server.play(client, start + SECONDS) for client in clients))
    wall, used = time.perf_counter() - start, server.processor_seconds() - before
    for client in clients:
        await client.close()
    steps = sum(taken)
    return {
        "server": server.name,
        "sessions": sessions,
        "steps_per_s": round(steps / wall),
        "processor_us_per_step": round(1e6 * used / steps, 1),
        "resident_mb": round(server.resident_mb(), 1),
    }


async def measure_connects(server, count=200):
    start = time.perf_counter()
    for _ in range(count):
        await (await server.open()).close()
    return {"server": server.name, "open_reset_close_per_s": round(count / (time.perf_counter() - start))}


async def measure_idle(server, world=None):
    """Memory with sessions that did nothing but a reset, before, meanwhile and after."""
    data = {"seed": 100001} if world is None else {"seed": 100001, "world": world}
    reset = json.dumps({"type": "reset", "data": data})
    before = server.resident_mb()
    clients = [await server.open(reset) for _ in range(IDLE)]
    idle = server.resident_mb()
    for client in clients:
        await client.close()
    found = {"before_mb": before, "resident_mb": idle, "after_mb": server.resident_mb()}
    rounded = {name: round(value, 1) for name, value in found.items()}
    return {"server": server.name, "world": world, "idle_sessions": IDLE, **rounded}


async def measure(command, servers):
    load = os.getloadavg()
    print(json.dumps({"load": load, "cores": os.cpu_count()}), flush=True)
    for world in WORLDS:
        # A server of its own, whose memory no other sessions have used.
        fresh = start_sentinel(command)
        try:
            print(json.dumps(await measure_idle(fresh, world)), flush=True)
        finally:
            fresh.stop()
    print(json.dumps(await measure_idle(servers[1])), flush=True)
    for sessions in SESSIONS:
        for server in servers:
            print(json.dumps(await measure_steps(server, sessions)), flush=True)
    for server in servers:
        print(json.dumps(await measure_connects(server)), flush=True)
    print(json.dumps({"load": os.getloadavg()}), flush=True)


def main():
    if sys.argv[1] == "--counter":
        return counter_server(int(sys.argv[2]))
    servers = [start_sentinel(sys.argv[1:]), start_counter()]
    try:
        asyncio.run(measure(sys.argv[1:], servers))
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
