"""A line that says how far a search has come, on terminals and in notebooks."""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional

QUIET_SECONDS = 1.0  # short runs show nothing


def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    return kernel is not None and "zmqshell" in type(kernel).__module__


class Line:
    def __init__(self, out: Any) -> None:
        self._out, self._shown = out, 0

    def __call__(self, progress: dict[str, Any]) -> None:
        if progress["seconds"] < QUIET_SECONDS:
            return
        line = (f"{progress['phase']}: {progress['seconds']:.1f} s, {progress['closed']} branches closed, {progress['open']} open, "
                f"worst bound {progress['worst_bound']:.3g}")
        self._out.write("\r" + line.ljust(self._shown))
        self._out.flush()
        self._shown = len(line)

    def close(self) -> None:
        if self._shown:
            self._out.write("\r" + " " * self._shown + "\r")
            self._out.flush()


def line_for(wanted: Optional[bool]) -> Optional[Line]:
    """Where somebody looks; nothing with wanted=False."""
    if wanted is False or sys.stderr is None:
        return None
    try:
        looked_at = sys.stderr.isatty() or in_notebook()
    except Exception:  # a stranger's stderr
        return None
    return Line(sys.stderr) if looked_at else None


Callback = Callable[[dict[str, Any]], object]
