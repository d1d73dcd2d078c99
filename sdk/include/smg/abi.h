// smg/abi.h - the vocabulary that every other header of the ABI uses.
//
// The ABI is plain C: fixed-width integers, pointer+length views, tables of functions. Rules that
// hold for every struct and every function, so that they are written once:
//
//  Layout     Every struct that may grow begins with `struct_size`, set by whoever fills it. A
//  reader
//             looks at no byte beyond it; SMG_HAS tells whether a member is there. Members are only
//             ever appended. Small value types (smg_view, smg_header, smg_address) never change.
//  Views      A view is not terminated and not owned. Unless a comment says otherwise it is valid
//  for
//             the call it was passed to, and empty means {anything, 0}.
//  Ownership  Whoever allocates frees; nothing allocated on one side is freed on the other.
//  Threads    Every function carries one of these tags:
//               [loop]     on a loop thread. Must not block. All calls and call-backs that belong
//               to one
//                          object (a stream, a timer, a watch) happen on the loop it was made on.
//               [control]  on the control thread, which is a loop as well (the last one): may use
//                          everything tagged [loop], must not block either.
//               [bus]      on the thread that delivers events. May take its time, must not block
//               for good. [any]      on any thread, threads of the plugin's own included.
//  Errors     A function that can fail returns an smg_status and, where it has an smg_error
//  argument,
//             writes a sentence there that names the thing, its value and what would be right.
//             No exception and no longjmp ever crosses the ABI.
//  Strings    UTF-8 where they are text; raw octets where they come from the wire.
//
// Times are nanoseconds of the host's monotonic clock (smg/host.h) unless a name says otherwise.
// The ABI is defined for targets with 8-byte pointers.
#ifndef SMG_ABI_H
#define SMG_ABI_H

#include <stddef.h>
#include <stdint.h>

// A plugin of another major is refused. A plugin with a higher minor than the host's is refused as
// well: it may call what the host does not have. A lower minor is served. Major 0 means that the
// three transports (HTTP, gRPC, ZMQ) have not all run on it yet: until then a minor may still
// break.
#define SMG_ABI_MAJOR 0
#define SMG_ABI_MINOR 3

// True if struct pointer `p` was filled by a side that knows `member`.
#define SMG_HAS(p, member) \
  ((p)->struct_size >= (uint32_t)((const char*)(&(p)->member + 1) - (const char*)(p)))

typedef struct smg_view {
  const char* data;
  uint64_t size;
} smg_view;

// One header field. Names are as they came from the wire: compare without regard to case.
typedef struct smg_header {
  smg_view name;
  smg_view value;
} smg_header;

// A resolved network address. `family` is 4 or 6; for 4 the first four bytes count. Network byte
// order in `bytes`, host byte order in `port`.
typedef struct smg_address {
  uint8_t bytes[16];
  uint32_t scope_id;
  uint16_t port;
  uint16_t family;
} smg_address;

typedef int32_t smg_status;

#define SMG_OK 0                // done
#define SMG_NO_CHOICE 1         // a policy declines: no worker of the pool may take this request
#define SMG_E_INVALID (-1)      // an argument or a value is outside its range
#define SMG_E_UNSUPPORTED (-2)  // this side does not know what was asked for
#define SMG_E_EXISTS (-3)       // the name is taken
#define SMG_E_NOT_FOUND (-4)    // nothing of that name or handle
#define SMG_E_LIMIT (-5)        // a limit is reached; try again later
#define SMG_E_INTERNAL (-6)     // the callee failed: the text says how
#define SMG_E_THREAD (-7)       // called on the wrong thread

// Caller-owned room for an error text. The callee writes at most `capacity` bytes, sets `size` to
// what it wrote (no terminator), and cuts longer texts.
typedef struct smg_error {
  char* text;
  uint64_t capacity;
  uint64_t size;
} smg_error;

#endif
