#include <string>

#include "host/base/views.hpp"
#include "host/check/rules.hpp"
#include "host/check/worker_park.hpp"
#include "smg/handover.h"

namespace smg::check {
namespace {

constexpr const char* kHeader = "smg/handover.h says who writes what, and when to refuse";

// Keeps what an export writes, up to `most` bytes.
struct Kept {
  std::string bytes;
  std::size_t most = std::size_t{1} << 30;

  smg_state_writer writer() {
    return {sizeof(smg_state_writer), 0, this,
            [](const smg_state_writer* self, const void* data, std::uint64_t size) -> smg_status {
              auto& kept = *static_cast<Kept*>(self->context);
              if (size > kept.most - kept.bytes.size()) return SMG_E_LIMIT;
              kept.bytes.append(static_cast<const char*>(data), size);
              return SMG_OK;
            }};
  }
};

// Pools and requests, so that there is something to hand over, or to trip over.
class Use {
 public:
  explicit Use(Subject& subject) : subject_(subject), park_(12), pool_(park_.all()) {}

  void announce(const PluginInstance& instance) {
    if (instance.plugin().kind() != SMG_KIND_POLICY) return;
    const auto& api = instance.policy();
    if (api.pool_changed == nullptr) return;
    subject_.rig.on_control([&] { api.pool_changed(instance.self(), nullptr, &pool_->view()); });
  }
  // False: an answer was wrong.
  bool select(const PluginInstance& instance) {
    if (instance.plugin().kind() != SMG_KIND_POLICY) return true;
    bool right = true;
    subject_.rig.on_loop(0, [&] {
      for (int i = 0; i < 300; ++i) {
        const RandomRequest request(random_, Loop::current()->now());
        std::uint32_t index = 0;
        const smg_status status =
            instance.policy().select(instance.self(), &request.view(), &pool_->view(), &index);
        right = right && (status == SMG_NO_CHOICE || (status == SMG_OK && index < 12));
      }
    });
    return right;
  }

 private:
  Subject& subject_;
  Random random_{23};
  WorkerPark park_;
  std::unique_ptr<ParkedPool> pool_;
};

Finding handover(Subject& subject) {
  const smg_plugin& descriptor = subject.plugin->descriptor;
  const void* const offered = descriptor.extension == nullptr
                                  ? nullptr
                                  : descriptor.extension(SMG_EXTENSION_STATE_HANDOVER);
  if (offered == nullptr) return skipped("the plugin has no state to hand over");
  const auto& table = *static_cast<const smg_state_handover*>(offered);
  if (table.struct_size < sizeof(smg_state_handover) || table.export_state == nullptr ||
      table.import_state == nullptr || table.format.size == 0) {
    return broken("its smg_state_handover lacks a function, a format or the right struct_size",
                  kHeader);
  }
  Use use(subject);
  char room[512];
  smg_error error{room, sizeof room, 0};
  const auto old = subject.create();
  use.announce(*old);
  if (!use.select(*old)) return broken("a wrong choice before the hand-over", kHeader);
  Kept state;
  const smg_state_writer writer = state.writer();
  if (table.export_state(old->self(), &writer, &error) != SMG_OK) {
    return broken("export_state() failed: " + std::string(room, error.size), kHeader);
  }
  if (state.bytes.size() > 1) {
    Kept little;
    little.most = 1;
    const smg_state_writer full = little.writer();
    if (table.export_state(old->self(), &full, &error) == SMG_OK) {
      return broken("export_state() says SMG_OK though the writer said SMG_E_LIMIT",
                    "give up, and answer what the writer answered");
    }
  }
  std::string half = state.bytes.substr(0, state.bytes.size() / 2);
  std::string noise = state.bytes + "x";
  Random random(5);
  for (char& c : noise) c = static_cast<char>(random.next());
  struct Try {
    const char* name;
    smg_view format;
    const std::string* bytes;
    bool must_fail;
    bool must_work;
  };
  const Try tries[] = {
      {"a format of somebody else", view("nobody/99"), &state.bytes, true, false},
      {"half of the state", table.format, &half, false, false},
      {"noise", table.format, &noise, false, false},
      {"the state", table.format, &state.bytes, false, true},
  };
  for (const Try& each : tries) {
    auto fresh = subject.create();
    use.announce(*fresh);
    error.size = 0;
    const smg_status status =
        table.import_state(fresh->self(), each.format, view(*each.bytes), &error);
    const bool right = use.select(*fresh);
    subject.rig.on_control([&] { fresh.reset(); });
    const std::string label = std::string("import_state() of ") + each.name;
    if (each.must_fail && status == SMG_OK) {
      return broken(label + " says SMG_OK",
                    "answer SMG_E_UNSUPPORTED for a format you do not know");
    }
    if (each.must_work && status != SMG_OK) {
      return broken(label + " failed: " + std::string(room, error.size), kHeader);
    }
    if (!right) {
      return broken(label + ": the instance made wrong choices after it",
                    "trust no byte; after a failure be as if nothing had been imported");
    }
  }
  return passed(std::to_string(state.bytes.size()) + " bytes of " +
                std::string(text(table.format)) + " written and read; noise is refused");
}

constexpr Rule kRules[] = {{"handover", handover, 60, false}};

}  // namespace

std::span<const Rule> handover_rules() {
  return kRules;
}

}  // namespace smg::check
