"""Child processes of a benchmark: each in its own process group, ended with the driver, read through /proc.

They stay in the driver's session on purpose: the kernel's autogroup scheduling gives every session the same share of the
CPUs, so a session each would let two threads of a proxy together have no more than the one of the load generator."""

import ctypes
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


class BenchError(Exception):
    """Something the user can act on; the text says what."""


def _end_with_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Process:
    """One server or load generator with everything it forks. Ends on `stop` or on leaving a `with`."""

    def __init__(self, name, command, log, stdin=None, stdout=None):
        self.name = name
        self.log = Path(log)
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(
                [str(word) for word in command],
                stdin=stdin or subprocess.DEVNULL,
                stdout=stdout or out,
                stderr=out,
                process_group=0,
                preexec_fn=_end_with_parent,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def pids(self):
        """The process and its descendants, as they are now."""
        children = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # gone meanwhile
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
        tree = [self.popen.pid]
        for pid in tree:
            tree += children.get(pid, [])
        return tree

    def resident_bytes(self):
        total = 0
        for pid in self.pids():
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1]) * 1024
        return total

    def cpu_seconds(self):
        """User and system time so far, of the process without its children."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def settled_bytes(self):
        """Resident memory once it stands still over five looks."""
        seen = []

        def stands_still():
            seen.append(self.resident_bytes())
            return len(seen) >= 5 and len(set(seen[-5:])) == 1

        wait_until(self, "its memory standing still", stands_still)
        return seen[-1]

    def check(self):
        if self.popen.poll() is not None:
            raise BenchError(f"{self.name} ended with status {self.popen.returncode}:\n{self.tail()}")

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])

    def stop(self):
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(5)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)  # what the server left of its group
        except ProcessLookupError:
            pass
        self.popen.wait()


def get(url, timeout=2):
    """Status and body, or (0, b"") while nothing listens."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""
    except OSError:
        return 0, b""


def wait_until(process, what, condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        process.check()
        if time.monotonic() > deadline:
            raise BenchError(f"{process.name}: {what} did not happen in {seconds} s:\n{process.tail()}")
        time.sleep(0.05)


def free_ports(count):
    """First of `count` adjacent ports that are free now, below the range of ephemeral ports."""
    for first in range(20000, 32000 - count, count):
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.socket())
                sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise BenchError(f"no {count} adjacent free ports between 20000 and 32000")
