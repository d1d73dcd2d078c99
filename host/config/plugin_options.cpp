#include "host/config/plugin_options.hpp"

namespace smg {
namespace {

std::string_view text(smg_view view) {
  return {view.data, view.size};
}

}  // namespace

Setting option_setting(const smg_plugin& plugin, const smg_option& option) {
  Setting setting;
  setting.section = text(plugin.name);
  setting.key = text(option.name);
  setting.flag = text(option.flag);
  setting.help = text(option.help);
  switch (option.type) {
    case SMG_OPTION_BOOL:
      setting.kind = SettingKind::kBool;
      break;
    case SMG_OPTION_INT:
      setting.kind = SettingKind::kInteger;
      break;
    case SMG_OPTION_FLOAT:
      setting.kind = SettingKind::kNumber;
      break;
    case SMG_OPTION_STRING:
      setting.kind = SettingKind::kText;
      break;
    default:
      setting.kind = SettingKind::kTexts;
      break;
  }
  setting.minimum = -std::numeric_limits<double>::max();
  setting.maximum = std::numeric_limits<double>::max();
  if (option.minimum <= option.maximum) {
    setting.minimum = option.minimum;
    setting.maximum = option.maximum;
    setting.above_minimum = option.exclusive_minimum != 0;
  }
  return setting;
}

bool default_options(const smg_plugin& plugin, PluginOptions& options, std::string& reason) {
  for (std::uint32_t i = 0; i < plugin.option_count; ++i) {
    const smg_option& option = plugin.options[i];
    if (option.default_value.size == 0) continue;
    const Setting setting = option_setting(plugin, option);
    ParseFailure failure;
    const Node node = parse_value(text(option.default_value), failure);
    OptionValue value;
    std::string why = failure.reason;
    if (!why.empty() || !read_value(setting, node, value, why)) {
      reason = "plugin " + std::string(text(plugin.name)) + " declares the option " +
               std::string(setting.key) + " with the default " +
               std::string(text(option.default_value)) + ", which " + why;
      return false;
    }
    options[std::string(setting.key)] = std::move(value);
  }
  return true;
}

}  // namespace smg
