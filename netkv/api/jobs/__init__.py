"""Jobs: scenarios, benchmarks and tools that run as processes of this machine, one at a time.

- `record`: a job on disk, with its log and its result;
- `requests`: from a request for a scenario to a command line;
- `commands`: the same for other commands, which `benchmarks` and `tools` name;
- `queue`: starts, watches and cancels them.
"""
