#include "host/logging.hpp"

#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/daily_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <mutex>

#include "host/line_output.hpp"
#include "host/routing/error_reply.hpp"

namespace smg {
namespace {

// The message as a JSON string.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    std::string quoted;
    append_json_string(quoted, {message.payload.data(), message.payload.size()});
    out.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

// The message as one line, whatever a worker called its models: no byte of it can move the cursor.
class PlainMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    for (const char c : message.payload) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte != 0x7f) {
        out.push_back(c);
      } else {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PlainMessage>();
  }
};

// Standard output. Where nobody reads it, a terminal on hold too, lines are lost and the process
// can end all the same.
class OutputSink final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    std::string line(text.data(), text.size());
    if (terminal_ && message.color_range_end > message.color_range_start) {
      line.insert(message.color_range_end, "\x1b[m");
      line.insert(message.color_range_start, colour_of(message.level));
    }
    output_->write(line);
  }
  void flush_() override {}

  static const char* colour_of(spdlog::level::level_enum level) {
    if (level >= spdlog::level::err) return "\x1b[31;1m";
    if (level == spdlog::level::warn) return "\x1b[33;1m";
    return level == spdlog::level::info ? "\x1b[32m" : "\x1b[36m";
  }

  const bool terminal_ = isatty(STDOUT_FILENO) != 0;
  const std::unique_ptr<LineOutput> output_ = LineOutput::of(STDOUT_FILENO);
};

// What is wrong with the log itself, to standard error, which may be as stuck as the output. On the
// log's own thread.
void tell_problems(spdlog::logger& logger) {
  const std::shared_ptr<LineOutput> output = LineOutput::of(STDERR_FILENO);
  logger.set_error_handler([output, told = std::string()](const std::string& what) mutable {
    if (what == told) return;
    told = what;
    output->write("smg: the log cannot be written: " + what + "\n");
  });
}

}  // namespace

std::string start_logging(const Log& config) {
  spdlog::init_thread_pool(8192, 1);
  std::vector<spdlog::sink_ptr> sinks{std::make_shared<OutputSink>()};
  if (!config.dir.empty()) {
    try {
      std::filesystem::create_directories(config.dir);
      sinks.push_back(
          std::make_shared<spdlog::sinks::daily_file_sink_mt>(config.dir + "/smg.log", 0, 0));
    } catch (const std::exception& error) {
      return "[log] dir = \"" + config.dir + "\" cannot be written: " + error.what();
    }
  }
  // When the queue is full the oldest lines are lost rather than a thread blocked.
  auto logger = std::make_shared<spdlog::async_logger>(
      "smg", sinks.begin(), sinks.end(), spdlog::thread_pool(),
      spdlog::async_overflow_policy::overrun_oldest);
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JsonMessage>('*').add_flag<PlainMessage>('|');
  formatter->set_pattern(config.json
                             ? R"({"timestamp":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%*})"
                             : "%Y-%m-%d %H:%M:%S.%e %^%-5l%$ %|");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(config.level));
  logger->flush_on(spdlog::level::warn);
  tell_problems(*logger);
  spdlog::set_default_logger(std::move(logger));
  spdlog::flush_every(std::chrono::seconds(1));
  return {};
}

void set_log_level(const std::string& level) {
  spdlog::default_logger()->set_level(spdlog::level::from_str(level));
}

void stop_logging() {
  spdlog::shutdown();
}

}  // namespace smg
