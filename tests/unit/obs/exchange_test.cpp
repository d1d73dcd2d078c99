// Pieces of a reload that need no gateway: copies, symbols, options for the smoke test, hand-over.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "host/plugin/elf_check.hpp"
#include "host/plugin/elf_unique.hpp"
#include "host/plugin/registry.hpp"
#include "host/plugin/smoke_test.hpp"
#include "host/plugin/state_handover.hpp"
#include "smg/handover.h"
#include "tests/support/scratch_directory.hpp"

namespace fs = std::filesystem;
using namespace smg;

namespace {

std::string image_of(const std::string& name) {
  std::ifstream stream(std::string(SMG_TEST_PLUGINS) + "/" + name + ".so", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Place {
  const test::ScratchDirectory scratch;
  const fs::path& dir = scratch.path();
};

}  // namespace

TEST_CASE("GNU-unique symbols become weak ones, and nothing else of the image changes") {
  std::string image = image_of("good_unique");
  REQUIRE(elf_problem(image).empty());
  const std::string before = image;
  const std::size_t count = loosen_unique_symbols(image);
  CHECK(count > 0);
  std::size_t different = 0;
  for (std::size_t i = 0; i < image.size(); ++i) {
    if (image[i] == before[i]) continue;
    ++different;
    CHECK(ELF64_ST_BIND(static_cast<unsigned char>(before[i])) == STB_GNU_UNIQUE);
    CHECK(ELF64_ST_BIND(static_cast<unsigned char>(image[i])) == STB_WEAK);
    CHECK(ELF64_ST_TYPE(image[i]) == ELF64_ST_TYPE(before[i]));
  }
  CHECK(different == count);
  CHECK(loosen_unique_symbols(image) == 0);
}

TEST_CASE("an image with nonsense in its section table is left alone") {
  std::string image = image_of("good_unique");
  Elf64_Ehdr head{};
  std::memcpy(&head, image.data(), sizeof head);
  for (std::uint64_t offset : {image.size() - 8, std::size_t{0xffffffffffffff00u}}) {
    head.e_shoff = offset;
    std::memcpy(image.data(), &head, sizeof head);
    const std::string before = image;
    loosen_unique_symbols(image);
    CHECK(image == before);
  }
}

TEST_CASE("options are written as TOML that says the same") {
  OptionTables tables;
  tables[{SMG_KIND_POLICY, "p"}] = {{"share", 0.25},
                                    {"many", std::int64_t{7}},
                                    {"on", true},
                                    {"words", std::string("a \"b\"\n")},
                                    {"list", std::vector<std::string>{"x", "y"}}};
  tables[{SMG_KIND_MONITOR, "m"}] = {};
  const std::string text = toml_of(tables);
  CHECK(text.find("[policy.p]") != std::string::npos);
  CHECK(text.find("share = 0.25") != std::string::npos);
  CHECK(text.find("many = 7") != std::string::npos);
  CHECK(text.find("on = true") != std::string::npos);
  CHECK(text.find("'x'") < text.find("'y'"));
}

TEST_CASE_FIXTURE(Place, "a program for the smoke test that is missing is a reason to refuse") {
  StagedLibrary staged;
  staged.file = dir / "p.so";
  staged.copy = dir / "p.1.so";
  const std::string problem = smoke_test(staged, dir / "no-such-program", {});
  CHECK(problem.find((dir / "p.so").string() + ": cannot be tried: ") == 0);
  CHECK(problem.find("install it beside the gateway's program") != std::string::npos);
  CHECK(fs::is_empty(dir));
}

TEST_CASE_FIXTURE(Place, "a run directory is removed by the next one once nobody holds it") {
  std::string error;
  const auto alive = RunDir::make(dir, error);
  REQUIRE(alive != nullptr);
  const fs::path abandoned = dir / "smg-plugins-abcdef";
  fs::create_directory(abandoned);
  std::ofstream(abandoned / "p.1.so") << "left behind";
  const auto next = RunDir::make(dir, error);
  REQUIRE(next != nullptr);
  CHECK_FALSE(fs::exists(abandoned));
  CHECK(fs::exists(alive->path()));
  CHECK(fs::exists(next->path()));
}

TEST_CASE_FIXTURE(Place, "a copy that cannot be written leaves nothing, and says what to do") {
  std::string error;
  const auto run_dir = RunDir::make(dir, error);
  REQUIRE(run_dir != nullptr);
  CHECK(run_dir->add("no/such/place", "content", error).empty());
  CHECK(error.find("cannot write its copy") == 0);
  CHECK(error.find("run_dir") != std::string::npos);
  CHECK(fs::is_empty(run_dir->path()));
}

namespace {

// A policy with a state of some bytes, in this very program.
struct Keeper {
  std::string state;
  std::string taken, format;
  bool throws = false;
};
smg_status export_state(void* self, const smg_state_writer* writer, smg_error*) {
  const Keeper& keeper = *static_cast<Keeper*>(self);
  if (keeper.throws) throw std::runtime_error("no paper");
  return writer->write(writer, keeper.state.data(), keeper.state.size());
}
smg_status import_state(void* self, smg_view format, smg_view state, smg_error* error) {
  Keeper& keeper = *static_cast<Keeper*>(self);
  keeper.format.assign(format.data, format.size);
  if (keeper.format != "keeper/1") {
    error->size = std::string("that format is new to me").copy(error->text, error->capacity);
    return SMG_E_UNSUPPORTED;
  }
  keeper.taken.assign(state.data, state.size);
  return SMG_OK;
}
smg_state_handover g_offer{
    sizeof(smg_state_handover), 0, {"keeper/1", 8}, export_state, import_state};
Keeper* g_next = nullptr;

std::unique_ptr<PluginInstance> make(Keeper& keeper, bool offers) {
  auto plugin = std::make_shared<Plugin>();
  plugin->descriptor.kind = SMG_KIND_POLICY;
  plugin->descriptor.name = {"keeper", 6};
  if (offers) {
    plugin->descriptor.extension = [](const char* id) -> const void* {
      return std::strcmp(id, SMG_EXTENSION_STATE_HANDOVER) == 0 ? &g_offer : nullptr;
    };
  }
  smg_policy_api api{};
  api.struct_size = sizeof api;
  api.create = [](const smg_host*, void** self, smg_error*) -> smg_status {
    *self = g_next;
    return SMG_OK;
  };
  api.destroy = [](void*) {};
  plugin->api = api;
  g_next = &keeper;
  std::string error;
  return PluginInstance::create(plugin, HostServices::basic(), {}, nullptr, error);
}

}  // namespace

TEST_CASE("state goes from the instance that leaves to the one that takes over") {
  Keeper old, fresh;
  old.state = std::string("what I know\0too", 15);
  const auto before = make(old, true), after = make(fresh, true);
  CHECK(hand_over_state(*before, *after).empty());
  CHECK(fresh.taken == old.state);
  CHECK(fresh.format == "keeper/1");
}

TEST_CASE("a state that cannot be handed over is no reason to fail, and it is said why") {
  Keeper old, fresh;
  const auto before = make(old, true), after = make(fresh, true);
  const auto mute = make(fresh, false);
  CHECK(hand_over_state(*mute, *mute) == kNoHandover);
  CHECK(hand_over_state(*before, *mute) == "the new version does not take anything over");
  CHECK(hand_over_state(*mute, *after) == "the version before does not hand anything over");
  g_offer.format = {"keeper/9", 8};
  CHECK(hand_over_state(*before, *after) == "that format is new to me");
  g_offer.format = {"keeper/1", 8};
  old.throws = true;
  CHECK(hand_over_state(*before, *after).find("no paper") != std::string::npos);
  CHECK(fresh.taken.empty());
}
