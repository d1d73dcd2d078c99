"""How each proxy under measurement is configured, started and known to be ready."""

import json
import os
import shutil
from pathlib import Path

from processes import BenchError, Process, get, wait_until

TEMPLATES = Path(__file__).parent / "templates"


class Proxy:
    """A kind of proxy. `launch` starts one instance and returns its Process once it serves all engines."""

    def __init__(self, kind, binary, template, arguments, server_line):
        self.kind = kind
        self.binary = binary
        self.template = template
        self.arguments = arguments
        self.server_line = server_line

    def executable(self):
        found = shutil.which(self.binary, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        return Path(found) if found else None

    def launch(self, name, directory, port, metrics_port, engines):
        directory.mkdir(parents=True, exist_ok=True)
        values = {
            "port": port,
            "metrics_port": metrics_port,
            "threads": len(os.sched_getaffinity(0)),
            "files": open_file_limit(),
            "maxconn": (open_file_limit() - 500) // 2,
            "dir": directory,
            "user": "user root;" if os.geteuid() == 0 else "",
            "servers": "\n".join(
                self.server_line.format(i=i, url=url, address=url.removeprefix("http://"))
                for i, url in enumerate(engines)
            ),
        }
        text = (TEMPLATES / self.template).read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", str(value))
        config = directory / self.template
        config.write_text(text)
        command = [self.executable(), *(word.format(config=config, dir=directory) for word in self.arguments)]
        process = Process(name, command, directory / "log")
        try:
            wait_until(process, "becoming ready", lambda: self.ready(port, len(engines)))
        except BaseException:
            process.stop()
            raise
        return process

    def ready(self, port, _engines):
        return get(f"http://127.0.0.1:{port}/health")[0] == 200


class Gateway(Proxy):
    def ready(self, port, engines):
        status, body = get(f"http://127.0.0.1:{port}/readiness")
        return status == 200 and json.loads(body).get("healthy_workers") == engines


def known_proxies(smg_binary):
    return {
        "smg": Gateway(
            "smg", smg_binary, "smg.toml", ["launch", "--config", "{config}"], '[[worker]]\nurl = "{url}"\n'
        ),
        "haproxy": Proxy(
            "haproxy", "haproxy", "haproxy.cfg", ["-db", "-f", "{config}"], "    server engine{i} {address}"
        ),
        "nginx": Proxy(
            "nginx",
            "nginx",
            "nginx.conf",
            ["-p", "{dir}", "-e", "{dir}/nginx-errors.log", "-c", "{config}"],
            "        server {address};",
        ),
    }


def open_file_limit():
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def choose(names, known):
    """The (name, Proxy) pairs to measure. A kind named twice gives two instances, `haproxy` and `haproxy#2`."""
    chosen = []
    for kind in names:
        if kind not in known:
            raise BenchError(f"unknown proxy '{kind}': must be one of {', '.join(known)}")
        earlier = sum(proxy.kind == kind for _, proxy in chosen)
        chosen.append((kind if earlier == 0 else f"{kind}#{earlier + 1}", known[kind]))
    return chosen
