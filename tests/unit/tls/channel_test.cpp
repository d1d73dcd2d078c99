// Bytes in and out once a connection stands, and how it ends.
#include "fixture.hpp"

using namespace smg::test;
using State = smg::Channel::State;

namespace {

struct Connected : Fixture {
  Connected() { REQUIRE(line.connect()); }
  Line line{tls.get()};
};

}  // namespace

TEST_CASE_FIXTURE(Connected, "many records that came together are all read on one event") {
  std::string said;
  for (int i = 0; i < 200; ++i) {
    line.client.write("record " + std::to_string(i) + "\n");
    said += "record " + std::to_string(i) + "\n";
  }
  line.client.speak();
  smg::Channel::Outcome last{};
  CHECK(line.hear(16384, &last) == said);
  CHECK(line.hear() == "");
  line.client.write("more");
  line.client.speak();
  CHECK(line.hear() == "more");
}

TEST_CASE_FIXTURE(Connected,
                  "a record larger than the room is read to its end before it is drained") {
  const std::string said(16'000, 'x');
  line.client.write(said);
  line.client.speak();
  smg::Channel::Outcome last{};
  CHECK(line.hear(7, &last) == said);
  CHECK(last.state == State::moved);
  CHECK(last.drained);
}

TEST_CASE_FIXTURE(Connected, "half a record is not taken for drained data, and its rest is read") {
  line.client.write("first");
  line.client.write("second");
  const auto half = line.client.speak(40);
  CHECK(line.hear() == "first");
  CHECK(half == 40);
  line.client.speak();
  CHECK(line.hear() == "second");
}

TEST_CASE_FIXTURE(Connected,
                  "what the socket does not take is taken up again, from wherever it lies") {
  line.shrink();
  std::string said;
  for (int i = 0; said.size() < 1'000'000; ++i) said += std::to_string(i) + ' ';
  std::string heard;
  std::string left = said;
  int blocked = 0;
  for (int turns = 0; !left.empty(); ++turns) {
    REQUIRE(turns < 100'000);
    std::string moved(left);  // the same bytes at another address
    const std::size_t cut =
        std::min<std::size_t>(moved.size(), 1 + static_cast<std::size_t>(turns));
    const auto outcome = line.channel.write(std::string_view(moved).substr(0, cut),
                                            std::string_view(moved).substr(cut));
    if (outcome.state == State::blocked) {
      ++blocked;
      CHECK(outcome.bytes == 0);
    } else {
      REQUIRE(outcome.state == State::moved);
    }
    left.erase(0, outcome.bytes);
    if (turns % 3 == 0) {
      line.client.listen();
      heard += line.client.read();
    }
  }
  line.client.listen();
  heard += line.client.read();
  CHECK((heard == said));
  CHECK(blocked > 0);
}

TEST_CASE_FIXTURE(Connected, "a client that says goodbye has closed, and may still be answered") {
  line.client.write("last words");
  SSL_shutdown(line.client.ssl());
  line.client.speak();
  smg::Channel::Outcome last{};
  CHECK(line.hear(16384, &last) == "last words");
  CHECK(last.state == State::closed);
  CHECK(line.channel.write("answer").bytes == 6);
  line.client.listen();
  CHECK(line.client.read() == "answer");
}

TEST_CASE_FIXTURE(Connected, "a client that goes without a word has closed as well") {
  line.client.write("last words");
  line.client.speak();
  shutdown(line.client.fd(), SHUT_WR);
  CHECK(line.hear() == "last words");
  smg::Channel::Outcome last{};
  line.hear(64, &last);
  CHECK(last.state == State::closed);
}

TEST_CASE_FIXTURE(Connected, "an end is told as one, and what still comes is read") {
  CHECK(line.channel.write("answer").bytes == 6);
  CHECK(line.channel.shutdown_write());
  CHECK(line.channel.shutdown_write());
  CHECK_FALSE(line.client.listen());
  bool ended = false;
  CHECK(line.client.read(&ended) == "answer");
  CHECK(ended);
  line.client.write("too late");
  line.client.speak();
  CHECK(line.hear() == "too late");
}

TEST_CASE_FIXTURE(Connected, "an end that the socket has no room for is told when there is") {
  line.shrink();
  std::string heap(1'000'000, 'x');
  std::size_t taken = 0;
  for (;;) {
    const auto outcome = line.channel.write(std::string_view(heap).substr(taken));
    if (outcome.state == State::blocked) break;
    taken += outcome.bytes;
  }
  // The record that waits goes first.
  line.client.listen();
  const std::string rest = heap.substr(taken);
  taken += line.channel.write(rest).bytes;
  std::string heard = line.client.read();
  bool told = line.channel.shutdown_write();
  for (int i = 0; i < 1000 && !told; ++i) {
    line.client.listen();
    told = line.channel.shutdown_write();
  }
  CHECK(told);
}

TEST_CASE_FIXTURE(Connected, "a cut is told from an end") {
  CHECK(line.channel.write("half of").bytes == 7);
  line.cut();
  CHECK_FALSE(line.client.listen());
  bool ended = true;
  CHECK(line.client.read(&ended) == "half of");
  CHECK_FALSE(ended);
}

TEST_CASE_FIXTURE(Connected, "writing to a client that is gone fails, without a signal") {
  line.hang_up();
  State state = State::moved;
  for (int i = 0; i < 10 && state == State::moved; ++i) state = line.channel.write("anyone?").state;
  CHECK(state == State::failed);
  char room[16];
  CHECK(line.channel.read(room, sizeof room).state != State::moved);
  line.channel.say_goodbye();
}

TEST_CASE_FIXTURE(Connected, "a record that was tampered with ends the connection") {
  line.client.write("money");
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(line.client.ssl()), &bytes);
  REQUIRE(size > 8);
  bytes[size - 1] = static_cast<char>(bytes[size - 1] ^ 1);
  line.client.speak();
  smg::Channel::Outcome last{};
  CHECK(line.hear(64, &last).empty());
  CHECK(last.state == State::failed);
}

TEST_CASE_FIXTURE(Connected, "keys may be changed under way") {
  SSL_key_update(line.client.ssl(), SSL_KEY_UPDATE_REQUESTED);
  line.client.write("new key");
  line.client.speak();
  CHECK(line.hear() == "new key");
  CHECK(line.channel.write("same here").bytes == 9);
  line.client.listen();
  CHECK(line.client.read() == "same here");
}

TEST_CASE("without TLS the channel is the socket") {
  Line line(nullptr);
  CHECK_FALSE(line.channel.is_tls());
  CHECK_FALSE(line.channel.handshaking());
  CHECK_FALSE(line.channel.verified_client());
  char room[8];
  CHECK(line.channel.read(room, sizeof room).state == State::blocked);
  REQUIRE(send(line.client.fd(), "12345678", 8, 0) == 8);
  auto outcome = line.channel.read(room, sizeof room);
  CHECK(outcome.bytes == 8);
  CHECK_FALSE(outcome.drained);  // there might be more
  REQUIRE(send(line.client.fd(), "123", 3, 0) == 3);
  outcome = line.channel.read(room, sizeof room);
  CHECK(outcome.bytes == 3);
  CHECK(outcome.drained);
  CHECK(line.channel.write("ab", "cd").bytes == 4);
  CHECK(line.channel.shutdown_write());
  CHECK(recv(line.client.fd(), room, sizeof room, 0) == 4);
  CHECK(recv(line.client.fd(), room, sizeof room, 0) == 0);
  line.hang_up();
  CHECK(line.channel.read(room, sizeof room).state == State::closed);
  CHECK(line.channel.write("x").state == State::failed);
}
