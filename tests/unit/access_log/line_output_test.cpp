#include "host/line_output.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "outputs.hpp"

using namespace smg;
using test::Pipe;
using test::read_file;
using test::ScratchDirectory;

namespace {

std::string lines(std::size_t count, const std::string& line = "line\n") {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += line;
  return all;
}

}  // namespace

TEST_CASE("lines arrive as they are, in pipes, sockets and files") {
  const std::string text = lines(200, std::string(99, 'x') + "\n");
  Pipe pipe;
  CHECK(LineOutput::of(pipe.writer())->write(text) == 0);
  CHECK(pipe.read_some() == text);

  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(LineOutput::of(ends[0])->write(text) == 0);
  std::string got(text.size(), 0);
  CHECK(recv(ends[1], got.data(), got.size(), MSG_DONTWAIT) == static_cast<ssize_t>(text.size()));
  CHECK(got == text);
  close(ends[0]);
  close(ends[1]);

  ScratchDirectory scratch;
  std::string error;
  const auto file = LineOutput::file(scratch / "access.log", error);
  REQUIRE_MESSAGE(file != nullptr, error);
  CHECK(file->write(text) == 0);
  CHECK(read_file(scratch / "access.log") == text);
}

TEST_CASE("a pipe that nobody reads loses what does not fit, after a second and then at once") {
  Pipe pipe;
  pipe.shrink();
  const auto output = LineOutput::of(pipe.writer());
  const auto begun = std::chrono::steady_clock::now();
  const std::uint64_t lost = output->write(lines(10'000));
  const auto waited = std::chrono::steady_clock::now() - begun;
  CHECK(waited >= std::chrono::milliseconds(LineOutput::kPatience));
  CHECK(lost > 0);
  const auto again = std::chrono::steady_clock::now();
  CHECK(output->write(lines(10)) == 10);
  CHECK(std::chrono::steady_clock::now() - again <
        std::chrono::milliseconds(LineOutput::kPatience));
  CHECK(pipe.read_some() == lines(10'000 - lost));
  // A reader is there again.
  CHECK(output->write(lines(3)) == 0);
  CHECK(pipe.read_some() == lines(3));
}

TEST_CASE("the descriptor goes on to block for those that share it") {
  Pipe pipe;
  const auto output = LineOutput::of(pipe.writer());
  CHECK((fcntl(pipe.writer(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a line that broke off is closed before the next one") {
  Pipe pipe;
  pipe.shrink();
  const auto output = LineOutput::of(pipe.writer());
  const std::string huge = std::string(20'000, 'x') + "\n";
  CHECK(output->write(huge) == 1);
  const std::string broken = pipe.read_some();
  CHECK(broken == std::string(broken.size(), 'x'));
  CHECK(output->write("next\n") == 0);
  CHECK(pipe.read_some() == "\nnext\n");
}

TEST_CASE("a pipe without a reader loses lines and harms nobody") {
  signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  const auto output = LineOutput::of(pipe.writer());
  pipe.close_reader();
  CHECK(output->write(lines(7)) == 7);
}

TEST_CASE("a file that was moved is made anew") {
  ScratchDirectory scratch;
  std::string error;
  const auto file = LineOutput::file(scratch / "access.log", error);
  REQUIRE_MESSAGE(file != nullptr, error);
  CHECK(file->write("one\n") == 0);
  std::filesystem::rename(scratch / "access.log", scratch / "access.log.1");
  CHECK(file->write("two\n") == 0);
  CHECK(read_file(scratch / "access.log.1") == "one\n");
  CHECK(read_file(scratch / "access.log") == "two\n");
}

TEST_CASE("a moved file is written on while no new one can be made") {
  ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "log");
  std::string error;
  const auto file = LineOutput::file(scratch / "log/access.log", error);
  REQUIRE_MESSAGE(file != nullptr, error);
  std::filesystem::rename(scratch / "log", scratch / "elsewhere");
  CHECK(file->write("one\n") == 0);
  CHECK(read_file(scratch / "elsewhere/access.log") == "one\n");
}

TEST_CASE("a full disk loses lines") {
  std::string error;
  const auto file = LineOutput::file("/dev/full", error);
  REQUIRE_MESSAGE(file != nullptr, error);
  CHECK(file->write(lines(5)) == 5);
}

TEST_CASE("a file that cannot be opened is told with its name and the reason") {
  ScratchDirectory scratch;
  std::string error;
  CHECK(LineOutput::file(scratch / "no/access.log", error) == nullptr);
  CHECK(error == scratch / "no/access.log" + " cannot be written: No such file or directory");
}
