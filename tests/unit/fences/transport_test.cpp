#include <doctest/doctest.h>

#include <stdexcept>

#include "../host/registry_bench.hpp"
#include "fixture.hpp"

using namespace smg;

namespace {

struct Bench : test::Fixture {
  Bench() : faults_of(services, "transport.unruly") { fleet.transport.faults = &faults_of; }
  void on_control(std::function<void()> fn) { fleet.loops.run_on(1, std::move(fn)); }

  FaultMeter faults_of;
  test::RegistryBench fleet;
};

}  // namespace

TEST_CASE_FIXTURE(Bench, "a fenced transport is given no further worker, those it has go on") {
  fleet.transport.name = "unruly";
  on_control([&] {
    const auto worker = fleet.add("http://one");
    for (int i = 0; i < 10; ++i) faults_of.count(Fault::late_call, "x");
    WorkerDescription description;
    description.url = description.id = "http://two";
    std::string error;
    CHECK_FALSE(fleet.registry->open(description, fleet.transport, error));
    CHECK(error.find("transport unruly is fenced") != std::string::npos);
    CHECK(fleet.registry->find_url("http://one") == worker);
    CHECK(worker->endpoint() != nullptr);
  });
}

TEST_CASE_FIXTURE(Bench, "an open that throws refuses the worker, and its words stay in their room") {
  fleet.transport_api.open = [](void*, const smg_worker*, void**, smg_error*) -> smg_status {
    throw std::runtime_error("no");
  };
  WorkerDescription description;
  description.url = description.id = "http://one";
  on_control([&] {
    std::string error;
    CHECK_FALSE(fleet.registry->open(description, fleet.transport, error));
    CHECK_FALSE(error.empty());
    CHECK(faults("unruly", Fault::exception) == 1);
    fleet.transport_api.open = [](void*, const smg_worker*, void**,
                                  smg_error* failure) -> smg_status {
      failure->size = 1u << 30;
      return SMG_E_LIMIT;
    };
    CHECK_FALSE(fleet.registry->open(description, fleet.transport, error));
    CHECK(error.size() <= 512);
  });
}

TEST_CASE_FIXTURE(Bench, "an endpoint whose quiesce and close throw is closed all the same") {
  fleet.transport_api.quiesce = fleet.transport_api.close = [](void*) { throw 1; };
  on_control([&] { fleet.registry->remove(fleet.add("http://one")); });
  on_control([&] { fleet.registry->publish(); });
  while (!fleet.endpoints.all_closed()) std::this_thread::yield();
  CHECK(faults("unruly", Fault::exception) == 3);  // quiesce on two loops, close
}
