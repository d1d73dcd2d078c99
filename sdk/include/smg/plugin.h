// smg/plugin.h - what a plugin library exports, and how it describes itself.
//
// A library exports exactly one symbol, smg_plugin_entry. It returns a constant table that names
// every plugin in the library: its kind, its options, and the table of functions that does the
// work. The host reads the table, checks magic, versions, sizes and names, and only then calls
// anything in it.
//
// Rationale: constant data can be checked without running foreign code, printed by
// `smg plugins describe NAME`, and turned into TOML keys and command-line flags; a registration
// call could do none of that.
#ifndef SMG_PLUGIN_H
#define SMG_PLUGIN_H

#include "smg/abi.h"

#define SMG_PLUGIN_MAGIC 0x31474d53u  // "SMG1", little endian

#define SMG_KIND_POLICY 1u     // api is an smg_policy_api,    smg/policy.h
#define SMG_KIND_TRANSPORT 2u  // api is an smg_transport_api, smg/transport.h
#define SMG_KIND_MONITOR 3u    // api is an smg_monitor_api,   smg/monitor.h

#define SMG_OPTION_BOOL 1u
#define SMG_OPTION_INT 2u    // 64-bit signed
#define SMG_OPTION_FLOAT 3u  // 64-bit
#define SMG_OPTION_STRING 4u
#define SMG_OPTION_STRING_LIST 5u

// One option. In TOML it is the key `name` of the plugin's own table, for example
// `[policy.cache_aware] cache_threshold = 0.5`. The host refuses unknown keys, wrong types and
// values out of range before the plugin sees them, so a plugin reads only what it declared.
typedef struct smg_option {
  uint32_t struct_size;
  uint32_t type;               // SMG_OPTION_*
  smg_view name;               // [a-z0-9_]+, unique within the plugin
  smg_view default_value;      // as one would write it in TOML; empty: the option has no default
  smg_view help;               // one sentence, without a final stop
  double minimum, maximum;     // for INT and FLOAT, inclusive; minimum > maximum: no range
  const smg_view* choices;     // for STRING and STRING_LIST: the only values allowed
  uint32_t choice_count;       // 0: any text
  uint32_t exclusive_minimum;  // 1: the value must be above `minimum`, not at it
  smg_view flag;               // command-line flag without the dashes, empty: none; further names
                               // of it behind commas
  // Policies: the default of an instance that a worker's label `policy` asks for; empty: the same
  // as default_value. Since ABI 0.2.
  smg_view label_default;
} smg_option;

// dlclose is safe: no thread is left after destroy, and there is no thread_local with a destructor
// and no GNU-unique symbol.
#define SMG_PLUGIN_UNLOADABLE 1u

// One plugin. All of it is constant and lives as long as the library is mapped.
typedef struct smg_plugin {
  uint32_t struct_size;
  uint32_t kind;     // SMG_KIND_*
  smg_view name;     // [a-z0-9_]+, what TOML and metrics say
  smg_view version;  // free text, shown to people
  smg_view vendor;
  smg_view summary;  // one line
  const smg_option* options;
  uint32_t option_count;
  uint32_t flags;   // SMG_PLUGIN_*
  const void* api;  // the table of the kind, itself starting with struct_size
  // [any] Abilities beyond the table, by id; NULL for what it does not have. May be NULL itself.
  const void* (*extension)(const char* id);
} smg_plugin;

// What smg_plugin_entry returns. The first four members keep their place in every version, so that
// any host can tell any library what is wrong with it.
typedef struct smg_library {
  uint32_t magic;
  uint16_t abi_major;
  uint16_t abi_minor;
  uint32_t struct_size;
  uint32_t plugin_count;  // at least 1
  smg_view build;         // compiler, commit: free text for bug reports
  const smg_plugin* plugins;
  uint64_t plugin_stride;  // sizeof(smg_plugin) as the library was compiled
} smg_library;

#if defined(__GNUC__)
#define SMG_EXPORT __attribute__((visibility("default")))
#else
#define SMG_EXPORT
#endif

typedef const smg_library* (*smg_plugin_entry_fn)(void);

// [any] Returns the same table at every call and does nothing else.
#ifdef __cplusplus
extern "C" {
#endif
SMG_EXPORT const smg_library* smg_plugin_entry(void);
#ifdef __cplusplus
}
#endif

#endif
