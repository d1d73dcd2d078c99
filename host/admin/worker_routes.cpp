// /workers: what is registered, and the jobs that change it.
#include <Poco/UUID.h>
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>

#include "host/admin/admin_api.hpp"
#include "host/admin/worker_json.hpp"
#include "host/admin/worker_spec_json.hpp"

namespace smg {
namespace {

namespace json = boost::json;

AdminReply refused(std::uint32_t status, std::string_view code, const std::string& message) {
  AdminReply reply;
  reply.status = status;
  reply.body = json::serialize(json::object{{"error", message}, {"code", json::string(code)}});
  return reply;
}

AdminReply bad_request(const std::string& message) {
  return refused(400, "BAD_REQUEST", message);
}

AdminReply refused(const SpecError& error) {
  if (!error.body) return bad_request(error.refusal);
  AdminReply reply;
  reply.status = error.body.status();
  reply.content_type = error.body.content_type();
  reply.body = error.body.body();
  return reply;
}

AdminReply not_found(const std::string& id) {
  return refused(404, "WORKER_NOT_FOUND", "Worker " + id + " not found");
}

AdminReply accepted(const std::string& id, std::string_view message) {
  AdminReply reply;
  reply.status = 202;
  reply.body = json::serialize(
      json::object{{"status", "accepted"}, {"worker_id", id}, {"message", json::string(message)}});
  return reply;
}

// The answer if the id is none.
std::optional<AdminReply> bad_id(const std::string& id) {
  Poco::UUID uuid;
  if (id.size() == 36 && uuid.tryParse(id)) return std::nullopt;
  return bad_request("worker id '" + id.substr(0, 64) + "' is not a UUID");
}

}  // namespace

void AdminApi::add_worker(const AdminRequest& request, const Done& done) {
  SpecError error;
  const auto spec = parse_worker_spec(request.body, error);
  if (!spec) return done(refused(error));
  if (const auto reason = registration_.unknown_scheme(*spec); !reason.empty()) {
    return done(bad_request(reason));
  }
  const std::string& url = spec->url.text;
  if (const auto present = registry_.find_url(url)) {
    const std::string& id = present->description().id;
    return done(refused(409, "WORKER_ALREADY_EXISTS",
                        fmt::format("Worker {} is registered already as {}: use PUT /workers/{} to "
                                    "replace it or PATCH /workers/{} to change it",
                                    url, id, id, id)));
  }
  // The place in the queue may be had before the id is known here.
  auto id = std::make_shared<std::string>();
  auto queued = std::make_shared<bool>(false);
  const auto answer = [id, url, done] {
    AdminReply reply;
    reply.status = 202;
    reply.extra_headers = "Location: /workers/" + *id + "\r\n";
    reply.body = json::serialize(
        json::object{{"status", "accepted"},
                     {"worker_id", *id},
                     {"url", url},
                     {"location", "/workers/" + *id},
                     {"message", "Worker addition queued for background processing"}});
    done(std::move(reply));
  };
  *id = registration_.add(*spec, [id, queued, answer] {
    *queued = true;
    if (!id->empty()) answer();
  });
  if (*queued) answer();
}

void AdminApi::list_workers(const AdminRequest& request, const Done& done) {
  const auto workers = selected(request, done);
  if (!workers) return;
  const auto reports = loads_.reports();
  json::array list;
  std::array<std::size_t, 4> counts{};
  for (const auto& worker : *workers) {
    const auto report = reports->find(worker->url());
    list.push_back(
        worker_json(*worker, report == reports->end() ? nullptr : report->second.get(), nullptr));
    ++counts[worker->view().type % counts.size()];
  }
  json::object body;
  body["total"] = list.size();
  body["workers"] = std::move(list);
  body["stats"] = {{"prefill_count", counts[SMG_WORKER_PREFILL]},
                   {"decode_count", counts[SMG_WORKER_DECODE]},
                   {"regular_count", counts[SMG_WORKER_REGULAR]}};
  AdminReply reply;
  reply.body = json::serialize(body);
  done(std::move(reply));
}

void AdminApi::get_worker(const AdminRequest& request, const Done& done) {
  if (auto problem = bad_id(request.id)) return done(std::move(*problem));
  const JobRecord* job = registration_.job(request.id);
  const auto worker = registry_.find_id(request.id);
  if (worker == nullptr && job == nullptr) return done(not_found(request.id));
  AdminReply reply;
  if (worker == nullptr) {
    reply.body = json::serialize(reserved_json(request.id, *job));
  } else {
    const auto reports = loads_.reports();
    const auto report = reports->find(worker->url());
    reply.body = json::serialize(
        worker_json(*worker, report == reports->end() ? nullptr : report->second.get(), job));
  }
  done(std::move(reply));
}

void AdminApi::replace_worker(const AdminRequest& request, const Done& done) {
  if (auto problem = bad_id(request.id)) return done(std::move(*problem));
  SpecError error;
  const auto spec = parse_worker_spec(request.body, error);
  if (!spec) return done(refused(error));
  const auto worker = registry_.find_id(request.id);
  if (worker == nullptr) return done(not_found(request.id));
  if (spec->url.text != worker->url()) {
    return done(bad_request(fmt::format(
        "url is {}, but worker {} is at {}: a worker cannot move; DELETE it and POST the other",
        spec->url.text, request.id, worker->url())));
  }
  registration_.replace(worker, *spec, [id = request.id, done] {
    done(accepted(id, "Worker update queued for background processing"));
  });
}

void AdminApi::patch_worker(const AdminRequest& request, const Done& done) {
  if (auto problem = bad_id(request.id)) return done(std::move(*problem));
  SpecError error;
  auto patch = parse_worker_patch(request.body, error);
  if (!patch) return done(refused(error));
  const auto worker = registry_.find_id(request.id);
  if (worker == nullptr) return done(not_found(request.id));
  registration_.patch(*worker, std::move(*patch), [id = request.id, done] {
    done(accepted(id, "Worker update queued for background processing"));
  });
}

void AdminApi::delete_worker(const AdminRequest& request, const Done& done) {
  if (auto problem = bad_id(request.id)) return done(std::move(*problem));
  constexpr std::string_view kMessage = "Worker removal queued for background processing";
  if (const auto worker = registry_.find_id(request.id)) {
    return registration_.remove(
        *worker, [id = request.id, done, kMessage] { done(accepted(id, kMessage)); });
  }
  // One that is not registered yet need not come any more.
  if (registration_.give_up(request.id)) return done(accepted(request.id, kMessage));
  done(not_found(request.id));
}

}  // namespace smg
