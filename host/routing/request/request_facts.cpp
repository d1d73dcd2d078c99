#include "host/routing/request/request_facts.hpp"

namespace smg {

void RequestFacts::clear() {
  model.clear();
  stream = false;
  return_documents = true;
  top_k = 0;
  query = documents = rid = {};
  present = strip = 0;
  member_count = close = tracked_count = 0;
}

void RoutingInput::clear() {
  // Assigning an empty string would keep the memory.
  if (text.capacity() > kKeptBytes) std::string().swap(text);
  if (tokens.capacity() * sizeof(tokens[0]) > kKeptBytes) tokens = std::vector<std::uint32_t>();
  if (cache_namespace.capacity() > kKeptBytes) std::string().swap(cache_namespace);
  text.clear();
  cache_namespace.clear();
  tokens.clear();
}

}  // namespace smg
