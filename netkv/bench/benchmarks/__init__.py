"""The benchmarks of netkv: each module here has one, `BENCHMARK` (`netkv.bench.benchmark`)."""
