// A library with GNU-unique symbols, as compilers make them of statics in inline functions.
#include <string>

struct __attribute__((visibility("default"))) Shared {
  __attribute__((visibility("default"))) static std::string& text() {
    static std::string value = "one for the whole process";
    return value;
  }
};

extern "C" __attribute__((visibility("default"))) const char* shared_text() {
  return Shared::text().c_str();
}
