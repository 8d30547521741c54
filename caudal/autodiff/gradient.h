// Reverse-mode gradients as graph nodes.
//
// A gradient function is part of an op's registration. It sees one node and the gradients of its outputs and says the
// gradients of its inputs, built from op functions, so that they can be differentiated again:
//
//   void square_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * 2 * c.input(0)); }
//
// Thread safety: as building a graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// Rows of a larger tensor: values[k] belongs to row indices[k] of a tensor of shape dense_shape. Indices may repeat;
// their rows add up.
struct IndexedSlices {
  Output values;       // [k, ...]
  Output indices;      // [k], int32 or int64
  Output dense_shape;  // may be none if unknown
};

// A gradient: none, dense or sparse.
class CAUDAL_API Gradient {
 public:
  Gradient() = default;
  Gradient(Output dense) : dense_(dense) {}                       // NOLINT
  Gradient(IndexedSlices slices) : slices_(std::move(slices)) {}  // NOLINT

  bool is_none() const { return !dense_ && !slices_; }
  bool is_sparse() const { return slices_.has_value(); }
  explicit operator bool() const { return !is_none(); }
  const IndexedSlices& slices() const { return *slices_; }
  // The dense gradient; a sparse one is summed into zeros by new nodes. REQUIRES: not none.
  Output dense() const;

 private:
  Output dense_;
  std::optional<IndexedSlices> slices_;
};

class CAUDAL_API GradientContext {
 public:
  GradientContext(Node& node, std::vector<Gradient> output_grads);

  Node& node() const { return node_; }
  template <class T>
  const T& attr(std::string_view name) const {
    return node_.attr<T>(name);
  }
  int num_inputs() const { return node_.num_inputs(); }
  int num_outputs() const { return node_.num_outputs(); }
  const Output& input(int i) const { return node_.input(i); }
  Output output(int i) const { return node_.output(i); }

  bool has_grad(int i) const { return !grads_[i].is_none(); }
  // The gradient of output i, dense; zeros where none arrives.
  Output grad(int i) const;
  // As it arrived: none, dense or sparse.
  const Gradient& raw_grad(int i) const { return grads_[i]; }

  // Inputs that are not set get none.
  void set_input_grad(int i, Gradient gradient) { input_grads_[i] = std::move(gradient); }
  const std::vector<Gradient>& input_grads() const { return input_grads_; }

 private:
  Node& node_;
  std::vector<Gradient> grads_;
  std::vector<Gradient> input_grads_;
};

struct GradientOptions {
  std::vector<Gradient> grad_ys;       // weights of ys; default: ones
  std::vector<Output> stop_gradients;  // taken as constants
  std::string name = "gradients";
  Graph* graph =
      nullptr;  // where the new nodes go; default: the graph of ys. Another one must capture (function_body.h)
  std::source_location where = std::source_location::current();
};

// d(sum of ys)/dx for each of xs, as tf.gradients: none where no y depends on x through differentiable ops. A value
// that is fed at run time does not cut the gradient (what is fed is not known here). Throws INVALID_ARGUMENT for a y of
// a type without gradients; NOT_FOUND for an op without one on the way.
CAUDAL_API std::vector<Gradient> gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                           const GradientOptions& options = {});

// The few node-making functions that the reverse walk itself needs, supplied by the ops layer so that autodiff names no
// op.
struct GradientOps {
  Output (*zeros_like)(const Output& x);
  Output (*ones_like)(const Output& x);
  Output (*add_n)(const std::vector<Output>& terms);
  Output (*densify)(const IndexedSlices& slices);
  IndexedSlices (*concat)(const std::vector<IndexedSlices>& parts);
};
// Called once, before main, by the family that defines them.
struct CAUDAL_API GradientOpsRegistrar {
  explicit GradientOpsRegistrar(const GradientOps& ops);
};

}  // namespace caudal::inline v0
