// start/: what a program costs before and beside its work. Start-up itself is timed from outside, by run.py.
#include <fstream>

#include "bench.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/variable.h"
#include "nets.h"

namespace bench {
namespace {

constexpr int kSteps = 200;

double resident_mebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  throw caudal::internal_error("/proc/self/status has no VmRSS");
}

Values lenet_memory(const Settings& settings) {
  caudal::Graph graph;
  const caudal::GraphScope scope(graph);
  const Net net = build(Model::kLenet);
  caudal::Session session(graph);
  session.run(caudal::global_variables_initializer());
  const auto update = net.updater(session);
  const std::vector<caudal::Tensor> batch = batch_of(Model::kLenet, 50);
  for (int i = 0; i < (settings.quick ? kSteps / 10 : kSteps); ++i) update(batch);
  return {resident_mebibytes()};
}

}  // namespace

float first_inference() {
  caudal::Graph graph;
  const caudal::GraphScope scope(graph);
  const Net net = build(Model::kLenet);
  caudal::Session session(graph);
  session.run(caudal::global_variables_initializer());
  const caudal::Tensor logits = session.run(net.logits, {{net.images, batch_of(Model::kLenet, 1)[0]}});
  float largest = logits.flat<float>()[0];
  for (const float logit : logits.flat<float>()) largest = std::max(largest, logit);
  return largest;
}

std::vector<Case> start_cases() { return {{"start/lenet_memory", lenet_memory}}; }

}  // namespace bench
