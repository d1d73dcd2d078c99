#include "streams.hpp"

namespace puppet {

// The streams live as long as there is a task for them: an endpoint may close in between.
struct Streams::Drive : smg_task {
  std::shared_ptr<Streams> streams;
  std::string url;
  Step step;

  Drive(std::shared_ptr<Streams> to, std::string worker, Step what)
      : smg_task{}, streams(std::move(to)), url(std::move(worker)), step(what) {
    run = [](smg_task* task) {
      const std::unique_ptr<Drive> self(static_cast<Drive*>(task));
      self->streams->drive_here(self->url, self->step);
    };
  }
};

void Streams::begin(const std::string& url, uint64_t worker, uint64_t ticket, uint64_t* stream) {
  *stream = number();
  here().open.emplace(*stream, Open{url, worker, ticket});
  fleet_.tracked_load(worker, 1);
  const smg_header type{smg::view("content-type"), smg::view("text/event-stream")};
  smg_response_head head{};
  head.struct_size = sizeof head;
  head.status = 200;
  head.headers = &type;
  head.header_count = 1;
  head.content_length = -1;
  sink_->head(ticket, &head);
}

void Streams::cancel(uint64_t stream) {
  auto& open = here().open;
  const auto found = open.find(stream);
  if (found == open.end()) return;
  fleet_.tracked_load(found->second.worker, -1);
  open.erase(found);
}

void Streams::drive(const std::string& url, Step step) {
  for (uint32_t loop = 0; loop < loop_.count(); ++loop) {
    loop_.post(loop, *new Drive(shared_from_this(), url, step));
  }
}

void Streams::drive_here(const std::string& url, Step step) {
  static constexpr std::string_view kToken = "data: token\n\n";
  static constexpr smg_outcome kComplete{
      sizeof(smg_outcome), SMG_END_COMPLETE, SMG_PHASE_DATA, 0, {}};
  // A copy: a sink call may cancel.
  const auto streams = here().open;
  for (const auto& [stream, open] : streams) {
    if (open.url != url || !here().open.contains(stream)) continue;
    fleet_.progress(open.worker, 1);
    if (step == Step::pour) {
      sink_->data(open.ticket, kToken.data(), kToken.size());
    } else {
      cancel(stream);
      sink_->end(open.ticket, &kComplete);
    }
  }
}

}  // namespace puppet
