"""The README's first command, as a newcomer at a terminal runs and ends it."""

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import PRESET, ROOT


def read_until(terminal, text, seconds):
    seen = b""
    deadline = time.monotonic() + seconds
    while text not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"no {text!r} within {seconds} s; seen: {seen.decode(errors='replace')}"
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # the other side is closed
            raise AssertionError(f"ended before {text!r}: {seen.decode(errors='replace')}") from None
    return seen.decode()


def processes_of_session(session):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = stat.read_text().rsplit(")", 1)
        except OSError:
            continue
        if int(fields.split()[3]) == session and fields.split()[0] != "Z":
            found.append(name)
    return found


@pytest.mark.skipif(PRESET != "release", reason="the demo is a release build")
def test_demo_streams_says_where_to_look_and_ends_on_ctrl_c():
    ours, theirs = pty.openpty()
    # As from a shell that lives on: the end of a session's leader throws away what the terminal still holds.
    shell = ["sh", "-c", "trap : INT; ./dev demo; echo exit code $?; read line"]
    demo = subprocess.Popen(shell, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=_session)
    os.close(theirs)
    try:
        seen = read_until(ours, b"Ctrl-C ends the demo", 300)
        for port in (9101, 9102, 9103):
            assert f"<- http://127.0.0.1:{port}" in seen
        for where in ("http://127.0.0.1:30000/v1", ":29000/metrics", ":30000/events"):
            assert where in seen
        os.write(ours, b"\x03")
        assert "stopping" in read_until(ours, b"exit code 0", 30)
        left = processes_of_session(demo.pid)
        assert len(left) == 1 and left[0].endswith("(sh"), left
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
        os.close(ours)


def _session():
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
