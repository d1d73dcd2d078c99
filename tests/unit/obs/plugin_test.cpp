#include <dlfcn.h>
#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/plugin/descriptor_check.hpp"
#include "host/plugin/registry.hpp"
#include "tests/support/scratch_directory.hpp"

namespace fs = std::filesystem;
using smg::PluginRegistry;
using smg::RunDir;

namespace {

std::string built(const std::string& name) {
  return std::string(SMG_TEST_PLUGINS) + "/" + name + ".so";
}

std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A place for run directories and files.
struct Fixture {
  Fixture() {
    run_dir = RunDir::make(dir / "run", error);
    REQUIRE_MESSAGE(run_dir != nullptr, error);
  }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(dir / name, std::ios::binary) << content;
    return (dir / name).string();
  }
  std::vector<std::string> load(std::vector<std::string> paths) {
    PluginRegistry registry(*run_dir);
    return registry.load_all(paths);
  }

  std::string error;
  const smg::test::ScratchDirectory scratch;
  const fs::path& dir = scratch.path();
  std::unique_ptr<RunDir> run_dir;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a good library is loaded and found") {
  PluginRegistry registry(*run_dir);
  const std::vector<std::string> paths{built("good"), built("good_stays")};
  CHECK(registry.load_all(paths).empty());
  const auto plugin = registry.find(SMG_KIND_POLICY, "sample");
  REQUIRE(plugin != nullptr);
  CHECK(plugin->name() == "sample");
  CHECK((plugin->policy().select != nullptr));
  CHECK(plugin->options.size() == 2);
  CHECK(plugin->descriptor.options == plugin->options.data());
  CHECK(plugin->descriptor.api == &plugin->policy());
  CHECK(plugin->library->file() == built("good"));
  CHECK(registry.names(SMG_KIND_POLICY) == std::vector<std::string>{"sample", "stays"});
  CHECK(registry.names(SMG_KIND_MONITOR).empty());
  CHECK(registry.find(SMG_KIND_MONITOR, "sample") == nullptr);
  CHECK(registry.descriptors().size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "bad libraries are refused with file and reason") {
  struct Case {
    const char* name;
    std::string reason;
  };
  const std::string abi = std::to_string(SMG_ABI_MAJOR) + "." + std::to_string(SMG_ABI_MINOR);
  const std::string newer = std::to_string(SMG_ABI_MAJOR) + "." + std::to_string(SMG_ABI_MINOR + 1);
  const Case cases[] = {
      {"no_entry", "does not export smg_plugin_entry: it is no smg plugin"},
      {"unresolved", "undefined symbol: smg_test_nobody_defines_this"},
      {"null_table", "smg_plugin_entry returned NULL"},
      {"wrong_magic", "is no smg plugin: its magic number is 0x12345678, not 0x31474d53"},
      {"major_too_new", "was built for ABI 1.2, this gateway speaks " + abi +
                            ": rebuild it against this version's SDK"},
      {"minor_too_new", "was built for ABI " + newer + ", this gateway speaks " + abi},
      {"short_library", "its smg_library has struct_size 16, at least "},
      {"short_plugin", "plugin number 1 has struct_size 40, at least "},
      {"short_option", "option number 1 has struct_size 64, at least "},
      {"short_api", "its smg_policy_api has struct_size 16, at least "},
      {"odd_stride", "has plugin_stride "},
      {"no_plugins", "names 0 plugins"},
      {"too_many_plugins", "names 100000 plugins"},
      {"bad_name", "plugin number 1 has a name that is not [a-z0-9_]+"},
      {"unknown_kind", "plugin number 1 has the unknown kind 9"},
      {"twice", "policy 'sample': is in the library twice"},
      {"null_api", "policy 'sample': has no table of functions"},
      {"null_function", "policy 'sample': its smg_policy_api lacks the function select"},
      {"unknown_needs", "unknown bits in needs: 64"},
      {"option_twice", "option 'ratio' is declared twice"},
      {"option_bad_name", "an option whose name is not [a-z0-9_]+ (number 2)"},
      {"option_bad_type", "option 'mode' has the unknown type 17"},
      {"default_out_of_range",
       "option 'ratio' has the default 1.5, which is outside its range, from 0 to 1"},
      {"default_wrong_type", "option 'ratio' has the default true, which is no number"},
      {"default_no_toml", "option 'mode' has the default fast, which is no TOML value"},
      {"default_no_choice",
       "option 'mode' has the default \"medium\", which is none of its choices, fast, slow, fail"},
      {"range_not_a_number", "option 'ratio' has a range that is no number"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    const auto problems = load({built(one.name)});
    REQUIRE(problems.size() == 1);
    CAPTURE(problems[0]);
    CHECK(problems[0].find(built(one.name) + ": ") == 0);
    CHECK(problems[0].find(one.reason) != std::string::npos);
    CHECK(problems[0].find(run_dir->path().string()) == std::string::npos);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a library that crashes, hangs on to nothing or lies about sizes is refused") {
  for (const auto& [name, reason] : std::vector<std::pair<std::string, std::string>>{
           {"crash_in_constructor", "crashes when it is loaded: "},
           {"crash_in_entry", "crashes when it is loaded: "},
           {"exit_in_entry", "ends the process when it is loaded (exit code 3)"},
           {"entry_is_data", "crashes when it is loaded: "},
           {"huge_stride", "crashes when it is loaded: "}}) {
    CAPTURE(name);
    const auto problems = load({built(name)});
    REQUIRE(problems.size() == 1);
    CAPTURE(problems[0]);
    CHECK(problems[0].find(built(name) + ": " + reason) == 0);
  }
}

TEST_CASE_FIXTURE(Fixture, "files that are no library for this machine are refused") {
  const std::string good = content_of(built("good"));
  const auto refused = [&](const std::string& name, const std::string& content,
                           const std::string& reason) {
    CAPTURE(name);
    const auto problems = load({write(name, content)});
    REQUIRE(problems.size() == 1);
    CAPTURE(problems[0]);
    CHECK(problems[0].find((dir / name).string() + ": " + reason) == 0);
  };
  refused("text.so", "this is no library\n", "is no shared library (not an ELF file)");
  refused("empty.so", "", "is empty");
  refused("head.so", good.substr(0, 40), "is truncated: only 40 bytes");
  for (const double share : {0.1, 0.5, 0.9, 0.999}) {
    const auto size = static_cast<std::size_t>(static_cast<double>(good.size()) * share);
    refused("part" + std::to_string(size) + ".so", good.substr(0, size), "is truncated: only ");
  }
  std::string foreign = good;
  const Elf64_Half machine = EM_RISCV;
  std::memcpy(foreign.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
  refused("foreign.so", foreign, "was built for RISC-V, this gateway runs on ");
  std::string program = good;
  const Elf64_Half type = ET_REL;
  std::memcpy(program.data() + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
  refused("object.so", program, "is an ELF file but no shared library");
}

TEST_CASE_FIXTURE(Fixture, "a directory is searched in order of name, other files are left alone") {
  fs::create_directory(dir / "plugins");
  fs::copy_file(built("good"), dir / "plugins/b.so");
  fs::copy_file(built("good_stays"), dir / "plugins/a.so");
  write("plugins/notes.txt", "not looked at");
  write("plugins/broken.so", "text");
  fs::create_directory(dir / "plugins/folder.so");
  PluginRegistry registry(*run_dir);
  const std::vector<std::string> paths{(dir / "plugins").string(), (dir / "missing").string(),
                                       (dir / "plugins").string()};
  const auto problems = registry.load_all(paths);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].find((dir / "plugins/broken.so").string() + ": is no shared library") == 0);
  CHECK(problems[1].find("cannot search the plugin directory " + (dir / "missing").string() +
                         ": ") == 0);
  CHECK(registry.names(SMG_KIND_POLICY) == std::vector<std::string>{"sample", "stays"});
}

TEST_CASE_FIXTURE(Fixture, "two libraries with the same plugin: the message names both files") {
  const auto problems = load({built("good"), built("good_twin")});
  REQUIRE(problems.size() == 1);
  CHECK(problems[0] == built("good_twin") + ": policy 'sample' is in " + built("good") +
                           " as well: remove one of the two files");
}

TEST_CASE_FIXTURE(Fixture, "the same file under two names is loaded once") {
  fs::create_symlink(built("good"), dir / "link.so");
  CHECK(load({built("good"), (dir / "link.so").string()}).empty());
}

TEST_CASE_FIXTURE(Fixture, "libraries run from a private copy, which goes with the run directory") {
  const fs::path path = run_dir->path();
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  std::size_t copies = 0;
  {
    PluginRegistry registry(*run_dir);
    const std::vector<std::string> paths{built("good")};
    REQUIRE(registry.load_all(paths).empty());
    const auto copy = registry.find(SMG_KIND_POLICY, "sample")->library->copy();
    CHECK(copy.parent_path() == path);
    const auto name = copy.filename().string();
    CHECK(name.substr(0, 5) == "good.");
    CHECK(name.substr(name.size() - 5) == ".1.so");
    CHECK(name.size() == std::strlen("good.0123456789abcdef.1.so"));
    CHECK(content_of(copy.string()) == content_of(built("good")));
    for (const auto& entry : fs::directory_iterator(path)) copies += entry.exists() ? 1 : 0;
    CHECK(copies == 1);
  }
  run_dir.reset();
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE_FIXTURE(Fixture, "a run directory that cannot be made is an error") {
  write("file", "");
  CHECK(RunDir::make(dir / "file/below", error) == nullptr);
  CHECK(error.find("cannot make a directory for plugin copies in ") == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a library that allows it leaves the map with its last user, others stay") {
  const auto mapped = [](const fs::path& copy) {
    void* const handle = ::dlopen(copy.c_str(), RTLD_NOLOAD | RTLD_NOW);
    if (handle != nullptr) ::dlclose(handle);
    return handle != nullptr;
  };
  fs::path unloadable;
  fs::path stays;
  {
    PluginRegistry registry(*run_dir);
    const std::vector<std::string> paths{built("good"), built("good_stays")};
    REQUIRE(registry.load_all(paths).empty());
    unloadable = registry.find(SMG_KIND_POLICY, "sample")->library->copy();
    stays = registry.find(SMG_KIND_POLICY, "stays")->library->copy();
    CHECK(mapped(unloadable));
    CHECK(mapped(stays));
  }
  CHECK_FALSE(mapped(unloadable));
  CHECK(mapped(stays));
}

TEST_CASE("options are checked against themselves") {
  smg_option option{};
  option.struct_size = sizeof(option);
  option.minimum = 1;  // above the maximum: no range
  const auto with = [&](std::uint32_t type, std::string_view value) {
    option.type = type;
    option.default_value = {value.data(), value.size()};
    return smg::option_problem(option);
  };
  CHECK(with(SMG_OPTION_BOOL, "true").empty());
  CHECK(with(SMG_OPTION_INT, "1_000").empty());
  CHECK(with(SMG_OPTION_FLOAT, "3").empty());
  CHECK(with(SMG_OPTION_STRING, "\"x\"").empty());
  CHECK(with(SMG_OPTION_STRING_LIST, "[\"a\", \"b\"]").empty());
  CHECK(with(SMG_OPTION_STRING, "").empty());
  CHECK_FALSE(with(SMG_OPTION_BOOL, "1").empty());
  CHECK_FALSE(with(SMG_OPTION_INT, "1.5").empty());
  CHECK_FALSE(with(SMG_OPTION_STRING_LIST, "[1]").empty());
  CHECK_FALSE(with(SMG_OPTION_INT, "1\nother = 2").empty());
  option.minimum = 0;
  option.maximum = 5;
  option.exclusive_minimum = 1;
  CHECK(with(SMG_OPTION_INT, "1").empty());
  CHECK(with(SMG_OPTION_INT, "0").find("above 0 to 5") != std::string::npos);
  option.maximum = 0;
  CHECK(with(SMG_OPTION_INT, "").find("empty range") != std::string::npos);
  option.maximum = 5;
  option.flag = {"--x", 3};
  CHECK(with(SMG_OPTION_INT, "").empty());
  option.flag = {"X", 1};
  CHECK_FALSE(with(SMG_OPTION_INT, "").empty());
}
