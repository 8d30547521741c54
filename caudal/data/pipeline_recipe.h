// What Datasets are made of. Internal to data.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caudal/data/pipeline.h"
#include "caudal/graph/function_body.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0::data {

// A dataset's node in the graph where it was built.
struct Dataset::Built {
  Output handle;
  std::vector<ComponentSpec> spec;

  std::vector<DType> types() const;
  std::vector<PartialShape> shapes() const;
};

// A graph with a session of its own, and the dataset that was made in it.
struct Pass::Engine {
  explicit Engine(const Dataset& dataset);
  Graph graph;
  Tensor dataset;
  std::vector<ComponentSpec> spec;
  std::unique_ptr<Session> session;  // before the graph goes
  Session::Callable make_handle, begin, next;
};

struct Dataset::Recipe {
  std::function<Built()> make;
  std::string made_at;
  mutable std::mutex mutex;
  mutable std::shared_ptr<Pass::Engine>
      engine;  // made at the first pass, kept for the next ones: they go on with seeds

  // Makes the nodes in the default graph.
  Built build() const;
};

}  // namespace caudal::inline v0::data
