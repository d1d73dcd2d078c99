// smg/handover.h - how what a plugin has learnt survives its replacement.
//
// An optional extension (smg_plugin.extension answers it by id). When a library is reloaded, the
// instance that leaves writes its state and the one that takes over reads it before it is given
// requests: a prefix tree, a map of sticky keys, a position. State is a courtesy, never a
// condition: where either side does not offer the extension, where the reader does not know the
// writer's format, or where anything fails, the new instance starts empty and the log says so.
//
// Rationale for bytes with a named format, not a pointer: two versions of a library share no
// layout. A format is named by its plugin and rises when old bytes would be misread; a reader may
// go on accepting older ones.
//
// Order of calls at a reload, `old` serving throughout:
//   new.create  ->  new.pool_changed(NULL, pool) for every pool of old  ->  old.export_state  ->
//   new.import_state  ->  new takes over  ->  old is drained and destroyed
// What old learns after its export is lost.
#ifndef SMG_HANDOVER_H
#define SMG_HANDOVER_H

#include "smg/abi.h"

#define SMG_EXTENSION_STATE_HANDOVER "smg.state-handover/1"

// Where state is written. The bytes are copied during the call.
typedef struct smg_state_writer smg_state_writer;
struct smg_state_writer {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;  // the host's own
  // SMG_E_LIMIT: that is more than the host keeps (at least 1 GiB in all); give up.
  smg_status (*write)(const smg_state_writer* writer, const void* data, uint64_t size);
};

typedef struct smg_state_handover {
  uint32_t struct_size;
  uint32_t reserved;
  smg_view format;  // of what export_state writes, for example `cache_aware/1`
  // On a thread of the host's own that may block; concurrent with every other call of the instance
  // but destroy. May take its time: whatever it takes, requests go on.
  smg_status (*export_state)(void* self, const smg_state_writer* writer, smg_error* error);
  // On the same thread, before the first select and with nothing else running in the instance.
  // `state` is valid during the call. SMG_E_UNSUPPORTED: the format is not known here. After any
  // failure the instance is as if import_state had not been called.
  smg_status (*import_state)(void* self, smg_view format, smg_view state, smg_error* error);
} smg_state_handover;

#endif
