// Where models live: one graph with one session for all models of a program, as Keras has it. Internal but for
// clear_session() and the two accessors.
//
// Ownership: layers, models and weights share the backend that they were made in; clear_session() starts a new one and
// leaves the old one to those. Thread safety: building and running models is for one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"
#include "caudal/keras/objects.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0::keras {

class Backend;

// Numbers of any type as another, as tf.cast converts them. Throws INVALID_ARGUMENT where that is not possible.
CAUDAL_API Tensor converted(const Tensor& value, DType dtype);

// A variable of a layer, an optimizer or a metric.
class CAUDAL_API Weight {
 public:
  struct Options {
    std::string name;  // "kernel"
    std::string path;  // "dense/kernel"
    Shape shape;
    DType dtype = DType::kFloat;
    bool trainable = true;
    Regularizer regularizer = {};
    Constraint constraint = {};
  };

  const std::string& name() const { return options_.name; }
  const std::string& path() const { return options_.path; }
  const Shape& shape() const { return options_.shape; }
  DType dtype() const { return options_.dtype; }
  const Regularizer& regularizer() const { return options_.regularizer; }
  const Constraint& constraint() const { return options_.constraint; }
  // As the weight was made; layers may be frozen besides.
  bool trainable() const { return options_.trainable; }
  // Its value in the graph.
  const Variable& variable() const { return variable_; }
  operator Output() const { return variable_; }  // NOLINT: a weight is used as its value

  // The value now.
  Tensor value() const;
  // Throws INVALID_ARGUMENT unless the shapes agree; other number types are converted.
  void assign(const Tensor& value) const;

 private:
  friend class Backend;
  Weight(Backend& backend, Options options);

  Backend& backend_;
  Options options_;
  Variable variable_;
  mutable Output new_value_;  // placeholder of the assignment, made when first needed
  mutable Operation assignment_;
};
using WeightRef = std::shared_ptr<Weight>;

class CAUDAL_API Backend : public std::enable_shared_from_this<Backend> {
 public:
  // That of the program.
  static std::shared_ptr<Backend> current();

  Backend();
  ~Backend();

  Graph& graph() { return graph_; }
  Session& session() { return session_; }

  // "dense", "dense_1", ...: for a layer without a name of its own.
  std::string unique_name(const std::string& base);
  void forget_names() { names_.clear(); }

  // A new weight with that initial value; it is set before the next run.
  WeightRef add_weight(Weight::Options options, Tensor initial);
  Tensor value(const Weight& weight);
  std::vector<Tensor> values(const std::vector<WeightRef>& weights);
  void assign(const std::vector<std::pair<const Weight*, Tensor>>& values);
  // Sets what add_weight() left to be set. Every run must come after it.
  void flush();

 private:
  void run_assignments(const std::vector<std::pair<const Weight*, Tensor>>& values);

  Graph graph_;
  Session session_;
  std::map<std::string, std::int64_t> names_;
  std::vector<std::pair<WeightRef, Tensor>> pending_;
};

// Forgets names and starts an empty graph: models made before go on by themselves, but new ones share nothing with
// them.
CAUDAL_API void clear_session();
// The graph and session that models are built and run in now.
CAUDAL_API Graph& backend_graph();
CAUDAL_API Session& backend_session();

}  // namespace caudal::inline v0::keras
