#include "host/check/worker_park.hpp"

#include <sys/mman.h>

#include <iterator>
#include <new>
#include <utility>

#include "host/base/views.hpp"
#include "smg/transport.h"

namespace smg::check {
namespace {

constexpr std::uint32_t kStates[] = {SMG_STATUS_READY,
                                     SMG_STATUS_READY,
                                     SMG_STATUS_READY,
                                     SMG_STATUS_READY | SMG_STATE_BREAKER_HALF_OPEN,
                                     SMG_STATUS_READY | SMG_STATE_BREAKER_OPEN,
                                     SMG_STATUS_READY | SMG_STATE_OVERLOADED,
                                     SMG_STATUS_READY | SMG_STATE_UNREACHABLE,
                                     SMG_STATUS_READY | SMG_STATE_WEDGED,
                                     SMG_STATUS_PENDING,
                                     SMG_STATUS_NOT_READY,
                                     SMG_STATUS_FAILED,
                                     SMG_STATUS_DRAINING};

template <class T>
void store(T& place, T value) {
  __atomic_store(&place, &value, __ATOMIC_RELAXED);
}

constexpr char kModel[] = "model-under-check";

}  // namespace

ParkedPool::ParkedPool(const WorkerPark& park, std::size_t count)
    : keep_unreadable_(park.keep_unreadable_),
      bytes_(sizeof(smg_pool) + 2 * count * sizeof(void*)),
      pages_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (pages_ == MAP_FAILED) throw std::bad_alloc();
  view_ = new (pages_) smg_pool{};
}

ParkedPool::~ParkedPool() {
  if (keep_unreadable_) {
    mprotect(pages_, bytes_, PROT_NONE);
  } else {
    munmap(pages_, bytes_);
  }
}

bool ParkedPool::any_eligible() const {
  for (std::uint32_t i = 0; i < view_->count; ++i) {
    if (smg_pool_eligible(view_, i) != 0) return true;
  }
  return false;
}

WorkerPark::WorkerPark(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Member& member = members_.emplace_back();
    member.host = std::string("w").append(std::to_string(i + 1));
    member.url = "http://" + member.host + ":8000";
    member.live.state = SMG_STATUS_READY;
    smg_worker& worker = member.worker;
    worker.struct_size = sizeof worker;
    worker.ref = i + 1;
    worker.slot = i;
    worker.dp_rank = -1;
    worker.dp_size = 1;
    worker.priority = 50;
    worker.cost = 1.0;
    worker.url = worker.base_url = worker.id = smg::view(member.url);
    worker.scheme = smg::view("http");
    worker.host = smg::view(member.host);
    worker.port = 8000;
    worker.live = &member.live;
  }
}

void WorkerPark::set_state(std::uint32_t number, std::uint32_t state) {
  __atomic_add_fetch(&epoch_, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&members_[number].live.state, state, __ATOMIC_RELEASE);
  __atomic_add_fetch(&epoch_, 1, __ATOMIC_RELEASE);
}

void WorkerPark::stir(Random& random) {
  const auto number = static_cast<std::uint32_t>(random.next() % size());
  smg_worker_live& live = members_[number].live;
  const std::uint64_t bits = random.next();
  switch (bits % 4) {
    case 0:
    case 1:
      return set_state(number, kStates[(bits >> 8) % std::size(kStates)]);
    case 2:
      return store(live.in_flight, static_cast<std::uint32_t>((bits >> 8) % 20));
    default:
      store(live.waiting_requests, static_cast<std::int64_t>((bits >> 8) % 50));
      store(live.waiting_uncached_tokens, static_cast<std::int64_t>((bits >> 16) % 100'000));
      store(live.token_usage, static_cast<double>((bits >> 32) % 100) / 100);
      store(live.throughput, static_cast<double>((bits >> 40) % 5000));
      __atomic_store_n(&live.report_sequence, live.report_sequence + 1, __ATOMIC_RELEASE);
      __atomic_store_n(&live.report_valid, (bits >> 60) % 4 != 0 ? 1u : 0u, __ATOMIC_RELEASE);
  }
}

std::unique_ptr<ParkedPool> WorkerPark::pool(const std::vector<std::uint32_t>& numbers) {
  const std::size_t count = numbers.size();
  std::unique_ptr<ParkedPool> pool(new ParkedPool(*this, count));
  auto** const workers = reinterpret_cast<const smg_worker**>(pool->view_ + 1);
  auto** const live = reinterpret_cast<const smg_worker_live**>(workers + count);
  for (std::size_t i = 0; i < count; ++i) {
    workers[i] = &members_[numbers[i]].worker;
    live[i] = &members_[numbers[i]].live;
  }
  *pool->view_ = {
      sizeof(smg_pool), static_cast<std::uint32_t>(count), workers, live, ++generation_, &epoch_,
      smg::view(kModel)};
  return pool;
}

std::unique_ptr<ParkedPool> WorkerPark::all() {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < size(); ++i) numbers.push_back(i);
  return pool(numbers);
}

std::unique_ptr<ParkedPool> WorkerPark::some(Random& random) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (random.next() % 4 != 0) numbers.push_back(i);
  }
  for (std::size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[random.next() % i]);
  }
  return pool(numbers);
}

RandomRequest::RandomRequest(Random& random, std::uint64_t now) {
  const std::uint64_t bits = random.next();
  key_ = std::string("k").append(std::to_string(bits % 32));
  tokens_.resize((bits >> 16) % 600, static_cast<std::uint32_t>(bits % 7));
  view_.struct_size = sizeof view_;
  view_.endpoint = SMG_ENDPOINT_CHAT;
  view_.leg = static_cast<std::uint32_t>((bits >> 40) % 3);
  view_.attempt = static_cast<std::uint32_t>((bits >> 44) % 2);
  view_.now = now;
  view_.random = random.next();
  view_.model = smg::view(kModel);
  if ((bits >> 48) % 4 != 0) view_.routing_key = smg::view(key_);
  if ((bits >> 52) % 2 == 0) {
    text_ = key_ + std::string(tokens_.size(), 'x');
    view_.text = smg::view(text_);
  } else {
    view_.tokens = tokens_.data();
    view_.token_count = tokens_.size();
  }
}

}  // namespace smg::check
