// Any bytes as the table that a library exports: it is refused with a reason, or what passes is as
// the headers promise. The bytes say field by field whether it is as it should be or what stands
// there instead; pointers lead to memory of the size that the table claims, for lies about that can
// not be found out by looking.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/plugin/descriptor_check.hpp"
#include "require.hpp"

using namespace smg;
using test::require;

namespace {

void function() {}

class Source {
 public:
  Source(const std::uint8_t* data, std::size_t size) : data_(data), end_(data + size) {}

  unsigned byte() { return data_ == end_ ? 0 : *data_++; }
  // `usual`, unless a byte above 200 says that the number behind it stands there.
  template <class T>
  T number(T usual) {
    if (byte() <= 200) return usual;
    T value{};
    const std::size_t there = std::min(sizeof value, static_cast<std::size_t>(end_ - data_));
    std::memcpy(&value, data_, there);
    data_ += there;
    return value;
  }
  smg_view text(std::string_view usual) {
    const unsigned size = byte();
    if (size == 0) return view(usual);
    if (size == 255) return {nullptr, number<std::uint64_t>(0)};
    const auto there = static_cast<std::size_t>(end_ - data_);
    const smg_view view{reinterpret_cast<const char*>(data_), size < there ? size : there};
    data_ += view.size;
    return view;
  }
  // A function's address; rarely none.
  template <class F>
  void set(F*& pointer) {
    pointer = byte() == 255 ? nullptr : reinterpret_cast<F*>(&function);
  }

 private:
  const std::uint8_t* data_;
  const std::uint8_t* end_;
};

// Memory of its exact size for every part of the table.
class Table {
 public:
  explicit Table(Source& source) : source_(source) {
    library_.magic = source.number(SMG_PLUGIN_MAGIC);
    library_.abi_major = source.number<std::uint16_t>(SMG_ABI_MAJOR);
    library_.abi_minor = source.number<std::uint16_t>(SMG_ABI_MINOR);
    library_.struct_size = source.number<std::uint32_t>(sizeof(smg_library));
    library_.build = source.text("clang");
    library_.plugin_stride = source.number<std::uint64_t>(sizeof(smg_plugin));
    library_.plugin_count = source.number<std::uint32_t>(1 + source.byte() % 3);
    const std::uint64_t stride = library_.plugin_stride;
    if (library_.plugin_count > 64 || stride > 1024) return;  // a list that is not looked at
    char* const at = memory(library_.plugin_count * stride);
    library_.plugins = reinterpret_cast<const smg_plugin*>(at);
    for (std::uint32_t i = 0; i < library_.plugin_count; ++i) {
      const smg_plugin plugin = make_plugin(i);
      std::memcpy(at + i * stride, &plugin, std::min<std::size_t>(sizeof plugin, stride));
    }
  }

  const smg_library* get() const { return &library_; }

 private:
  char* memory(std::size_t size) {
    blocks_.push_back(std::make_unique<char[]>(size));
    return blocks_.back().get();
  }

  smg_plugin make_plugin(std::uint32_t i) {
    static constexpr std::string_view kNames[] = {"one", "two", "three"};
    smg_plugin plugin{};
    plugin.struct_size = source_.number<std::uint32_t>(sizeof plugin);
    plugin.kind = source_.number<std::uint32_t>(1 + source_.byte() % 3);
    plugin.name = source_.text(kNames[i % 3]);
    plugin.version = source_.text("1");
    plugin.vendor = source_.text("");
    plugin.summary = source_.text("a plugin");
    plugin.option_count = source_.number<std::uint32_t>(source_.byte() % 4);
    make_options(plugin);
    make_api(plugin);
    return plugin;
  }

  void make_options(smg_plugin& plugin) {
    const auto stride = source_.number<std::uint32_t>(sizeof(smg_option));
    if (plugin.option_count > 256 || stride > 256 || stride < sizeof(std::uint32_t)) return;
    char* const at = memory(std::size_t{plugin.option_count} * stride);
    plugin.options = reinterpret_cast<const smg_option*>(at);
    for (std::uint32_t i = 0; i < plugin.option_count; ++i) {
      smg_option option = make_option(i, stride);
      if (i == 0) option.struct_size = stride;  // what the list goes by
      std::memcpy(at + i * stride, &option, std::min<std::size_t>(sizeof option, stride));
    }
  }

  smg_option make_option(std::uint32_t i, std::uint32_t stride) {
    static constexpr std::string_view kNames[] = {"size", "mode", "ratio", "list"};
    smg_option option{};
    option.struct_size = source_.number(stride);
    option.type = source_.number<std::uint32_t>(1 + source_.byte() % 5);
    option.name = source_.text(kNames[i % 4]);
    option.default_value = source_.text("");
    option.help = source_.text("help");
    option.minimum = source_.number<double>(1);
    option.maximum = source_.number<double>(0);
    option.exclusive_minimum = source_.number<std::uint32_t>(0);
    option.flag = source_.text("");
    option.label_default = source_.text("");
    option.choice_count = source_.number<std::uint32_t>(source_.byte() % 3);
    if (option.choice_count <= 1024) option.choices = views(option.choice_count);
    return option;
  }

  const smg_view* views(std::uint32_t count) {
    if (count == 0) return nullptr;
    auto* const list = reinterpret_cast<smg_view*>(memory(count * sizeof(smg_view)));
    for (std::uint32_t i = 0; i < count; ++i) list[i] = source_.text("http");
    return list;
  }

  // The table of functions, cut or continued to the size that it claims.
  template <class Api>
  void keep(smg_plugin& plugin, Api& api) {
    api.struct_size = source_.number<std::uint32_t>(sizeof api);
    const std::size_t size = std::clamp<std::size_t>(api.struct_size, 4, 1024);
    if (api.struct_size > 1024) api.struct_size = 1024;
    char* const at = memory(size);
    std::memcpy(at, &api, std::min(sizeof api, size));
    plugin.api = source_.byte() == 255 ? nullptr : at;
  }

  void make_api(smg_plugin& plugin) {
    if (plugin.kind == SMG_KIND_POLICY) {
      smg_policy_api api{};
      api.needs = source_.number<std::uint32_t>(0);
      source_.set(api.create);
      source_.set(api.destroy);
      source_.set(api.select);
      keep(plugin, api);
    } else if (plugin.kind == SMG_KIND_TRANSPORT) {
      smg_transport_api api{};
      api.scheme_count = source_.number<std::uint32_t>(1);
      if (api.scheme_count <= 64) api.schemes = views(api.scheme_count);
      api.runtime_count = source_.number<std::uint32_t>(0);
      if (api.runtime_count <= 64) api.runtimes = views(api.runtime_count);
      source_.set(api.create);
      source_.set(api.destroy);
      source_.set(api.open);
      source_.set(api.quiesce);
      source_.set(api.close);
      source_.set(api.probe);
      source_.set(api.start);
      source_.set(api.pause);
      source_.set(api.resume);
      source_.set(api.cancel);
      keep(plugin, api);
    } else {
      smg_monitor_api api{};
      source_.set(api.create);
      source_.set(api.destroy);
      source_.set(api.match);
      source_.set(api.attach);
      source_.set(api.detach);
      keep(plugin, api);
    }
  }

  Source& source_;
  smg_library library_{};
  std::vector<std::unique_ptr<char[]>> blocks_;
};

void check_name(std::string_view name) {
  require(!name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
                               std::string_view::npos,
          "a name is [a-z0-9_]+");
}

void check_option(const smg_option& option) {
  check_name(text(option.name));
  require(option.struct_size == sizeof option, "an option in this side's layout");
  require(option.type >= SMG_OPTION_BOOL && option.type <= SMG_OPTION_STRING_LIST, "a known type");
  require(option.choice_count == 0 || option.type >= SMG_OPTION_STRING, "choices are of texts");
  require(!(option.minimum != option.minimum) && !(option.maximum != option.maximum), "a range");
  const std::string_view given = text(option.default_value);
  if (option.type == SMG_OPTION_INT && option.minimum <= option.maximum && !given.empty() &&
      given.size() < 10 && given.find_first_not_of("0123456789") == given.npos) {
    const double value = std::stod(std::string(given));
    require(value >= option.minimum && value <= option.maximum, "a default within the range");
  }
}

void check_plugin(const Plugin& plugin) {
  check_name(plugin.name());
  require(plugin.descriptor.struct_size == sizeof plugin.descriptor, "in this side's layout");
  require(plugin.options.size() <= 256 && plugin.options.size() == plugin.descriptor.option_count &&
              plugin.options.data() == plugin.descriptor.options,
          "the options are its own");
  std::set<std::string_view> names;
  for (const auto& option : plugin.options) {
    check_option(option);
    require(names.insert(text(option.name)).second, "every option once");
  }
  if (plugin.kind() == SMG_KIND_POLICY) {
    require(plugin.policy().create != nullptr && plugin.policy().select != nullptr, "complete");
  } else if (plugin.kind() == SMG_KIND_TRANSPORT) {
    const smg_transport_api& api = plugin.transport();
    require(api.scheme_count >= 1 && api.schemes != nullptr && api.cancel != nullptr, "complete");
  } else {
    require(plugin.kind() == SMG_KIND_MONITOR && plugin.monitor().detach != nullptr, "complete");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source source(data, size);
  const Table table(source);
  std::string error;
  const auto plugins = check_library(table.get(), error);
  require(plugins.empty() == !error.empty(), "plugins or a reason");
  require(plugins.size() <= 64, "not too many");
  std::set<std::pair<std::uint32_t, std::string_view>> names;
  for (const auto& plugin : plugins) {
    check_plugin(*plugin);
    require(names.emplace(plugin->kind(), plugin->name()).second, "every plugin once");
  }
  return 0;
}
