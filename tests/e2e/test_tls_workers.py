"""https workers, each with authorities and a client certificate of its own."""
import json

import pytest

from certificates import Authority, TlsWorker, replace
from support import DEADLINE, EngineSim, Gateway, toml, wait_for
from test_config_reload import applied
from test_workers_api import call, wait_registered, workers

QUICK = "worker_startup_timeout_secs = 2"


def closing(connection, request):
    """Every request makes a new connection."""
    connection.answer(headers=[("connection", "close")])


def table(worker, **tls):
    url = worker if isinstance(worker, str) else worker.url
    keys = ", ".join(f"{key} = {toml([str(path) for path in value] if isinstance(value, list) else str(value))}" for key, value in tls.items())
    return f'[[worker]]\nurl = "{url}"\ntls = {{ {keys} }}\n'


def identity(pair):
    return {"client_cert_path": pair[0], "client_key_path": pair[1]}


def as_json(**tls):
    return {key: [str(path) for path in value] if isinstance(value, list) else str(value) for key, value in tls.items()}


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    place = tmp_path_factory.mktemp("certificates")
    return Authority(place, "one"), Authority(place, "two")


def failure(running, worker_id):
    """What the job that adds the worker fails with."""
    def job():
        shown = call(running, "GET", f"/workers/{worker_id}")[2].get("job_status", {})
        return shown.get("status") == "failed" and shown["message"]
    return wait_for(job, "the job to fail", 2 * DEADLINE)


def post(running, url, **tls):
    status, _, body = call(running, "POST", "/workers", {"url": url, "tls": as_json(**tls)})
    assert status == 202, body
    return body["worker_id"]


def test_engines_of_different_authorities_are_served_side_by_side(authorities):
    engines = []
    try:
        for authority in authorities:
            cert, key = authority.issue("engine")
            engines.append(EngineSim(1, "--model", "m", "--tls-cert", cert, "--tls-key", key))
        extra = "".join(table(engine.urls[0], ca_cert_paths=[authority.certificate]) for engine, authority in zip(engines, authorities))
        with Gateway([], extra, ready=False) as running:
            running.wait_ready(2)
            served = {running.chat(max_tokens=2)[1]["x-smg-routed-worker-id"] for _ in range(6)}
            assert served == {engine.urls[0] for engine in engines}
            shown = {worker["url"]: worker["tls"] for worker in workers(running)["workers"]}
            assert shown == {engine.urls[0]: {"ca_cert_paths": [str(authority.certificate)]} for engine, authority in zip(engines, authorities)}
    finally:
        for engine in engines:
            engine.__exit__()


def test_an_engine_of_another_authority_is_not_taken_in(authorities):
    one, two = authorities
    with TlsWorker(two.issue("engine")) as worker, Gateway([], server=QUICK, ready=False) as running:
        running.wait_listening()
        message = failure(running, post(running, worker.url, ca_cert_paths=[one.certificate]))
        assert "the certificate is refused" in message, message
        assert workers(running)["total"] == 0 and not worker.visitors
        post(running, worker.url, ca_cert_paths=[one.certificate, two.certificate])
        wait_registered(running, worker.url)
        assert running.chat()[0] == 200


def test_each_worker_is_shown_its_own_client_certificate(authorities):
    one, two = authorities
    engine = one.issue("engine")
    with TlsWorker(engine, one.certificate) as first, TlsWorker(engine, two.certificate) as second, Gateway([], ready=False) as running:
        running.wait_listening()
        for worker, authority in ((first, one), (second, two)):
            post(running, worker.url, ca_cert_paths=[one.certificate], **identity(authority.issue(f"gateway of {authority.name}")))
            wait_registered(running, worker.url)
        assert {running.chat()[1]["x-smg-routed-worker-id"] for _ in range(4)} == {first.url, second.url}
        assert set(first.visitors) == {"gateway of one"} and set(second.visitors) == {"gateway of two"}
        # What is in the files is shown nowhere, where they are is.
        key = (two.directory / "two-gateway of two.key").read_text().splitlines()[1]
        listing = running.get("/workers")[2].decode()
        assert "two-gateway of two.key" in listing
        for text in (listing, running.metrics(), running.log_path.read_text()):
            assert key not in text


def test_files_that_cannot_be_used_fail_the_registration(authorities):
    one, two = authorities
    with TlsWorker(one.issue("engine")) as worker, Gateway([], ready=False) as running:
        running.wait_listening()
        missing = one.directory / "nowhere.pem"
        message = failure(running, post(running, worker.url, ca_cert_paths=[missing]))
        assert message == (f"worker {worker.url}: cannot use `{missing}` as ca_file (of one worker: tls.ca_cert_paths): No such file or directory; "
                           "it must be a readable PEM file")
        pair = one.issue("a")[0], one.issue("b")[1]
        assert "key values mismatch" in failure(running, post(running, worker.url, **identity(pair)))
        assert workers(running)["total"] == 0 and not worker.visitors


@pytest.mark.parametrize("spec, status, reason", [
    ({"url": "http://127.0.0.1:1", "tls": {"ca_cert_paths": ["/a.pem"]}}, 400, "is for https workers only"),
    ({"url": "https://127.0.0.1:1", "tls": {"client_cert_path": "/a.pem"}}, 400, "set both or none"),
    ({"url": "https://127.0.0.1:1", "tls": {"ca_cert_paths": "/a.pem"}}, 422, "tls.ca_cert_paths: is a string, must be an array"),
])
def test_wrong_bodies(idle, spec, status, reason):
    got, _, text = idle.post("/workers", json.dumps(spec))
    assert got == status and reason in text.decode(), text


@pytest.fixture(scope="module")
def idle():
    with Gateway([], ready=False) as running:
        running.wait_listening()
        yield running


def test_renewed_files_are_taken_up_without_a_failed_request(authorities, tmp_path):
    one, two = authorities
    identity_now = tmp_path / "client.pem", tmp_path / "client.key"
    trusted = tmp_path / "ca.pem"

    def put(authority, name):
        for path, source in zip(identity_now, authority.issue(name)):
            replace(path, source)

    put(one, "first")
    replace(trusted, one.certificate)
    with TlsWorker(one.issue("engine"), one.certificate, script=closing) as worker, Gateway([], "[circuit_breaker]\ndisabled = true\n", ready=False) as running:
        running.wait_listening()
        post(running, worker.url, ca_cert_paths=[trusted], **identity(identity_now))
        wait_registered(running, worker.url)
        for name in ("second", "third"):
            put(one, name)
            wait_for(lambda: running.chat()[0] == 200 and worker.visitors[-1] == name, f"{name} to be shown")
        # A half pair is not taken up, and hurts nobody.
        replace(identity_now[0], one.issue("fourth")[0])
        wait_for(lambda: running.chat()[0] == 200 and "not taken up" in running.log_path.read_text(), "the warning")
        replace(identity_now[1], one.directory / "one-fourth.key")
        wait_for(lambda: running.chat()[0] == 200 and worker.visitors[-1] == "fourth", "fourth to be shown")
        # Those who are trusted no longer are met by no new connection.
        replace(trusted, two.certificate)
        wait_for(lambda: running.chat()[0] != 200, "the engine to be refused")
        replace(trusted, one.certificate)
        wait_for(lambda: running.chat()[0] == 200, "the engine to be served again")
        assert running.metric("smg_http_responses_total", http_status="500") == 0


def test_a_reload_gives_a_worker_another_identity(authorities):
    one, _ = authorities
    first, second = one.issue("before"), one.issue("after")
    with TlsWorker(one.issue("engine"), one.certificate) as worker:
        extra = table(worker, ca_cert_paths=[one.certificate], **identity(first))
        with Gateway([], extra, ready=False, args=("--no-watch-config",)) as running:
            running.wait_ready(1)
            assert running.chat()[0] == 200 and worker.visitors[-1] == "before"
            text = running.config.read_text().replace(str(first[0]), str(second[0])).replace(str(first[1]), str(second[1]))
            assert applied(running, text)["workers"]["changed"] == [worker.url]
            wait_for(lambda: running.chat()[0] == 200 and worker.visitors[-1] == "after", "the new identity")
