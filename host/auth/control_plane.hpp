// Who may use the admin routes: keys with roles, signed tokens (JWT), or the shared key alone.
//
// One object, made once. check() is for any loop; configure() for any thread. A verdict on a key is
// told at once. A token is verified on a thread of the object, which also fetches the signer's
// keys, and the verdict comes back as a task. Every verdict is counted and goes to the audit log.
// Destroyed, it waits for the thread; verdicts that are due then are not told. So it goes before
// the loops do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "host/config/config.hpp"
#include "host/metrics/families.hpp"
#include "smg/host.h"

namespace smg {

class PendingVerdict;
class TokenDesk;

// What is asked. The views are valid for the call.
struct AdminQuery {
  std::string_view authorization;  // the header's value; empty where there is none, or several
  std::string_view method;
  std::string_view path;      // as received, without its query
  std::string_view resource;  // what the path names: a worker's id; may be empty
  std::string_view request_id;
};

struct AdminVerdict {
  std::uint32_t status = 0;      // 0: pass; else 401 or 403
  std::string_view challenge;    // the value of WWW-Authenticate; empty: no such header
  std::string text;              // the body, as text/plain; may be empty
  std::string principal;         // who it is; empty: nobody knows
  std::string_view auth_method;  // "none", "shared_key", "api_key", "jwt"
  std::string_view role;         // "admin", "user", or empty

  bool pass() const { return status == 0; }
};

class ControlPlane {
 public:
  using Post = std::function<void(smg_task*)>;  // to the loop that asks; any thread
  using Done = std::function<void(const AdminVerdict&)>;
  // A request whose verdict is not there yet. Belongs to the loop that asked.
  using Pending = std::shared_ptr<PendingVerdict>;

  ControlPlane(const Auth& auth, Families& families);
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // From now on. Requests that wait for a verdict get it by the rules under which they came. Keys
  // of a signer that stays the same are kept.
  void configure(const Auth& auth);

  // The verdict, where it can be told at once. Else none: `pending` is set, and `done` is called
  // later, from a task that `post` is given, unless forget(pending) comes first.
  std::optional<AdminVerdict> check(const AdminQuery& query, const Post& post, Done done,
                                    Pending& pending);
  // The client is gone: `done` will not be called. On the loop that asked.
  static void forget(Pending& pending);

 private:
  struct Rules;

  void record(const Rules& rules, const AdminQuery& query, const AdminVerdict& verdict) const;

  Families& families_;
  const Series unauthorized_, forbidden_;
  std::mutex mutex_;
  std::shared_ptr<const Rules> rules_;
  std::unique_ptr<TokenDesk> desk_;  // once there is an issuer
};

}  // namespace smg
