// What a graph takes from a dataset as a whole: a reduction, its only element, its number of elements.
#include <thread>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/dataset_function.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

void set_outputs(RunContext& c, Element element) {
  check_element(element, c.node().output_types, c.node().attr<std::vector<PartialShape>>("output_shapes"));
  for (std::size_t i = 0; i < element.size(); ++i) c.set_output(static_cast<int>(i), std::move(element[i]));
}

// A pass of its own over a dataset.
struct OwnPass {
  OwnPass(RunContext& c, const Dataset& dataset)
      : iteration{&c.step(), std::make_shared<IteratorHost>(c.step())}, elements(dataset.make_iterator(iteration)) {}
  ~OwnPass() { iteration.host->end(); }
  const Iteration iteration;
  std::unique_ptr<DatasetIterator> elements;
};

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(PrepareContext& c) : function_(prepare_function(c, "f")) {}
  bool can_wait() const override { return function_.can_wait; }

  void run(RunContext& c) const override {
    const DatasetPtr dataset = dataset_input(c, 0);
    const ArgRange range = arg_range(c.node().op->def.inputs, c.node().attrs, "initial_state");
    Element state;
    for (int i = range.begin; i < range.end; ++i) state.push_back(c.take_input(i));
    OwnPass pass(c, *dataset);
    const BoundFunction function(pass.iteration, capture(c, function_, "other_arguments"));
    for (Element element; pass.elements->next(pass.iteration, element); pass.iteration.check()) {
      Element arguments = std::move(state);
      arguments.insert(arguments.end(), element.begin(), element.end());
      state = function(pass.iteration, std::move(arguments));
      check_element(state, c.node().attr<std::vector<DType>>("Tstate"),
                    std::vector<PartialShape>(state.size(), PartialShape::unknown()));
    }
    set_outputs(c, std::move(state));
  }

  // Only where the function may wait: then this pass has a thread of its own.
  void run_async(RunContext& c, Done done) const override {
    std::thread([this, &c, done] { Kernel::run_async(c, done); }).detach();
  }

 private:
  const PreparedFunction function_;
};

std::unique_ptr<Kernel> prepare_reduce(PrepareContext& c) { return std::make_unique<ReduceKernel>(c); }

void run_single(RunContext& c) {
  const DatasetPtr dataset = dataset_input(c, 0);
  OwnPass pass(c, *dataset);
  Element element, more;
  if (!pass.elements->next(pass.iteration, element)) throw invalid_argument("Dataset was empty.");
  if (pass.elements->next(pass.iteration, more)) throw invalid_argument("Dataset had more than one element.");
  set_outputs(c, std::move(element));
}

void run_cardinality(RunContext& c) { c.set_output(0, Tensor(dataset_input(c, 0)->cardinality())); }

void one_dataset_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  element_shape(c);
}

void cardinality_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  scalar_shape(c);
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "ReduceDataset",
                    .inputs = "input_dataset: variant; initial_state: Tstate; other_arguments: Targuments",
                    .outputs = "components: output_types",
                    .attrs = "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; " CAUDAL_DATASET_TYPES
                             "; use_inter_op_parallelism: bool = true; metadata: string = ''",
                    .stateful = true,
                    .shape = one_dataset_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_reduce});
CAUDAL_REGISTER_OP({.name = "DatasetToSingleElement",
                    .inputs = "dataset: variant",
                    .outputs = "components: output_types",
                    .attrs = CAUDAL_DATASET_ATTRS,
                    .stateful = true,
                    .shape = one_dataset_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_single>});
CAUDAL_REGISTER_OP({.name = "DatasetCardinality",
                    .inputs = "input_dataset: variant",
                    .outputs = "cardinality: int64",
                    .attrs = "cardinality_options: string = ''",
                    .shape = cardinality_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_cardinality>});

}  // namespace caudal::inline v0
