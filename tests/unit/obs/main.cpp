#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef __SANITIZE_THREAD__
// Poco counts references to a connection's delegate in code that is not instrumented: the sanitizer
// does not see what orders the last use of the delegate's mutex before its end.
extern "C" const char* __tsan_default_suppressions() {
  return "race:Poco::Delegate\n";
}
#endif
