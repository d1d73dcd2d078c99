#include "process_usage.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace smg::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void add_process(pid_t pid, CpuTime& total) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return;
  // The command name may hold blanks and brackets: fields are counted from its closing one.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field <= 13; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  const auto tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  total.user_s += user / tick;
  total.system_s += system / tick;
}

CpuTime whole_machine() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft_irq = 0, steal = 0;
  file >> name >> user >> nice >> system >> idle >> wait >> irq >> soft_irq >> steal;
  const auto tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {(user + nice) / tick, (system + irq + soft_irq + steal) / tick};
}

}  // namespace

std::vector<CpuTime> sample_cpu(const std::vector<WatchGroup>& groups) {
  rusage self{};
  getrusage(RUSAGE_SELF, &self);
  std::vector<CpuTime> sample{whole_machine(), {seconds(self.ru_utime), seconds(self.ru_stime)}};
  for (const auto& group : groups) {
    CpuTime total;
    for (const auto pid : group.pids) add_process(pid, total);
    sample.push_back(total);
  }
  return sample;
}

}  // namespace smg::bench
