#include <exception>
#include <iostream>
#include <stdexcept>
#include <string_view>

#include "json_load.hpp"
#include "stream_load.hpp"

int main(int argc, char** argv) {
  using smg::bench::Mode;
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::cout << smg::bench::usage();
    return 0;
  }
  try {
    const auto options = smg::bench::parse_options(argc, argv);
    switch (options.mode) {
      case Mode::kJson:
        smg::bench::print_line(smg::bench::JsonLoad(options).run());
        break;
      case Mode::kStream:
        smg::bench::print_line(smg::bench::StreamLoad(options).run());
        break;
      case Mode::kIdle:
        smg::bench::print_line(smg::bench::StreamLoad(options).hold());
        break;
    }
  } catch (const std::invalid_argument& error) {
    std::cerr << "smg-load: " << error.what() << "\n\n" << smg::bench::usage();
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "smg-load: " << error.what() << "\n";
    return 1;
  }
}
