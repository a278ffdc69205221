"""Many clients at once, with wrk where it is, else with our own."""

import asyncio
import re
import shutil
import subprocess
import time
from dataclasses import dataclass

CLIENTS = 8
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1000.0}


@dataclass(frozen=True, slots=True)
class Load:
    """How a page was served: latencies in milliseconds."""

    requests_per_sec: float
    p50_ms: float
    p99_ms: float
    errors: int


def load(port: int, secs: float, *, gzip: bool, clients: int = CLIENTS) -> Load:
    """Ask for `/metrics` for so many seconds, by so many clients."""
    if shutil.which("wrk"):
        return _by_wrk(port, secs, clients, gzip=gzip)
    return asyncio.run(_by_ourselves(port, secs, clients, gzip=gzip))


def _by_wrk(port: int, secs: float, clients: int, *, gzip: bool) -> Load:
    command = ["wrk", "-t1", f"-c{clients}", f"-d{secs:g}s", "--latency"]
    if gzip:
        command += ["-H", "Accept-Encoding: gzip"]
    url = f"http://127.0.0.1:{port}/metrics"
    done = subprocess.run([*command, url], capture_output=True, text=True, check=True)
    percentiles = {
        share: float(number) * UNITS[unit]
        for share, number, unit in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)", done.stdout)
    }
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    broken = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", done.stdout)
    return Load(
        requests_per_sec=float(rate[1]) if rate else 0.0,
        p50_ms=percentiles["50"],
        p99_ms=percentiles["99"],
        errors=(int(bad[1]) if bad else 0) + (sum(map(int, broken.groups())) if broken else 0),
    )


async def _by_ourselves(port: int, secs: float, clients: int, *, gzip: bool) -> Load:
    head = "GET /metrics HTTP/1.1\r\nHost: node\r\n"
    request = (head + ("Accept-Encoding: gzip\r\n" if gzip else "") + "\r\n").encode()
    until = time.perf_counter() + secs
    each = await asyncio.gather(*(_client(port, request, until) for _ in range(clients)))
    latencies = sorted(latency for client in each for latency in client)
    return Load(
        requests_per_sec=len(latencies) / secs,
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        errors=0,
    )


async def _client(port: int, request: bytes, until: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    latencies = []
    while (began := time.perf_counter()) < until:
        writer.write(request)
        await _read_answer(reader)
        latencies.append(time.perf_counter() - began)
    writer.close()
    return latencies


async def _read_answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = re.search(rb"content-length: (\d+)", head)
    if length:
        await reader.readexactly(int(length[1]))
        return
    while size := int(await reader.readline(), 16):  # chunked, as Go sends long pages
        await reader.readexactly(size + 2)
    await reader.readline()
