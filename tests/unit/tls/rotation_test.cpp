// Certificate files: what is wrong with them, and what happens when they change.
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fixture.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace smg::test;
namespace fs = std::filesystem;

namespace {

// The log's lines while it lives.
struct Captured {
  Captured() : before(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "t", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(logger);
  }
  ~Captured() { spdlog::set_default_logger(before); }
  std::size_t lines(std::string_view part) const {
    const std::string all = text.str();
    std::size_t count = 0;
    for (auto at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++count;
    return count;
  }
  std::ostringstream text;
  std::shared_ptr<spdlog::logger> before;
};

// A pair of files that the test replaces.
struct Place {
  Place() {
    put_certificate("a");
    put_key("a");
  }
  void put_certificate(const std::string& name) const {
    put(certificates().certificate(name), "tls.crt");
  }
  void put_key(const std::string& name) const { put(certificates().key(name), "tls.key"); }
  void put(const std::string& from, const std::string& to) const {
    fs::copy_file(from, directory / "new");
    fs::rename(directory / "new", directory / to);
  }
  smg::Tls files(const std::string& client_ca = {}) const {
    return {(directory / "tls.crt").string(), (directory / "tls.key").string(), client_ca};
  }
  const smg::test::ScratchDirectory scratch;
  const fs::path& directory = scratch.path();
};

struct Rotating : Captured, Place, Gauges {
  Rotating() {
    std::string error;
    tls = smg::ServerTls::make(files(), families, error);
    REQUIRE_MESSAGE(tls != nullptr, error);
  }
  // As many looks as it takes to see that the files no longer change.
  void settle() const {
    tls->look();
    tls->look();
  }
  std::string served() const {
    Line line(tls.get());
    REQUIRE(line.connect());
    return line.client.peer_name();
  }
  std::unique_ptr<smg::ServerTls> tls;
};

std::string refusal(const smg::Tls& files) {
  Gauges gauges;
  std::string error;
  CHECK(smg::ServerTls::make(files, gauges.families, error) == nullptr);
  return error;
}

bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  CHECK_MESSAGE(found, text);
  return found;
}

}  // namespace

TEST_CASE("files that cannot be used are named, with the reason and what they must be") {
  const Certificates& all = certificates();
  const std::string nowhere = all.directory() + "/nowhere.pem";
  smg::Tls files = files_of("a");
  files.cert_path = nowhere;
  has(refusal(files),
      "tls.cert_path = \"" + nowhere + "\": No such file or directory; it must name");
  files = files_of("a");
  files.key_path = nowhere;
  has(refusal(files), "tls.key_path = \"" + nowhere + "\": No such file or directory");
  files = files_of("a");
  files.client_ca_path = nowhere;
  has(refusal(files), "tls.client_ca_path = \"" + nowhere + "\": No such file or directory");
  files = files_of("a");
  files.key_path = all.key("b");
  has(refusal(files), "tls.key_path = \"" + files.key_path + "\": key values mismatch");
  files = files_of("a");
  files.cert_path = all.key("a");
  has(refusal(files), "tls.cert_path = \"" + files.cert_path + "\": no start line");
  files = files_of("a");
  files.key_path = all.certificate("a");
  has(refusal(files), "tls.key_path = ");
  files = files_of("a");
  files.cert_path = all.directory();
  has(refusal(files), "is no regular file");
  files = files_of("a");
  files.client_ca_path = all.key("a");
  has(refusal(files), "tls.client_ca_path = ");
}

TEST_CASE("a key that needs a password is refused, nobody is asked for it") {
  const std::string locked = certificates().directory() + "/locked.key";
  REQUIRE(std::system(("openssl ec -aes128 -passout pass:secret -in " + certificates().key("a") +
                       " -out " + locked + " 2>/dev/null")
                          .c_str()) == 0);
  smg::Tls files = files_of("a");
  files.key_path = locked;
  const std::string error = refusal(files);
  has(error, "tls.key_path = \"" + locked + "\"");
  has(error, "without a password");
}

TEST_CASE("a certificate that has expired is served, with a warning and its date in the metrics") {
  const Captured log;
  Fixture fixture(files_of("old"));
  CHECK(log.lines("warning tls.cert_path = \"" + certificates().certificate("old") +
                  "\": the certificate has expired on ") == 1);
  const double expiry = fixture.families.tls_certificate_expiry.value();
  CHECK(expiry < static_cast<double>(std::time(nullptr)));
  CHECK(expiry > static_cast<double>(std::time(nullptr) - 3 * 86'400));
}

TEST_CASE_FIXTURE(Rotating,
                  "new files are served once two looks see the same, by new connections") {
  Line early(tls.get());
  REQUIRE(early.connect());
  settle();
  CHECK(reloads("applied") == 0);
  put_certificate("b");
  put_key("b");
  tls->look();
  CHECK(served() == "a");
  tls->look();
  CHECK(served() == "b");
  CHECK(reloads("applied") == 1);
  settle();
  CHECK(reloads("applied") == 1);
  early.client.write("still here");
  early.client.speak();
  CHECK(early.hear() == "still here");
  CHECK(early.channel.write("as am I").bytes == 7);
  early.client.listen();
  CHECK(early.client.read() == "as am I");
}

TEST_CASE_FIXTURE(Rotating, "one half of a pair changes nothing, and is told once") {
  put_certificate("b");
  settle();
  CHECK(served() == "a");
  CHECK(reloads("failed") == 1);
  for (int i = 0; i < 100; ++i) tls->look();
  CHECK(reloads("failed") == 1);
  CHECK(lines("warning certificate of the listener not read anew") == 1);
  put_key("b");
  settle();
  CHECK(served() == "b");
  CHECK(reloads("applied") == 1);
}

TEST_CASE_FIXTURE(Rotating, "files that go, or are half written, leave the ones before in use") {
  fs::remove(directory / "tls.crt");
  settle();
  CHECK(served() == "a");
  std::ofstream(directory / "tls.crt") << "-----BEGIN CERTIFICATE-----\nMIIB";
  settle();
  CHECK(served() == "a");
  std::ofstream(directory / "tls.crt", std::ios::trunc).flush();
  settle();
  CHECK(served() == "a");
  CHECK(reloads("failed") == 3);
  put_certificate("a");
  settle();
  CHECK(served() == "a");
  CHECK(reloads("applied") == 1);
}

TEST_CASE("a link that is turned to other files is followed") {
  const Place place;
  const fs::path link = place.directory / "current";
  for (const char* name : {"a", "b"}) {
    fs::create_directory(place.directory / name);
    fs::copy_file(certificates().certificate(name), place.directory / name / "tls.crt");
    fs::copy_file(certificates().key(name), place.directory / name / "tls.key");
  }
  fs::create_directory_symlink("a", link);
  Fixture fixture({(link / "tls.crt").string(), (link / "tls.key").string(), {}});
  fs::create_directory_symlink("b", place.directory / "next");
  fs::rename(place.directory / "next", link);
  fixture.tls->look();
  fixture.tls->look();
  Line line(fixture.tls.get());
  REQUIRE(line.connect());
  CHECK(line.client.peer_name() == "b");
}

TEST_CASE_FIXTURE(Rotating, "who asks has the files read at once, and is told every time") {
  put_certificate("b");
  tls->read_now();
  tls->read_now();
  CHECK(reloads("failed") == 2);
  put_key("b");
  tls->read_now();
  CHECK(served() == "b");
}

TEST_CASE_FIXTURE(Rotating, "the thread takes new files up by itself, and when it is asked") {
  tls->start();
  put_key("b");
  put_certificate("b");
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (served() != "b" && std::chrono::steady_clock::now() < soon) std::this_thread::yield();
  CHECK(served() == "b");
  tls->reload();
  while (reloads("applied") < 2 && std::chrono::steady_clock::now() < soon) {
    std::this_thread::yield();
  }
  CHECK(reloads("applied") == 2);
}

TEST_CASE_FIXTURE(Rotating,
                  "a session begun with the certificate before is resumed with the new one") {
  Line first(tls.get());
  REQUIRE(first.connect());
  const auto session = first.client.session;
  REQUIRE(session != nullptr);
  put_certificate("b");
  put_key("b");
  settle();
  Line second(tls.get());
  SSL_set_session(second.client.ssl(), session.get());
  REQUIRE(second.connect());
  CHECK(SSL_session_reused(second.client.ssl()) == 1);
}

TEST_CASE("when the authority for clients is another, nobody is believed by a ticket") {
  const Place place;
  Gauges gauges;
  place.put(certificates().authority(), "clients.pem");
  std::string error;
  const auto tls = smg::ServerTls::make(place.files((place.directory / "clients.pem").string()),
                                        gauges.families, error);
  REQUIRE_MESSAGE(tls != nullptr, error);
  std::shared_ptr<SSL_SESSION> session;
  {
    Line line(tls.get(), "client");
    REQUIRE(line.connect());
    CHECK(line.channel.verified_client());
    session = line.client.session;
  }
  REQUIRE(session != nullptr);
  place.put(certificates().certificate("other"), "clients.pem");
  tls->look();
  tls->look();
  Line line(tls.get(), "client");
  SSL_set_session(line.client.ssl(), session.get());
  REQUIRE(line.connect());
  CHECK(SSL_session_reused(line.client.ssl()) == 0);
  CHECK_FALSE(line.channel.verified_client());
}
