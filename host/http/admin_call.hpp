// One call of the admin API: collected and answered on a data loop, dealt with on the control loop.
//
// Made, fed and detached on the connection's loop. It walks to the control loop and back; whoever
// holds it last, on whatever thread, lets it go.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/admin/admin_api.hpp"
#include "host/http/listener_loop.hpp"
#include "host/routing/client.hpp"

namespace smg {

class AdminCall : public std::enable_shared_from_this<AdminCall> {
 public:
  AdminCall(Client& client, ListenerLoop& env, const Route& route, std::string_view id,
            std::string_view query);

  // False: it is larger than such a body may be.
  bool add_body(std::string_view data);
  // The request is there in full. The client gets its answer later.
  void submit();
  // The client is gone.
  void detach() { client_ = nullptr; }

 private:
  struct Task : smg_task {
    std::shared_ptr<AdminCall> call;
  };
  static void ask(smg_task* task);      // control loop
  static void deliver(smg_task* task);  // the connection's loop

  Client* client_;
  Loop& home_;
  Loop& control_;
  AdminApi& api_;
  AdminRequest request_;
  AdminReply reply_;
  Task walk_{};
};

}  // namespace smg
