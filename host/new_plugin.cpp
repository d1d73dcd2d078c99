#include "host/new_plugin.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "host/config/document.hpp"

namespace smg {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlaceholder = "my_plugin";
constexpr std::string_view kSchemePlaceholder = "my-plugin";
constexpr std::size_t kLongestName = 64;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// `c++` is `cpp` in the name of a folder.
std::string folder_name(const std::string& kind, const std::string& language) {
  return kind + "-" + (language == "c++" ? "cpp" : language);
}

// `policy in c++, policy in rust`
std::string offered(const fs::path& templates) {
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(templates, ignored)) {
    folders.push_back(entry.path().filename().string());
  }
  std::sort(folders.begin(), folders.end());
  std::string list;
  for (const auto& folder : folders) {
    const std::size_t dash = folder.find('-');
    if (dash == std::string::npos) continue;
    const std::string language = folder.substr(dash + 1);
    list += (list.empty() ? "" : ", ") + folder.substr(0, dash) + " in " +
            (language == "cpp" ? "c++" : language);
  }
  return list;
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Throws fs::filesystem_error.
void copy_renamed(const fs::path& from, const fs::path& to, const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  fs::create_directories(to);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path target = to / entry.path().lexically_relative(from);
    if (entry.is_directory()) {
      fs::create_directory(target);
      continue;
    }
    std::ifstream in(entry.path(), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    text = replaced(std::move(text), kPlaceholder, name);
    text = replaced(std::move(text), kSchemePlaceholder, dashed);
    std::ofstream out(target, std::ios::binary);
    if (!in || !(out << text).flush()) {
      throw fs::filesystem_error("cannot write", target,
                                 std::error_code(errno, std::generic_category()));
    }
  }
}

std::string shell_word(const fs::path& path) {
  const std::string text = path.string();
  if (text.find_first_of(" \t'\"\\$`&;|<>()*?[]#~!{}") == std::string::npos) return text;
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::string next_steps(const NewPlugin& wish, const fs::path& place, const fs::path& bin) {
  const fs::path prefix = bin.parent_path();
  const bool installed = fs::exists(prefix / "include" / "smg" / "plugin.h");
  const std::string build = shell_word(place / "build");
  const fs::path library = place / "build" / (wish.name + ".so");
  std::string text = place.string() + " is a " + wish.kind + " in " + wish.language +
                     " that can be built as it is. Next:\n\n";
  if (!installed) {
    text += "  # this gateway is not installed: install the SDK first\n  cmake --install " +
            shell_word(prefix) + " --prefix \"$HOME/smg\" --component sdk\n\n";
  }
  text += "  cmake -S " + shell_word(place) + " -B " + build +
          " -DCMAKE_PREFIX_PATH=" + (installed ? shell_word(prefix) : "\"$HOME/smg\"") +
          " && cmake --build " + build + "\n  " + shell_word(bin / "smg-plugin-check") + " " +
          shell_word(library) +
          "\n\nThen name it in the gateway's configuration, and see that it is there:\n\n"
          "  [plugins]\n  paths = [\"$ORIGIN/../lib/smg/plugins\", \"" +
          fs::absolute(place / "build").lexically_normal().string() + "\"]\n";
  if (wish.kind == "policy") text += "\n  [policy]\n  name = \"" + wish.name + "\"\n";
  return text + "\n  " + shell_word(bin / "smg") + " plugins describe " + wish.name +
         " --config FILE\n";
}

}  // namespace

std::string write_project(const NewPlugin& wish, const fs::path& program, std::string& error) {
  const auto refuse = [&error](const std::string& words) {
    error = words + "\n";
    return std::string();
  };
  if (!is_name(wish.name)) {
    return refuse("'" + printable_text(wish.name) +
                  "' is no name for a plugin: a letter from a to z, then letters, digits and "
                  "underscores, at most 64");
  }
  const fs::path bin = program.parent_path();
  const fs::path templates = bin.parent_path() / "share" / "smg" / "sdk" / "templates";
  std::error_code code;
  if (!fs::is_directory(templates, code)) {
    return refuse("no templates in " + templates.string() +
                  ": install the SDK beside the gateway (cmake --install BUILD_DIR --prefix " +
                  bin.parent_path().string() + ")");
  }
  const fs::path from = templates / folder_name(wish.kind, wish.language);
  if (wish.kind.find('/') != std::string::npos || wish.language.find('/') != std::string::npos ||
      !fs::is_directory(from, code)) {
    return refuse("there is no template for a " + printable_text(wish.kind) + " in " +
                  printable_text(wish.language) + "; there are: " + offered(templates));
  }
  const fs::path place = wish.directory.empty() ? wish.name : wish.directory;
  if (fs::exists(fs::symlink_status(place, code))) {
    return refuse(place.string() + " is there already; name another directory with --dir");
  }
  try {
    copy_renamed(from, place, wish.name);
  } catch (const fs::filesystem_error& failure) {
    fs::remove_all(place, code);
    return refuse(failure.path1().string() + ": " + failure.code().message() +
                  "; name a directory that can be written with --dir");
  }
  return next_steps(wish, place, bin);
}

}  // namespace smg
