// A plugin with a symbol that nobody has.
#include "smg/plugin.h"

const smg_library* smg_test_nobody_defines_this(void);

const smg_library* smg_plugin_entry(void) {
  return smg_test_nobody_defines_this();
}
