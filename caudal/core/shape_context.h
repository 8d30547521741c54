// What a shape function sees and says: shapes of inputs in, shapes of outputs out, while a graph is built and again,
// with the feeds' shapes, when a plan is specialised.
//
// A shape function throws INVALID_ARGUMENT where the inputs can never fit; it sets every output, to unknown if need be.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/node_info.h"
#include "caudal/tensor/shape.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// What is known of the resource behind a DT_RESOURCE edge.
using HandleData = std::vector<ResourceHandle::Part>;

class CAUDAL_API ShapeContext {
 public:
  struct Input {
    PartialShape shape;
    HandleData handle;
    // The value, if it is a constant; asked for only when a shape function needs it.
    std::function<const Tensor*()> constant;
    // The value as a shape, as far as it is known (a Shape, Pack or Concat of known sizes); may be empty.
    std::function<PartialShape()> as_shape;
  };

  ShapeContext(const NodeInfo& node, std::vector<Input> inputs);

  const NodeInfo& node() const { return node_; }
  template <class T>
  const T& attr(std::string_view name) const {
    return node_.attr<T>(name);
  }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const PartialShape& input(int i) const { return inputs_[i].shape; }
  const HandleData& input_handle(int i) const { return inputs_[i].handle; }
  // Null if the value is not known before the run.
  const Tensor* constant_input(int i) const;
  // The value of an integer vector input read as a shape; unknown where it is not known.
  PartialShape input_as_shape(int i) const;

  void set_output(int i, PartialShape shape) { outputs_[i] = std::move(shape); }
  void set_output_handle(int i, HandleData handle) { output_handles_[i] = std::move(handle); }
  const std::vector<PartialShape>& outputs() const { return outputs_; }
  const std::vector<HandleData>& output_handles() const { return output_handles_; }

  // Checks that throw INVALID_ARGUMENT in one wording; each returns the sharpened shape.
  PartialShape with_rank(int i, int rank) const;
  PartialShape with_rank_at_least(int i, int rank) const;
  // The merged shape of two inputs that must agree.
  PartialShape merged(int i, int j) const;
  // The merged size; `what` names it in the message.
  static std::int64_t merge_dim(std::int64_t a, std::int64_t b, std::string_view what);

  // "features" for input 0 of Relu: the argument's name, with its index where it is a list.
  std::string input_name(int i) const;

 private:
  const NodeInfo& node_;
  std::vector<Input> inputs_;
  std::vector<PartialShape> outputs_;
  std::vector<HandleData> output_handles_;
};

// Shape functions that many ops share.
CAUDAL_API void unchanged_shape(ShapeContext& context);      // output 0 as input 0
CAUDAL_API void scalar_shape(ShapeContext& context);         // every output a scalar
CAUDAL_API void no_outputs_shape(ShapeContext& context);     // for ops without outputs
CAUDAL_API void unknown_shape(ShapeContext& context);        // nothing can be said
CAUDAL_API void broadcast_shape(ShapeContext& context);      // output 0: inputs 0 and 1 broadcast, numpy's rule
CAUDAL_API void merged_inputs_shape(ShapeContext& context);  // output 0: all inputs agree
// numpy's rule for two shapes. Throws INVALID_ARGUMENT if they do not fit.
CAUDAL_API PartialShape broadcast(const PartialShape& a, const PartialShape& b);

}  // namespace caudal::inline v0
