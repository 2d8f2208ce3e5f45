"""Jobs: scenarios, benchmarks and tools that run as processes of this machine, one at a time.

- `record`: a job on disk, with its log and its result;
- `requests`: from a request to a command line;
- `queue`: starts, watches and cancels them.
"""
