// Where a test lets lines go: a file that it reads, and a pipe whose ends it holds.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/scratch_directory.hpp"

namespace smg::test {

inline std::string read_file(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

class Pipe {
 public:
  Pipe() { REQUIRE(pipe2(ends_, O_CLOEXEC) == 0); }
  ~Pipe() {
    close_reader();
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  // The least that the kernel allows.
  void shrink() const { REQUIRE(fcntl(ends_[1], F_SETPIPE_SZ, 4096) > 0); }
  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  // What is there now.
  std::string read_some() const {
    std::string all;
    char bytes[4096];
    pollfd waited{ends_[0], POLLIN, 0};
    while (poll(&waited, 1, 0) > 0) {
      const ssize_t count = read(ends_[0], bytes, sizeof bytes);
      if (count <= 0) break;
      all.append(bytes, static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace smg::test
