#include "loop_state.hpp"

#include "transport.hpp"

namespace smg::http {

LoopState::LoopState(Transport& owner, uint32_t loop)
    : transport(owner),
      services(owner.services()),
      settings(owner.settings()),
      index(loop),
      headers{} {}

}  // namespace smg::http
