#include "caudal/keras/backend.h"

#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0::keras {
namespace {

std::shared_ptr<Backend>& current_backend() {
  static auto* const backend = new std::shared_ptr<Backend>(std::make_shared<Backend>());
  return *backend;
}

Variable make_variable(const Weight::Options& o) {
  return Variable(
      [&] {
        const std::vector<std::int64_t> dims = o.shape.to_vector();
        const Output zero = constant(Tensor::zeros(o.dtype, Shape{}));
        return fill(Tensor(dims), zero);
      },
      {.trainable = o.trainable, .name = o.path, .use_resource = true});
}

}  // namespace

Tensor converted(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (!kernels::can_cast(value.dtype(), dtype)) {
    throw invalid_argument(value.describe(), " where ", dtype, " is wanted");
  }
  Tensor out(dtype, value.shape());
  kernels::cast(default_pool(), value.dtype(), value.raw(), dtype, out.raw(), value.num_elements());
  return out;
}

// --- Weight ---

Weight::Weight(Backend& backend, Options options) : backend_(backend), options_(std::move(options)) {
  const GraphScope graph(backend.graph());
  const ControlDependencies none({}, /*clear=*/true);
  const NameScope top("");
  variable_ = make_variable(options_);
}

Tensor Weight::value() const { return backend_.value(*this); }

void Weight::assign(const Tensor& value) const { backend_.assign({{this, value}}); }

// --- Backend ---

std::shared_ptr<Backend> Backend::current() { return current_backend(); }

Backend::Backend() : session_(graph_) {}
Backend::~Backend() = default;

std::string Backend::unique_name(const std::string& base) {
  const std::int64_t count = names_[base]++;
  return count == 0 ? base : base + "_" + std::to_string(count);
}

WeightRef Backend::add_weight(Weight::Options options, Tensor initial) {
  const WeightRef weight(new Weight(*this, std::move(options)));
  pending_.emplace_back(weight, std::move(initial));
  return weight;
}

Tensor Backend::value(const Weight& weight) {
  flush();
  return session_.run(weight.variable_);
}

std::vector<Tensor> Backend::values(const std::vector<WeightRef>& weights) {
  flush();
  Fetches fetches;
  for (const WeightRef& weight : weights) fetches.emplace_back(weight->variable());
  return fetches.empty() ? std::vector<Tensor>() : session_.run(fetches);
}

void Backend::assign(const std::vector<std::pair<const Weight*, Tensor>>& values) {
  flush();
  run_assignments(values);
}

void Backend::flush() {
  if (pending_.empty()) return;
  const auto pending = std::move(pending_);
  pending_.clear();
  std::vector<std::pair<const Weight*, Tensor>> values;
  for (const auto& [weight, initial] : pending) values.emplace_back(weight.get(), initial);
  run_assignments(values);
}

void Backend::run_assignments(const std::vector<std::pair<const Weight*, Tensor>>& values) {
  Fetches targets;
  Feeds feeds;
  for (const auto& [weight, value] : values) {
    if (value.shape() != weight->shape()) {
      throw invalid_argument("weight '", weight->path(), "' has the shape ", weight->shape(), ", the value ",
                             value.shape());
    }
    if (!weight->assignment_) {
      const GraphScope graph(graph_);
      const ControlDependencies none({}, /*clear=*/true);
      const NameScope scope("assign");
      weight->new_value_ = placeholder(weight->dtype(), weight->shape());
      weight->assignment_ =
          raw_ops::assign_variable_op(weight->variable().handle(), weight->new_value_, weight->dtype());
    }
    targets.emplace_back(weight->assignment_);
    feeds.emplace_back(weight->new_value_, converted(value, weight->dtype()));
  }
  if (!targets.empty()) session_.run(targets, feeds);
}

// --- Public ---

void clear_session() { current_backend() = std::make_shared<Backend>(); }
Graph& backend_graph() { return current_backend()->graph(); }
Session& backend_session() { return current_backend()->session(); }

}  // namespace caudal::inline v0::keras
