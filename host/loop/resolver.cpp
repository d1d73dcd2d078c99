#include "host/loop/resolver.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>

#include <cstring>

#include "host/plugin/fault_meter.hpp"

namespace smg {
namespace {

bool literal(const std::string& name, smg_address& address) {
  address = {};
  if (inet_pton(AF_INET, name.c_str(), address.bytes) == 1) {
    address.family = 4;
    return true;
  }
  if (inet_pton(AF_INET6, name.c_str(), address.bytes) == 1) {
    address.family = 6;
    return true;
  }
  return false;
}

void answer(smg_resolved_fn fn, void* context, std::uint32_t caller,
            std::vector<smg_address> addresses, std::uint16_t port, const std::string& detail) {
  for (auto& address : addresses) address.port = port;
  try {
    fn(context, addresses.data(), static_cast<std::uint32_t>(addresses.size()),
       {detail.data(), detail.size()});
  } catch (...) {
    FaultMeter::count_exception_at(caller, "the answer of resolve");
  }
}

}  // namespace

struct Resolver::Query : smg_task {
  Resolver* owner;
  std::uint64_t handle;
  std::string name;
  std::uint16_t port;
  std::uint32_t loop;
  smg_resolved_fn fn;
  void* context;
  std::uint32_t caller;
  Answer result;
};

Resolver::Resolver(LoopGroup& loops) : loops_(loops) {
  for (int i = 0; i < 2; ++i) {
    threads_.emplace_back([this] {
      pthread_setname_np(pthread_self(), "smg-resolve");
      work();
    });
  }
}

Resolver::~Resolver() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  for (auto& [handle, query] : asked_) delete query;
}

std::uint64_t Resolver::resolve(std::string_view name, std::uint16_t port, smg_resolved_fn fn,
                                void* context, std::uint32_t caller) {
  smg_address address;
  const std::string key(name);
  if (literal(key, address)) {
    answer(fn, context, caller, {address}, port, {});
    return 0;
  }
  std::unique_lock lock(mutex_);
  if (const auto known = kept_.find(name);
      known != kept_.end() && Loop::clock() < known->second.until) {
    const Answer copy = known->second;
    lock.unlock();
    answer(fn, context, caller, copy.addresses, port, copy.detail);
    return 0;
  }
  auto* query = new Query{};
  query->run = deliver;
  query->owner = this;
  query->handle = next_handle_++;
  query->name = key;
  query->port = port;
  query->loop = Loop::current()->index();
  query->fn = fn;
  query->context = context;
  query->caller = caller;
  asked_.emplace(query->handle, query);
  queue_.push_back(query);
  wake_.notify_one();
  return query->handle;
}

bool Resolver::cancel(std::uint64_t handle) {
  const Loop* const loop = Loop::current();
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(handle);
  if (found == asked_.end()) return loop != nullptr;
  if (loop == nullptr || loop->index() != found->second->loop) return false;
  found->second->fn = nullptr;
  return true;
}

void Resolver::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    Query* query = queue_.front();
    queue_.pop_front();
    lock.unlock();
    query->result = look_up(query->name);
    lock.lock();
    if (kept_.size() > 1000) kept_.clear();
    kept_[query->name] = query->result;
    if (stopping_) return;
    loops_.at(query->loop).post(query);
  }
}

Resolver::Answer Resolver::look_up(const std::string& name) {
  Answer result;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (code == 0) {
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      smg_address address{};
      if (at->ai_family == AF_INET) {
        address.family = 4;
        std::memcpy(address.bytes, &reinterpret_cast<sockaddr_in*>(at->ai_addr)->sin_addr, 4);
      } else if (at->ai_family == AF_INET6) {
        const auto* v6 = reinterpret_cast<sockaddr_in6*>(at->ai_addr);
        address.family = 6;
        address.scope_id = v6->sin6_scope_id;
        std::memcpy(address.bytes, &v6->sin6_addr, 16);
      } else {
        continue;
      }
      result.addresses.push_back(address);
    }
    freeaddrinfo(found);
  } else {
    result.detail = "cannot resolve '" + name + "': " + gai_strerror(code);
  }
  result.until = Loop::clock() + (result.addresses.empty() ? 1'000'000'000u : 5'000'000'000u);
  return result;
}

void Resolver::deliver(smg_task* task) {
  const std::unique_ptr<Query> query(static_cast<Query*>(task));
  {
    const std::lock_guard lock(query->owner->mutex_);
    query->owner->asked_.erase(query->handle);
  }
  if (query->fn == nullptr) return;
  answer(query->fn, query->context, query->caller, query->result.addresses, query->port,
         query->result.detail);
}

}  // namespace smg
