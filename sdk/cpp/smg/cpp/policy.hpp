// A routing policy is one class with one method:
//
//   class Mine {
//    public:
//     std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool);
//   };
//   SMG_EXPORT_PLUGINS(smg::policy<Mine>({.name = "mine", .version = "1.0", .summary = "..."}))
//
// select() runs on every loop at once, must not block, and answers the index of an eligible worker,
// or nullopt if none may take the request. What it throws counts as a fault. Optional members:
//
//   explicit Mine(smg::Host host)                    to read options and use services; may throw
//   static constexpr uint32_t kNeeds = SMG_NEEDS_TEXT;           what select() wants to be told
//   void pool_changed(const smg_pool* before, const smg_pool* after);      |
//   void dispatched(const smg::Request&, const smg_worker&);               | as in smg/policy.h
//   void completed(const smg_worker&, bool success);                       |
//
// To hand over what it has learnt when its library is reloaded (smg/handover.h says when; what
// these throw, the log tells), all three of
//
//   static constexpr std::string_view kStateFormat = "mine/1";
//   void export_state(smg::StateWriter& writer) const;    concurrent with all but the destructor
//   void import_state(std::string_view format, std::string_view state);   all of it or nothing
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "smg/cpp/handover.hpp"
#include "smg/cpp/host.hpp"
#include "smg/cpp/plugin.hpp"
#include "smg/policy.h"

namespace smg {

// One request, as far as routing is concerned. Valid during the call.
class Request {
 public:
  explicit Request(const smg_policy_request& raw) : raw_(&raw) {}
  const smg_policy_request& raw() const { return *raw_; }

  uint32_t endpoint() const { return raw_->endpoint; }  // SMG_ENDPOINT_*
  uint32_t leg() const { return raw_->leg; }            // SMG_LEG_*
  uint32_t attempt() const { return raw_->attempt; }    // 0 for the first
  uint64_t now() const { return raw_->now; }            // monotonic ns
  uint64_t random() const { return raw_->random; }      // see uniform() in smg/cpp/random.hpp
  std::string_view model() const { return smg::text(raw_->model); }
  std::string_view text() const { return smg::text(raw_->text); }
  std::span<const uint32_t> tokens() const {
    return {raw_->tokens, static_cast<std::size_t>(raw_->token_count)};
  }
  std::string_view routing_key() const { return smg::text(raw_->routing_key); }
  std::string_view cache_namespace() const { return smg::text(raw_->cache_namespace); }
  std::span<const smg_header> headers() const { return {raw_->headers, raw_->header_count}; }

 private:
  const smg_policy_request* raw_;
};

// The candidates. Immutable; their live state moves. Valid during the call.
class Pool {
 public:
  explicit Pool(const smg_pool& raw) : raw_(&raw) {}
  const smg_pool& raw() const { return *raw_; }

  uint32_t size() const { return raw_->count; }
  const smg_worker& worker(uint32_t index) const { return *raw_->workers[index]; }
  const smg_worker_live& live(uint32_t index) const { return *raw_->live[index]; }
  bool eligible(uint32_t index) const { return smg_pool_eligible(raw_, index) != 0; }
  uint32_t in_flight(uint32_t index) const { return smg_worker_in_flight(raw_->live[index]); }
  uint32_t routing_keys(uint32_t index) const { return smg_worker_routing_keys(raw_->live[index]); }
  std::string_view model() const { return text(raw_->model); }
  // Together they name a set of eligible workers: see smg/worker.h, and smg/cpp/eligible.hpp to
  // make use of it.
  uint64_t generation() const { return raw_->generation; }
  uint64_t epoch() const { return smg_pool_epoch(raw_); }

 private:
  const smg_pool* raw_;
};

template <class P>
concept Policy = requires(P policy, const Request& request, const Pool& pool) {
  { policy.select(request, pool) } -> std::convertible_to<std::optional<uint32_t>>;
};

namespace detail {

template <class T, class... Arguments>
std::unique_ptr<T> make(Host host, Arguments... arguments) {
  if constexpr (std::constructible_from<T, Host, Arguments...>) {
    return std::make_unique<T>(host, arguments...);
  } else {
    return std::make_unique<T>();
  }
}

// What `self` points to: the plugin's object, and the host to report to.
template <class T>
struct Instance {
  Host host;
  std::unique_ptr<T> object;
};

template <Policy P>
struct PolicyTable {
  using Self = Instance<P>;
  static Self& self(void* raw) { return *static_cast<Self*>(raw); }

  static smg_status create(const smg_host* raw, void** out, smg_error* error) noexcept {
    return guard(error, [&] {
      const Host host(raw);
      *out = new Self{host, make<P>(host)};
      return SMG_OK;
    });
  }
  static void destroy(void* raw) noexcept { delete static_cast<Self*>(raw); }

  static smg_status select(void* raw, const smg_policy_request* request, const smg_pool* pool,
                           uint32_t* index) noexcept {
    smg_status status = SMG_E_INTERNAL;
    // What it throws is logged; the host counts it and stops asking before the log is full.
    self(raw).host.shield([&] {
      const std::optional<uint32_t> choice =
          self(raw).object->select(Request(*request), Pool(*pool));
      if (choice) *index = *choice;
      status = choice ? SMG_OK : SMG_NO_CHOICE;
    });
    return status;
  }
  static void pool_changed(void* raw, const smg_pool* before, const smg_pool* after) noexcept {
    self(raw).host.shield([&] { self(raw).object->pool_changed(before, after); });
  }
  static void dispatched(void* raw, const smg_policy_request* request,
                         const smg_worker* worker) noexcept {
    self(raw).host.shield([&] { self(raw).object->dispatched(Request(*request), *worker); });
  }
  static void completed(void* raw, const smg_worker* worker, uint32_t success) noexcept {
    self(raw).host.shield([&] { self(raw).object->completed(*worker, success != 0); });
  }

  static constexpr smg_policy_api make_table() {
    smg_policy_api api{};
    api.struct_size = sizeof api;
    if constexpr (requires { P::kNeeds; }) api.needs = P::kNeeds;
    api.create = create;
    api.destroy = destroy;
    api.select = select;
    if constexpr (requires { &P::pool_changed; }) api.pool_changed = pool_changed;
    if constexpr (requires { &P::dispatched; }) api.dispatched = dispatched;
    if constexpr (requires { &P::completed; }) api.completed = completed;
    return api;
  }
  static constexpr smg_policy_api kTable = make_table();
};

// The extension of a policy that has kStateFormat.
template <class P>
struct HandoverTable {
  static P& object(void* raw) { return *static_cast<Instance<P>*>(raw)->object; }

  static smg_status export_state(void* raw, const smg_state_writer* to, smg_error* error) noexcept {
    return guard(error, [&] {
      StateWriter writer(*to);
      std::as_const(object(raw)).export_state(writer);
      writer.flush();
      return SMG_OK;
    });
  }
  static smg_status import_state(void* raw, smg_view format, smg_view state,
                                 smg_error* error) noexcept {
    return guard(error, [&] {
      object(raw).import_state(smg::text(format), smg::text(state));
      return SMG_OK;
    });
  }

  static constexpr smg_state_handover kTable{.struct_size = sizeof(smg_state_handover),
                                             .reserved = 0,
                                             .format = view(P::kStateFormat),
                                             .export_state = export_state,
                                             .import_state = import_state};
  static const void* extension(const char* id) {
    return std::string_view(id) == SMG_EXTENSION_STATE_HANDOVER ? &kTable : nullptr;
  }
};

}  // namespace detail

// The descriptor of policy P, for SMG_EXPORT_PLUGINS.
template <Policy P>
constexpr smg_plugin policy(const About& about) {
  smg_plugin plugin = describe(SMG_KIND_POLICY, about, &detail::PolicyTable<P>::kTable);
  if constexpr (requires { P::kStateFormat; }) {
    plugin.extension = detail::HandoverTable<P>::extension;
  }
  return plugin;
}

}  // namespace smg
