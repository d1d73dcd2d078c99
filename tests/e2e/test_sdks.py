"""The official OpenAI SDKs, unmodified, through the gateway to the simulated engine."""
import concurrent.futures
import json
import subprocess

import openai
import pytest

from support import ROOT, SLOW, EngineSim, Gateway

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture(scope="module")
def running():
    with EngineSim(3, "--model", "sim", "--decode-ms", "2") as engines, Gateway(engines.urls) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def client(running):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{running.port}/v1", api_key="k", max_retries=0, timeout=60 * SLOW)


def ask(text="hi"):
    return {"model": "sim", "messages": [{"role": "user", "content": text}]}


def test_models_are_listed(client):
    assert [model.id for model in client.models.list()] == ["sim"]


def test_a_plain_completion(client):
    answer = client.chat.completions.create(**ask(), max_tokens=5)
    assert answer.choices[0].message.content == "every token counts and flows"
    assert answer.usage.completion_tokens == 5


def test_a_streamed_completion_with_usage(client):
    stream = client.chat.completions.create(**ask(), max_tokens=6, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "every token counts and flows on"
    assert chunks[-1].usage.completion_tokens == 6


def test_text_of_many_alphabets_streams_unharmed(client):
    text = "Grüße, 世界! 🚀 नमस्ते"
    stream = client.chat.completions.create(**ask(), stream=True, extra_body={"sim_text": text})
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text


def test_32_streams_at_once(client):
    def one(number):
        text = f"stream number {number} 🚀"
        stream = client.chat.completions.create(**ask(), stream=True, extra_body={"sim_text": text, "sim_interval_ms": 5})
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        assert all(pool.map(one, range(32)))


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls_pass(client, stream):
    answer = client.chat.completions.create(**ask("use a tool"), tools=TOOLS, stream=stream)
    if stream:
        calls = [call for chunk in answer for call in (chunk.choices[0].delta.tool_calls or [])]
        assert calls[0].function.name == "get_weather"
        assert json.loads(calls[0].function.arguments) == {"city": "Paris"}
    else:
        call = answer.choices[0].message.tool_calls[0]
        assert json.loads(call.function.arguments) == {"city": "Paris"}


def test_unknown_fields_reach_the_engine(client):
    answer = client.chat.completions.with_raw_response.create(**ask(), extra_body={"sim_echo": True, "vendor_field": {"a": [1, None]}})
    assert json.loads(json.loads(answer.text)["body"])["vendor_field"] == {"a": [1, None]}


def test_other_apis(client):
    assert client.completions.create(model="sim", prompt="x", max_tokens=2).choices[0].text == "every token"
    assert client.embeddings.create(model="sim", input="x", encoding_format="float").data[0].embedding == [0.1, 0.2, 0.3]
    assert client.responses.create(model="sim", input="x", max_output_tokens=16).output_text.startswith("every") \
        if hasattr(client, "responses") else True


@pytest.mark.parametrize("status, error", [
    (400, openai.BadRequestError), (401, openai.AuthenticationError), (404, openai.NotFoundError),
    (422, openai.UnprocessableEntityError), (429, openai.RateLimitError), (500, openai.InternalServerError)])
def test_an_engines_errors_are_the_sdks_own_exceptions(client, status, error):
    with pytest.raises(error) as caught:
        client.chat.completions.create(**ask(), extra_body={"sim_status": status})
    assert caught.value.status_code == status
    assert caught.value.body["message"] == "simulated failure"


def test_the_gateways_errors_are_the_sdks_own_exceptions(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="none", messages=[{"role": "user", "content": "x"}])
    assert caught.value.body["code"] == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="sim", messages=[])


def test_the_node_sdk(running):
    script = ROOT / "tests" / "e2e" / "node_client.mjs"
    done = subprocess.run(["node", script, f"http://127.0.0.1:{running.port}/v1"], capture_output=True, text=True,
                          timeout=100 * SLOW, env={"PATH": __import__("os").environ["PATH"], "NODE_PATH": str(ROOT / ".cache/node/node_modules"),
                                                   "SMG_NODE_MODULES": str(ROOT / ".cache/node/node_modules")})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith("all well")
