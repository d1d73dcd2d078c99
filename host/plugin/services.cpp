#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "host/base/plausible.hpp"
#include "host/base/views.hpp"
#include "host/bus/event_copy.hpp"
#include "host/metrics/utf8.hpp"
#include "host/plugin/host_context.hpp"

namespace smg {
namespace {

// ---- log

constexpr std::size_t kMaxLine = 8192;

spdlog::level::level_enum log_level(std::uint32_t level) {
  switch (level) {
    case SMG_LOG_DEBUG:
      return spdlog::level::debug;
    case SMG_LOG_INFO:
      return spdlog::level::info;
    case SMG_LOG_WARN:
      return spdlog::level::warn;
    default:
      return spdlog::level::err;
  }
}

void log_write(const smg_host* host, std::uint32_t level, smg_view line) noexcept {
  HostContext& context = context_of(host);
  if (line.data == nullptr && line.size > 0) {
    return context.faults().count(Fault::bad_call, "log.write was given a text that cannot be");
  }
  if (!context.services().logger->should_log(log_level(level))) return;
  // One call is one line, whatever the text came from.
  std::string clean = valid_utf8(text(line), kMaxLine);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  context.services().logger->log(log_level(level), "{}: {}", context.instance(), clean);
}

std::uint32_t log_enabled(const smg_host* host, std::uint32_t level) noexcept {
  return context_of(host).services().logger->should_log(log_level(level)) ? 1 : 0;
}

constexpr smg_log_service kLog{sizeof(smg_log_service), 0, log_write, log_enabled};

// ---- clock

std::uint64_t clock_now(const smg_host* host) noexcept {
  return context_of(host).services().now();
}
std::uint64_t clock_unix_ms(const smg_host* host) noexcept {
  return context_of(host).services().unix_ms();
}

constexpr smg_clock_service kClock{sizeof(smg_clock_service), 0, clock_now, clock_unix_ms};

// ---- options

// False, and counted, if it can be no name.
bool plausible_name(const smg_host* host, smg_view name) {
  if (plausible(name)) return true;
  context_of(host).faults().count(Fault::bad_call,
                                  "a service was given a name that cannot be: no pointer or size");
  return false;
}

// SMG_E_INVALID: the option has another type.
template <typename T>
smg_status typed_option(const smg_host* host, smg_view name, const T*& value) {
  if (!plausible_name(host, name)) return SMG_E_INVALID;
  const OptionValue* const option = context_of(host).option(text(name));
  if (option == nullptr) return SMG_E_NOT_FOUND;
  value = std::get_if<T>(option);
  return value == nullptr ? SMG_E_INVALID : SMG_OK;
}

smg_status get_bool(const smg_host* host, smg_view name, std::uint32_t* value) noexcept {
  const bool* option = nullptr;
  const smg_status status = typed_option(host, name, option);
  if (status == SMG_OK) *value = *option ? 1 : 0;
  return status;
}

smg_status get_int(const smg_host* host, smg_view name, std::int64_t* value) noexcept {
  const std::int64_t* option = nullptr;
  const smg_status status = typed_option(host, name, option);
  if (status == SMG_OK) *value = *option;
  return status;
}

smg_status get_float(const smg_host* host, smg_view name, double* value) noexcept {
  const double* option = nullptr;
  const smg_status status = typed_option(host, name, option);
  if (status == SMG_OK) *value = *option;
  return status;
}

smg_status get_string(const smg_host* host, smg_view name, smg_view* value) noexcept {
  const std::string* option = nullptr;
  const smg_status status = typed_option(host, name, option);
  if (status == SMG_OK) *value = view(*option);
  return status;
}

smg_status get_list(const smg_host* host, smg_view name, const smg_view** values,
                    std::uint32_t* count) noexcept {
  const HostContext& context = context_of(host);
  if (!plausible_name(host, name)) return SMG_E_INVALID;
  if (context.option(text(name)) == nullptr) return SMG_E_NOT_FOUND;
  const auto* const list = context.list(text(name));
  if (list == nullptr) return SMG_E_INVALID;
  *values = list->data();
  *count = static_cast<std::uint32_t>(list->size());
  return SMG_OK;
}

constexpr smg_options_service kOptions{
    sizeof(smg_options_service), 0, get_bool, get_int, get_float, get_string, get_list};

// ---- metrics

smg_status metrics_family(const smg_host* host, std::uint32_t type, smg_view name, smg_view help,
                          const smg_view* labels, std::uint32_t label_count, const double* bounds,
                          std::uint32_t bound_count, std::uint64_t* family) noexcept {
  if (!plausible_name(host, name) || !plausible_name(host, help)) return SMG_E_INVALID;
  FamilyDescriptor descriptor{.name = text(name), .help = text(help)};
  if (type < SMG_METRIC_COUNTER || type > SMG_METRIC_HISTOGRAM) return SMG_E_INVALID;
  if (label_count > FamilyDescriptor::kMaxLabels) return SMG_E_LIMIT;
  if (label_count > 0 && labels == nullptr) return SMG_E_INVALID;
  descriptor.type = type == SMG_METRIC_COUNTER ? MetricType::kCounter
                    : type == SMG_METRIC_GAUGE ? MetricType::kGauge
                                               : MetricType::kHistogram;
  for (std::uint32_t i = 0; i < label_count; ++i) {
    if (labels[i].size == 0 || !plausible_name(host, labels[i])) return SMG_E_INVALID;
    descriptor.labels[i] = text(labels[i]);
  }
  if (bound_count > Metrics::kMaxBounds || (bounds == nullptr && bound_count > 0)) {
    return SMG_E_LIMIT;
  }
  descriptor.bounds = {bounds, bound_count};

  const HostContext& context = context_of(host);
  std::string error;
  Family* const found = context.services().metrics->family(descriptor, error);
  if (found == nullptr) {
    context.services().logger->warn("{}: {}", context.instance(), error);
    return context.services().metrics->find(descriptor.name) != nullptr ? SMG_E_EXISTS
                                                                        : SMG_E_INVALID;
  }
  *family = reinterpret_cast<std::uintptr_t>(found);
  return SMG_OK;
}

smg_status metrics_series(const smg_host* host, std::uint64_t family, const smg_view* values,
                          std::uint32_t value_count, std::uint64_t* series) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): handles of the C ABI are numbers
  auto* const known = reinterpret_cast<Family*>(static_cast<std::uintptr_t>(family));
  if (known == nullptr) return SMG_E_NOT_FOUND;
  if (value_count != known->labels().size()) return SMG_E_INVALID;
  std::array<std::string_view, FamilyDescriptor::kMaxLabels> texts;
  for (std::uint32_t i = 0; i < value_count; ++i) {
    if (!plausible_name(host, values[i])) return SMG_E_INVALID;
    texts[i] = text(values[i]);
  }
  *series = known->with(std::span<const std::string_view>(texts.data(), value_count)).id();
  return SMG_OK;
}

void metrics_add(const smg_host* /*host*/, std::uint64_t id, double value) noexcept {
  const Series series = Series::from_id(id);
  if (series && series.type() != MetricType::kHistogram) series.add(value);
}
void metrics_set(const smg_host* /*host*/, std::uint64_t id, double value) noexcept {
  const Series series = Series::from_id(id);
  if (series && series.type() == MetricType::kGauge) series.set(value);
}
void metrics_observe(const smg_host* /*host*/, std::uint64_t id, double value) noexcept {
  const Series series = Series::from_id(id);
  if (series && series.type() == MetricType::kHistogram) series.observe(value);
}

constexpr smg_metrics_service kMetrics{sizeof(smg_metrics_service),
                                       0,
                                       metrics_family,
                                       metrics_series,
                                       metrics_add,
                                       metrics_set,
                                       metrics_observe};

// ---- bus

void bus_publish(const smg_host* host, const smg_event* event) noexcept {
  HostContext& context = context_of(host);
  if (event != nullptr && plausible(*event)) {
    context.services().bus->publish(*event);
    return;
  }
  std::array<char, 120> text;
  const auto end = fmt::format_to_n(
      text.data(), text.size(), "published an event of type {} and size {}, which cannot be",
      event == nullptr ? 0 : event->type, event == nullptr ? 0 : event->struct_size);
  context.faults().count(Fault::bad_call,
                         {text.data(), std::min<std::size_t>(end.size, text.size())});
}

std::uint64_t bus_subscribe(const smg_host* host, std::uint64_t types, smg_event_fn fn,
                            void* context) noexcept {
  if (fn != nullptr) return context_of(host).subscribe(types, fn, context);
  context_of(host).faults().count(Fault::bad_call, "bus.subscribe was given no function");
  return 0;
}

void bus_unsubscribe(const smg_host* host, std::uint64_t subscription) noexcept {
  context_of(host).unsubscribe(subscription);
}

constexpr smg_bus_service kBus{sizeof(smg_bus_service), 0, bus_publish, bus_subscribe,
                               bus_unsubscribe};

}  // namespace

const void* find_service(const smg_host* host, const char* id) {
  const HostServices& services = context_of(host).services();
  const std::string_view name = id == nullptr ? std::string_view() : id;
  if (name == SMG_SERVICE_LOG) return services.logger == nullptr ? nullptr : &kLog;
  if (name == SMG_SERVICE_CLOCK) return &kClock;
  if (name == SMG_SERVICE_OPTIONS) return &kOptions;
  if (name == SMG_SERVICE_METRICS) return services.metrics == nullptr ? nullptr : &kMetrics;
  if (name == SMG_SERVICE_BUS) return services.bus == nullptr ? nullptr : &kBus;
  if (name == SMG_SERVICE_LOOP) return services.loop;
  if (name == SMG_SERVICE_RESOLVE) return services.resolve;
  if (name == SMG_SERVICE_FLEET) return services.fleet;
  return nullptr;
}

}  // namespace smg
