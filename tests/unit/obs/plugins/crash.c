// Libraries that harm whoever opens them.
#include <stdlib.h>

#ifdef ENTRY_IS_DATA
#define smg_plugin_entry smg_plugin_entry_declared
#endif
#include "smg/plugin.h"
#undef smg_plugin_entry

#ifdef ENTRY_IS_DATA
SMG_EXPORT const unsigned char smg_plugin_entry[16] = {0};
#else
const smg_library* smg_plugin_entry(void) {
#ifdef CRASH_IN_ENTRY
  abort();
#endif
#ifdef EXIT_IN_ENTRY
  exit(3);
#endif
  return 0;
}
#endif

#ifdef CRASH_IN_CONSTRUCTOR
__attribute__((constructor)) static void crash(void) {
  abort();
}
#endif
