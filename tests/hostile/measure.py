"""Runs a command and tells a file descriptor its exit status and its peak memory in KiB.

A process of its own, since a child's peak begins with that of whoever started it.
"""

from __future__ import annotations

import os
import subprocess
import sys

if __name__ == "__main__":
    child = subprocess.Popen(sys.argv[2:])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    os.write(int(sys.argv[1]), b"%d %d" % (child.returncode, usage.ru_maxrss))
