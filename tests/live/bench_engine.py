"""Operations a second of a whole rack in one process."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from tests.live.local_rack import local_rack


def measure(scheme: Any, args: argparse.Namespace) -> dict[str, Any]:
    workload = {
        "writes": args.writes,
        "zipf": args.zipf,
        "arrivals": {"rate": args.rate} if args.rate else {"outstanding": args.outstanding},
    }
    with local_rack(scheme, keys=args.keys, workload=workload, servers=args.servers) as rack:
        if scheme == "netcache":
            rack.cache(rack.hottest(args.entries))
        rack.run(1.0, "warmup")
        cpu = os.times()
        sample = rack.run(args.seconds)
        used = os.times()
        reads = max(1, sample["reads"])
        return {
            "scheme": scheme,
            "ops_per_s": round(sample["completed"] / sample["interval_s"]),
            "hit_ratio": round(sample["hits"] / reads, 3),
            "latency_us": {k: round(v / 1000, 1) for k, v in sample["latency_ns"].items()},
            "lost": sample["lost"],
            "retries": sample["retries"],
            "stale_reads": sample["stale_reads"],
            "cores": round(
                (used.user + used.system - cpu.user - cpu.system) / sample["interval_s"], 2
            ),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", choices=["nocache", "netcache"], action="append")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--entries", type=int, default=1000, help="keys in the switch")
    parser.add_argument("--outstanding", type=int, default=64, help="closed loop")
    parser.add_argument("--rate", type=float, help="open loop, operations a second")
    parser.add_argument("--writes", type=float, default=0.0)
    parser.add_argument("--zipf", type=float, default=0.99)
    args = parser.parse_args()
    for scheme in args.scheme or ["nocache", "netcache"]:
        print(json.dumps(measure(scheme, args)))


if __name__ == "__main__":
    main()
