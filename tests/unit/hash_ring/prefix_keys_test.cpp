// Sections 6.7 and 10.B of the policies page: the keys of a request, and the limit of loads.
#include "prefix_keys.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "hash64.hpp"
#include "load_limit.hpp"

using namespace prefix_hash;

namespace {

using Keys = std::vector<PrefixKey>;

struct Asked {
  std::string routing_key = {};
  std::vector<std::uint32_t> tokens = {};
  std::string text = {};
};

Keys keys_of(const Asked& asked, std::vector<std::uint32_t> boundaries = {},
             std::uint64_t prefix_tokens = 256) {
  smg_policy_request request{};
  request.routing_key = smg::view(asked.routing_key);
  request.tokens = asked.tokens.data();
  request.token_count = asked.tokens.size();
  request.text = smg::view(asked.text);
  PrefixKeys keys(smg::Request(request), {prefix_tokens, boundaries});
  Keys all;
  while (const auto key = keys.next()) all.push_back(*key);
  CHECK_FALSE(keys.next());
  return all;
}

std::vector<std::uint32_t> count_to(std::uint32_t last) {
  std::vector<std::uint32_t> tokens(last);
  std::iota(tokens.begin(), tokens.end(), 1u);
  return tokens;
}

}  // namespace

TEST_CASE("policies B1-B4, B8: what the key of a request is the hash of") {
  CHECK(keys_of({.tokens = count_to(10)}) == Keys{{0xbf80870f3fe52883u, 0}});
  CHECK(keys_of({.tokens = count_to(5)}) == Keys{{0xf2f19a6764b86d62u, 0}});
  CHECK(keys_of({.text = "hello world"}) == Keys{{0xd447b1ea40e6988bu, 0}});
  CHECK(keys_of({.routing_key = "user-123", .tokens = count_to(10), .text = "text"}, {4}) ==
        Keys{{0xfc4b76c4e4777e39u, 0}});
  CHECK(keys_of({.tokens = std::vector<std::uint32_t>(300, 7)}) == Keys{{0xb4dbf7056e00859cu, 0}});
  CHECK(keys_of({}).empty());
  CHECK(keys_of({}, {4}).empty());
}

TEST_CASE("policies B9, B10: one key for each boundary that is reached, the deepest first") {
  const PrefixKey at_8{0xf4c3a04d9a059938u, 8};
  const PrefixKey at_4{0x6fc1ebd4f4d6ea31u, 4};
  CHECK(keys_of({.tokens = count_to(12)}, {4, 8}) == Keys{at_8, at_4});
  CHECK(keys_of({.tokens = count_to(8)}, {4, 8, 9}) == Keys{at_8, at_4});
  CHECK(keys_of({.tokens = count_to(7)}, {4, 8}) == Keys{at_4});
  CHECK(keys_of({.tokens = count_to(3)}, {4, 8}) == Keys{{smg::hash64(count_to(3)), 0}});
  CHECK(keys_of({.tokens = count_to(30)}, {64}, 5) == Keys{{0xf2f19a6764b86d62u, 0}});
}

TEST_CASE("text counts four characters for a token, and is cut between characters") {
  std::string text = {};
  for (int i = 0; i < 40; ++i)
    text += "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";  // 4 characters, 10 bytes
  const auto hash_of = [&](std::size_t tokens) { return smg::hash64(text.substr(0, 10 * tokens)); };
  CHECK(keys_of({.text = text}, {}, 3) == Keys{{hash_of(3), 0}});
  CHECK(keys_of({.text = text}, {}, 39) == Keys{{hash_of(39), 0}});
  CHECK(keys_of({.text = text}) == Keys{{smg::hash64(text), 0}});
  CHECK(keys_of({.text = text}, {2, 17, 40, 41}) ==
        Keys{{hash_of(40), 40}, {hash_of(17), 17}, {hash_of(2), 2}});
  CHECK(keys_of({.text = text.substr(0, 20 - 4)}, {2}, 1) == Keys{{hash_of(1), 0}});
  CHECK(keys_of({.text = text.substr(0, 20)}, {2}, 1) == Keys{{hash_of(2), 2}});
  // Long runs are counted in blocks: every length, so that blocks end anywhere in a character.
  for (std::size_t pad = 0; pad < 130; ++pad) {
    const std::string padded = std::string(pad, 'x') + text;
    const std::size_t characters = 4 * 33;
    const std::size_t in_text = characters > pad ? characters - pad : 0;
    static constexpr std::size_t kBytes[] = {0, 1, 3, 6};
    const std::size_t bytes = std::min(pad, characters) + in_text / 4 * 10 + kBytes[in_text % 4];
    CHECK(keys_of({.text = padded}, {}, 33) == Keys{{smg::hash64(padded.substr(0, bytes)), 0}});
  }
}

TEST_CASE("tokens go before text") {
  CHECK(keys_of({.tokens = count_to(5), .text = "hello world"}) == Keys{{0xf2f19a6764b86d62u, 0}});
}

TEST_CASE("policies B5-B7, B10: limits") {
  const LoadLimit limit;
  CHECK(limit.of(13, 3) == doctest::Approx(14.667).epsilon(0.0001));
  CHECK(limit.allows(13, 13, 3));
  CHECK(limit.of(17, 3) == 16);
  CHECK_FALSE(limit.allows(17, 17, 3));
  CHECK(limit.of(24, 3) == doctest::Approx(18.333).epsilon(0.0001));
  CHECK_FALSE(limit.allows(20, 24, 3));
  CHECK(limit.of(40, 3) == doctest::Approx(23.667).epsilon(0.0001));
  CHECK(limit.of(299, 3) == 125);  // the factor decides where the mean is large
  CHECK(LoadLimit{1, 0}.allows(0, 0, 3));
}

TEST_CASE("the limit never falls when the total rises") {
  for (const LoadLimit& limit : {LoadLimit{}, LoadLimit{1, 0}, LoadLimit{3, 1}}) {
    for (std::uint64_t workers : {1u, 3u, 7u, 10'000u}) {
      for (std::uint64_t total = 0; total < 3000; ++total) {
        CHECK(limit.of(total, workers) <= limit.of(total + 1, workers));
      }
    }
  }
}
