"""One gateway under measurement: its configuration, its metrics and what it uses."""

import json
import os
import re
from pathlib import Path

from processes import Process, free_ports, get, wait_until

_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Gateway:
    """Ends on leaving a `with`."""

    def __init__(self, args, directory, workers, arguments, sections=""):
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_ports(2)
        self.metrics_port = self.port + 1
        text = f'[server]\nhost = "127.0.0.1"\nport = {self.port}\n\n'
        text += f'[metrics]\nhost = "127.0.0.1"\nport = {self.metrics_port}\n\n{sections}\n'
        text += "".join(f'[[worker]]\nurl = "{url}"\n' for url in workers)
        config = directory / "smg.toml"
        config.write_text(text)
        command = [args.smg or args.build / "bin/smg", "launch", "--config", config, *arguments]
        self.process = Process("smg", command, directory / "log")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    def wait_ready(self, count, seconds=30):
        def ready():
            status, body = get(f"http://127.0.0.1:{self.port}/readiness")
            return status == 200 and json.loads(body).get("healthy_workers") == count

        wait_until(self.process, f"{count} workers becoming ready", ready, seconds)

    def samples(self):
        """Every sample as (name, labels as they are written, value)."""
        status, body = get(f"http://127.0.0.1:{self.metrics_port}/metrics", 30)
        assert status == 200
        for line in body.decode().splitlines():
            if found := _SAMPLE.match(line):
                yield found[1], found[2] or "", float(found[3])

    def metric(self, name, **labels):
        """Sum of the samples of that name that have these labels."""
        return sum(
            value
            for found, written, value in self.samples()
            if found == name and labels.items() <= dict(_LABEL.findall(written)).items()
        )

    def series(self, name, fits):
        """How many samples of that name have a value that `fits`."""
        return sum(found == name and fits(value) for found, _, value in self.samples())

    def failed_reports(self):
        return self.metric("smg_load_reports_total") - self.metric("smg_load_reports_total", result="ok")

    def cpu_seconds(self):
        return self.process.cpu_seconds()

    def usage(self):
        """Resident bytes, open descriptors and threads."""
        pid = self.process.popen.pid
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024, self.descriptors(), len(os.listdir(f"/proc/{pid}/task"))
        return 0, 0, 0  # it has just ended

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.popen.pid}/fd"))
