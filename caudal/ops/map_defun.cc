// MapDefun: a function called with every row of its arguments, the results stacked.
#include "caudal/base/error.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/function_call.h"
#include "caudal/ops/row_copy.h"

namespace caudal::inline v0 {
namespace {

using ops::CallSequence;

// ---- Shape function

void map_shape(ShapeContext& c) {
  const auto& shapes = c.attr<std::vector<PartialShape>>("output_shapes");
  if (shapes.size() != static_cast<std::size_t>(c.num_outputs())) {
    throw invalid_argument("output_shapes has ", shapes.size(), " entries for ", c.num_outputs(), " outputs");
  }
  const auto mapped = static_cast<int>(c.attr<std::vector<DType>>("Targuments").size());
  std::int64_t rows = -1;
  for (int i = 0; i < mapped; ++i) {
    const PartialShape shape = c.with_rank_at_least(i, 1);
    if (shape.has_rank()) rows = ShapeContext::merge_dim(rows, shape[0], "dimension 0 of the arguments");
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const PartialShape& row = shapes[static_cast<std::size_t>(i)];
    if (!row.has_rank()) {
      c.set_output(i, PartialShape::unknown());
      continue;
    }
    std::vector<std::int64_t> dims{rows};
    dims.insert(dims.end(), row.dims().begin(), row.dims().end());
    c.set_output(i, PartialShape(std::move(dims)));
  }
}

// ---- Kernel

class MapCalls final : public CallSequence {
 public:
  MapCalls(RunContext& context, Handle function, int num_mapped)
      : context_(context), function_(function), num_mapped_(num_mapped) {
    for (int i = 0; i < num_mapped; ++i) {
      const Tensor& argument = context.input(i);
      if (argument.rank() == 0) throw invalid_argument("argument ", i, " is a scalar: it has no rows");
      if (i == 0) rows_ = argument.dim(0);
      if (argument.dim(0) != rows_) {
        throw invalid_argument("all inputs must have the same dimension 0: argument ", i, " has ", argument.dim(0),
                               " rows, argument 0 has ", rows_);
      }
    }
  }

  bool next(Handle& handle, std::vector<Tensor>& arguments) override {
    if (row_ == rows_) return false;
    handle = function_;
    arguments.reserve(static_cast<std::size_t>(context_.num_inputs()));
    for (int i = 0; i < num_mapped_; ++i) {
      const Tensor& argument = context_.input(i);
      arguments.push_back(ops::take_row(argument, row_));
    }
    for (int i = num_mapped_; i < context_.num_inputs(); ++i) arguments.push_back(context_.input(i));
    return true;
  }

  void accept(std::vector<Tensor> results) override {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Tensor& result = results[i];
      check_shape(static_cast<int>(i), result.shape());
      if (row_ == 0) {
        stacks_.push_back(context_.allocate_temporary(result.dtype(), ops::stacked_shape(rows_, result.shape())));
      } else if (stacks_[i].shape() != ops::stacked_shape(rows_, result.shape())) {
        throw invalid_argument("result ", i, " of row ", row_, " has shape ", result.shape(), ", not that of row 0");
      }
      ops::put_row(result, stacks_[i], row_);
    }
    ++row_;
  }

  void finish() override {
    if (rows_ == 0) make_empty();
    for (std::size_t i = 0; i < stacks_.size(); ++i) context_.set_output(static_cast<int>(i), std::move(stacks_[i]));
  }

 private:
  const PartialShape& declared(int i) const {
    return context_.node().attr<std::vector<PartialShape>>("output_shapes")[static_cast<std::size_t>(i)];
  }

  void check_shape(int i, const Shape& shape) const {
    if (declared(i).compatible(shape)) return;
    throw invalid_argument("result ", i, " has shape ", shape, "; output_shapes says ", declared(i));
  }

  void make_empty() {
    for (int i = 0; i < context_.num_outputs(); ++i) {
      const auto shape = declared(i).to_shape();
      if (!shape) {
        throw invalid_argument("there are no rows, and output_shapes does not fully say the shape of result ", i);
      }
      stacks_.emplace_back(context_.node().output_types[static_cast<std::size_t>(i)], ops::stacked_shape(0, *shape));
    }
  }

  RunContext& context_;
  const Handle function_;
  const int num_mapped_;
  std::int64_t rows_ = 0, row_ = 0;
  std::vector<Tensor> stacks_;
};

class MapKernel final : public ops::CallingKernel {
 public:
  explicit MapKernel(PrepareContext& c)
      : num_mapped_(static_cast<int>(c.attr<std::vector<DType>>("Targuments").size())),
        function_(
            add(ops::instantiate_call(c, c.attr<FunctionAttr>("f"), c.node().input_types, c.node().output_types))) {}

 private:
  std::unique_ptr<CallSequence> start(RunContext& context) const override {
    return std::make_unique<MapCalls>(context, function_, num_mapped_);
  }

  const int num_mapped_;
  const FunctionRuntime::Handle function_;
};

std::unique_ptr<Kernel> prepare_map(PrepareContext& c) { return std::make_unique<MapKernel>(c); }

}  // namespace

CAUDAL_REGISTER_OP({
    .name = "MapDefun",
    .inputs = "arguments: Targuments; captured_inputs: Tcaptured",
    .outputs = "output: output_types",
    .attrs = "Targuments: list(type) >= 1; Tcaptured: list(type) >= 0 = []; output_types: list(type) >= 1;"
             "output_shapes: list(shape) >= 1; f: func; max_intra_op_parallelism: int = 1",
    .shape = map_shape,
    .gradient = no_gradient,
    .cpu = prepare_map,
});

}  // namespace caudal::inline v0
