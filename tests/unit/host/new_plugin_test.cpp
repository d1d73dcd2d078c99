// `smg plugins new`, on templates made up here.
#include "host/new_plugin.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "tests/support/scratch_directory.hpp"

namespace smg {
namespace {

namespace fs = std::filesystem;

// A prefix with two templates, and a place to write to.
class Prefix {
 public:
  Prefix() {
    const fs::path templates = root_ / "share/smg/sdk/templates";
    fs::create_directories(templates / "policy-cpp/src");
    fs::create_directories(templates / "monitor-c");
    std::ofstream(templates / "policy-cpp/CMakeLists.txt") << "my_plugin(my_plugin)\n";
    std::ofstream(templates / "policy-cpp/src/plugin.cpp") << "\"my_plugin my-plugin\"\n";
  }

  // What comes back, or what is wrong.
  std::string write(const NewPlugin& wish) const {
    std::string error;
    const std::string next = write_project(wish, root_ / "bin/smg", error);
    CHECK(next.empty() != error.empty());
    return next + error;
  }
  std::string made(const std::string& name) const { return (root_ / name).string(); }
  std::string read(const std::string& name) const {
    std::ifstream in(root_ / name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

 private:
  const test::ScratchDirectory scratch_;
  const fs::path& root_ = scratch_.path();
};

TEST_CASE("a new plugin is the template under another name") {
  const Prefix prefix;
  const std::string next = prefix.write({"two_words", "policy", "c++", prefix.made("deep/er")});
  CHECK(prefix.read("deep/er/CMakeLists.txt") == "two_words(two_words)\n");
  CHECK(prefix.read("deep/er/src/plugin.cpp") == "\"two_words two-words\"\n");
  for (const char* word : {"is a policy in c++", "cmake -S ", "smg-plugin-check", "[plugins]",
                           "name = \"two_words\"", "/deep/er/build\"]"}) {
    CAPTURE(word);
    CHECK(next.find(word) != std::string::npos);
  }
}

TEST_CASE("the SDK is to be installed first where it is not") {
  const Prefix prefix;
  CHECK(prefix.write({"a", "policy", "c++", prefix.made("a")}).find("cmake --install ") !=
        std::string::npos);
  fs::create_directories(prefix.made("include/smg"));
  std::ofstream(prefix.made("include/smg/plugin.h")) << "\n";
  const std::string next = prefix.write({"b", "policy", "c++", prefix.made("b")});
  CHECK(next.find("cmake --install ") == std::string::npos);
  CHECK(next.find("-DCMAKE_PREFIX_PATH=" + prefix.made("").substr(0, prefix.made("").size() - 1)) !=
        std::string::npos);
}

TEST_CASE("a directory with blanks is written as a shell takes it") {
  const Prefix prefix;
  const std::string place = prefix.made("it's here");
  const std::string next = prefix.write({"a", "policy", "c++", place});
  CHECK(next.find("cmake -S '" + prefix.made("it'\\''s here") + "' -B") != std::string::npos);
}

TEST_CASE("what cannot be made is refused with what would be right") {
  const Prefix prefix;
  const std::string place = prefix.made("new");
  for (const char* name : {"", "Mine", "9a", "a-b", "../a", "_a", "a b", "\xc3\xa4"}) {
    CAPTURE(name);
    CHECK(prefix.write({name, "policy", "c++", place}).find("is no name for a plugin") !=
          std::string::npos);
  }
  CHECK(prefix.write({std::string(65, 'a'), "policy", "c++", place}).find("at most 64") !=
        std::string::npos);
  CHECK(prefix.write({"a", "transport", "c", place}) ==
        "there is no template for a transport in c; there are: monitor in c, policy in c++\n");
  CHECK(prefix.write({"a", "policy", "../policy-cpp", place}).starts_with("there is no template"));
  CHECK(prefix.write({"a", "", "c++", place}).starts_with("there is no template"));
  CHECK_FALSE(fs::exists(place));

  fs::create_directory(place);
  CHECK(prefix.write({"a", "policy", "c++", place}) ==
        place + " is there already; name another directory with --dir\n");
  CHECK(fs::is_empty(place));
  fs::create_symlink("/nowhere", prefix.made("link"));
  CHECK(prefix.write({"a", "policy", "c++", prefix.made("link")}).find("is there already") !=
        std::string::npos);

  std::ofstream(prefix.made("file")) << "\n";
  const std::string below = prefix.made("file/x");
  CHECK(prefix.write({"a", "policy", "c++", below}).find("Not a directory") != std::string::npos);
}

TEST_CASE("without templates the SDK is asked for") {
  std::string error;
  CHECK(write_project({"a", "policy", "c++", "a"}, "/nowhere/bin/smg", error).empty());
  CHECK(error.starts_with("no templates in /nowhere/share/smg/sdk/templates: install the SDK"));
}

}  // namespace
}  // namespace smg
