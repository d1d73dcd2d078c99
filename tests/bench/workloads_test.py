"""Tests of what the suite `policies` sends and of how it reads answers."""

import json
import sys
import unittest

from chat_client import Answer
from policies_suite import complaints, load_spread, spread
from workloads import CHAT_ANSWER, CHAT_TURNS, DOCUMENTS, WORKLOADS, Request, chat, documents, possible_hit_rate

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def streamed(tokens, last=b"data: [DONE]\n\n"):
    role = chunk(b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n')
    token = chunk(b'data: {"choices":[{"index":0,"delta":{"content":"so "}}]}\n\n')
    return HEAD + role, token * tokens, chunk(last) + b"0\r\n\r\n"


class Workloads(unittest.TestCase):
    def test_the_same_seed_gives_the_same_requests_and_another_seed_others(self):
        for workload in WORKLOADS:
            first, second, other = (workload.make(seed, 3) for seed in (7, 7, 8))
            # Not assertEqual, which would take minutes to describe how megabytes differ.
            self.assertTrue([request.wire() for request in first] == [request.wire() for request in second])
            self.assertFalse([request.due for request in first] == [request.due for request in other])

    def test_requests_come_in_order_within_the_time_and_at_their_rate_from_the_beginning_on(self):
        for workload in WORKLOADS:
            due = [request.due for request in workload.make(1, 20)]
            self.assertTrue(due == sorted(due))
            self.assertTrue(0 <= due[0] and due[-1] < 20)
            half = sum(time < 10 for time in due)
            self.assertAlmostEqual(half / len(due), 0.5, delta=0.1)

    def test_each_turn_of_a_conversation_carries_the_turns_before_it(self):
        conversations = {}
        for request in chat(1, 30):
            conversations.setdefault(request.key, []).append(request)
        followed = 0
        for turns in conversations.values():
            self.assertLessEqual(len(turns), CHAT_TURNS[1])
            for before, after in zip(turns, turns[1:]):
                followed += 1
                self.assertTrue(after.messages[: len(before.messages)] == before.messages)
                self.assertEqual([role for role, _ in after.messages[len(before.messages) :]], ["assistant", "user"])
                self.assertEqual(len(after.messages[-2][1]), 4 * CHAT_ANSWER)
        self.assertGreater(followed, 100)

    def test_some_documents_are_asked_about_far_more_often_than_others(self):
        counts = {}
        for request in documents(1, 60):
            beginning = request.messages[0][1][:400]
            counts[beginning] = counts.get(beginning, 0) + 1
        self.assertLessEqual(len(counts), DOCUMENTS)
        self.assertGreater(max(counts.values()), 10 * min(counts.values()))

    def test_what_could_be_cached_is_what_an_earlier_prompt_begins_with(self):
        once = Request(0, (("user", "a" * 124),), 1)
        longer = Request(1, (("user", "a" * 124 + "b" * 128),), 1)
        other = Request(2, (("user", "c" * 124),), 1)
        self.assertEqual(possible_hit_rate([once, longer], 1), 128 / 256)
        self.assertEqual(possible_hit_rate([once, once], 0), 64 / 256)
        self.assertEqual(possible_hit_rate([once, other], 2), 0)

    def test_a_request_says_its_length_and_its_key(self):
        head, _, body = chat(1, 1)[0].wire().partition(b"\r\n\r\n")
        self.assertIn(b"Content-Length: %d" % len(body), head)
        self.assertIn(b"X-SMG-Routing-Key: conversation-1-", head)
        self.assertTrue(json.loads(body)["stream"])


class Answers(unittest.TestCase):
    def test_an_answer_is_complete_and_its_first_token_seen_however_it_is_cut(self):
        begin, tokens, end = streamed(2)
        whole = begin + tokens + end
        for at in range(1, len(whole)):
            answer = Answer()
            self.assertFalse(answer.add(whole[:at], 1))
            self.assertTrue(answer.add(whole[at:], 2))
            self.assertIsNone(answer.problem(2))
            self.assertIn(answer.first, (1, 2))

    def test_the_event_with_the_role_is_no_token(self):
        begin, tokens, _ = streamed(1)
        answer = Answer()
        answer.add(begin, 1)
        self.assertIsNone(answer.first)
        answer.add(tokens, 2)
        self.assertEqual(answer.first, 2)

    def test_what_is_not_the_answer_asked_for_is_a_problem(self):
        for data, problem in (
            (b"".join(streamed(1)), "1 tokens of 2"),
            (b"".join(streamed(2, b"data: {}\n\n")), "truncated"),
            (b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n{}", "status 503"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "not streamed"),
        ):
            answer = Answer()
            self.assertTrue(answer.add(data, 1))
            self.assertEqual(answer.problem(2), problem)


class Figures(unittest.TestCase):
    def test_a_spread_is_one_when_all_get_the_same_and_the_number_of_engines_when_one_gets_all(self):
        self.assertEqual(spread([5, 5, 5]), 1)
        self.assertEqual(spread([15, 0, 0]), 3)
        self.assertEqual(load_spread([[2, 2], [4, 4]]), 1)
        self.assertEqual(load_spread([[2, 0], [0, 6]]), 2)

    def test_failed_requests_and_a_pile_are_told_of_but_not_where_a_pile_is_what_the_policy_promises(self):
        def told(key, policy, request_spread, problems):
            workload = next(workload for workload in WORKLOADS if workload.key == key)
            return list(complaints(workload, {policy: [{"request_spread": request_spread, "problems": problems}]}))

        self.assertEqual(told("system_low", "least_load", 1.9, {}), [])
        self.assertEqual(len(told("system_low", "least_load", 2.1, {})), 1)
        self.assertEqual(told("system_low", "prefix_hash", 6, {}), [])
        self.assertEqual(told("chat", "least_load", 2.1, {}), [])
        self.assertEqual(len(told("chat", "prefix_hash", 1, {"status 503": 1})), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
