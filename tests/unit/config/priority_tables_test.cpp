// The tables of the priority scheduler, in the main file and in one of their own.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support.hpp"
#include "tests/support/scratch_directory.hpp"

namespace smg {
namespace {

const std::string kClass =
    "reserved_floor = 8\nqueue_size = 10\nqueue_timeout_secs = 20\n"
    "starvation_threshold_secs = 4\ncan_preempt = true\n";

Config config(std::string_view toml) {
  auto result = load(toml);
  REQUIRE_MESSAGE(result, result.problems.text());
  return std::move(*result.value);
}

TEST_CASE("5.2.2 a table replaces the whole class, the others stay") {
  const auto scheduler =
      config("[priority_scheduler.classes.default]\nreserved_per_slot = 0.5\n" + kClass)
          .priority_scheduler;
  auto expected = PriorityScheduler::defaults_of_classes();
  expected[1] = {8, 0.5, 10, 20, 4, true};
  CHECK(scheduler.classes == expected);
  CHECK(config("[priority_scheduler.classes.default]\n" + kClass)
            .priority_scheduler.classes[1]
            .reserved_per_slot == 0);
}

TEST_CASE("5.2.1 a tenant's highest class stands in a table with its name") {
  const auto scheduler = config(
                             "[priority_scheduler]\ndefault_max_class = \"interactive\"\n"
                             "[priority_scheduler.tenant_policies.\"auth:ops\"]\n"
                             "max_class = \"system\"\n"
                             "[priority_scheduler.tenant_policies]\n"
                             "\"auth:batch\" = { max_class = \"bulk\" }\n")
                             .priority_scheduler;
  CHECK(scheduler.default_max_class == "interactive");
  CHECK(scheduler.tenant_max_class == StringMap{{"auth:batch", "bulk"}, {"auth:ops", "system"}});
}

TEST_CASE("mistakes in the tables are named with line, key, value and what is allowed") {
  struct Case {
    std::string toml;
    const char* text;
  };
  const std::string head = "[priority_scheduler.classes.bulk]\n";
  const Case cases[] = {
      {"[priority_scheduler.classes.bluk]\n" + kClass,
       "x.toml:1: [priority_scheduler.classes.bluk]: unknown class; did you mean bulk?\n"},
      {"[priority_scheduler.classes.urgent]\n" + kClass,
       "x.toml:1: [priority_scheduler.classes.urgent]: unknown class; there are bulk, default, "
       "interactive, system\n"},
      {head + "queue_size = 1\ncan_preempt = false\n",
       "x.toml:1: [priority_scheduler.classes.bulk]: lacks reserved_floor, queue_timeout_secs, "
       "starvation_threshold_secs; the table replaces the whole class\n"},
      {head + "queue_sise = 1\n" + kClass,
       "x.toml:2: [priority_scheduler.classes.bulk] queue_sise = 1: unknown key; did you mean "
       "queue_size?\n"},
      {head + "reserved_floor = 65536\nqueue_size = -1\nqueue_timeout_secs = 0\n"
              "starvation_threshold_secs = 0\ncan_preempt = 1\nreserved_per_slot = 1.5\n",
       "x.toml:2: [priority_scheduler.classes.bulk] reserved_floor = 65536: must be from 0 to "
       "65535\n"
       "x.toml:7: [priority_scheduler.classes.bulk] reserved_per_slot = 1.5: must be from 0 to 1\n"
       "x.toml:3: [priority_scheduler.classes.bulk] queue_size = -1: must be from 0 to 10000000\n"
       "x.toml:4: [priority_scheduler.classes.bulk] queue_timeout_secs = 0: Must be > 0\n"
       "x.toml:5: [priority_scheduler.classes.bulk] starvation_threshold_secs = 0: Must be > 0\n"
       "x.toml:6: [priority_scheduler.classes.bulk] can_preempt = 1: is an integer, must be true "
       "or false\n"},
      {"[priority_scheduler]\nclasses = 3\n",
       "x.toml:2: priority_scheduler.classes = 3: is an integer, must be a table: "
       "[priority_scheduler.classes.NAME]\n"},
      {"[priority_scheduler.classes]\nbulk = 3\n",
       "x.toml:2: priority_scheduler.classes.bulk = 3: must be a table: "
       "[priority_scheduler.classes.bulk]\n"},
      {"[priority_scheduler.tenant_policies.\"auth:acme\"]\nmax_class = \"urgent\"\n",
       "x.toml:2: [priority_scheduler.tenant_policies.auth:acme] max_class = \"urgent\": must be "
       "one of bulk, default, interactive, system\n"},
      {"[priority_scheduler.tenant_policies.\"auth:acme\"]\nmaxclass = \"bulk\"\n",
       "x.toml:1: [priority_scheduler.tenant_policies.auth:acme]: lacks max_class\n"
       "x.toml:2: [priority_scheduler.tenant_policies.auth:acme] maxclass: unknown key; did you "
       "mean max_class?\n"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.toml);
    CHECK(verdict(one.toml) == one.text);
  }
}

TEST_CASE("5.1.7 a queue needs a time-out, no queue needs none") {
  CHECK(verdict("[admission]\nqueue_timeout_secs = 0\n") ==
        "x.toml:2: [admission] queue_timeout_secs: is 0, must be > 0 while queue_size is 100; "
        "queue_size = 0 lets nobody wait\n");
  CHECK(verdict("[admission]\nqueue_timeout_secs = 0\nqueue_size = 0\n") == "ok");
  CHECK(verdict("", {"--queue-timeout-secs", "0"}) ==
        "--queue-timeout-secs 0: is 0, must be > 0 while queue_size is 100; queue_size = 0 lets "
        "nobody wait\n");
}

TEST_CASE("5.1.7 a rate is not negative") {
  CHECK(verdict("[admission]\nrate_limit_tokens_per_second = -1\n") ==
        "x.toml:2: [admission] rate_limit_tokens_per_second = -1: must be from 0 to 1000000000\n");
}

struct Folder {
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(scratch / name) << text;
    return scratch / name;
  }
  test::ScratchDirectory scratch;
  const std::filesystem::path& path = scratch.path();
};

TEST_CASE_FIXTURE(Folder, "5.2.2 a file of its own has the same tables at its top") {
  const std::string file = write("classes.toml", "[classes.system]\n" + kClass +
                                                     "[tenant_policies.\"auth:ops\"]\n"
                                                     "max_class = \"system\"\n");
  const auto result = load("", {"--priority-scheduler-config", file.c_str()});
  REQUIRE_MESSAGE(result, result.problems.text());
  const auto& scheduler = result.value->priority_scheduler;
  CHECK(scheduler.classes[3] == PriorityClass{8, 0, 10, 20, 4, true});
  CHECK(scheduler.tenant_max_class == StringMap{{"auth:ops", "system"}});
}

TEST_CASE_FIXTURE(Folder, "what is wrong with a file of its own is told with its name") {
  const std::string file = write("classes.toml", "[classes.system]\nqueue_size = -1\n[other]\n");
  const auto with = [](const std::string& name) {
    return "[priority_scheduler]\nconfig = \"" + name + "\"\n";
  };
  CHECK(verdict(with(file)) ==
        file + ":2: [classes.system] queue_size = -1: must be from 0 to 10000000\n" + file +
            ":1: [classes.system]: lacks reserved_floor, queue_timeout_secs, "
            "starvation_threshold_secs, can_preempt; the table replaces the whole class\n" +
            file + ":3: other: unknown section; there are classes and tenant_policies\n");
  CHECK(verdict(with(write("broken.toml", "classes = [\n")))
            .starts_with((path / "broken.toml:").string()));
  CHECK(verdict(with(path / "none.toml")) ==
        "x.toml:2: [priority_scheduler] config: " + (path / "none.toml").string() +
            ": No such file or directory\n");
  CHECK(verdict(with(path)) ==
        "x.toml:2: [priority_scheduler] config: is no regular file, must be a TOML file\n");
  CHECK(verdict(with(file) + "[priority_scheduler.classes.bulk]\n" + kClass)
            .starts_with("x.toml:3: [priority_scheduler.classes]: stands beside "
                         "priority_scheduler.config, the file " +
                         file + "; use one of the two\n"));
}

TEST_CASE("a YAML file is refused with a hint of how the same looks in TOML") {
  for (const char* name : {"classes.yaml", "/etc/smg/classes.yml"}) {
    CHECK(verdict("", {"--priority-scheduler-config", name}) ==
          "--priority-scheduler-config " + std::string(name) +
              ": is a YAML file, and this version reads TOML; write the same keys as "
              "[classes.interactive] reserved_floor = 8, and so on, and as "
              "[tenant_policies.\"auth:acme\"] max_class = \"interactive\"\n");
  }
}

}  // namespace
}  // namespace smg
