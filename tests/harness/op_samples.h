// Samples: how an op family tells the harness what its ops are to be tried on.
//
//   CAUDAL_OP_SAMPLES(Relu) {
//     samples.unary_elementwise({float16, bfloat16, float32, float64, int8, int32},
//                               {.reference = [](double x) { return std::max(x, 0.0); }});
//     samples.error({samples.random(complex64, {3})}, Code::kInvalidArgument);
//   }
//
//   CAUDAL_OP_SAMPLES(ConcatV2) {
//     for (DType t : {float32, float64, int32, string}) {
//       samples.add({.inputs = {{samples.random(t, {2, 3}), samples.random(t, {2, 1})}, Tensor(1)}});
//     }
//   }
//
// It stands in <family>_test.cc, beside the other tests of the family; one block per op (more are joined). The harness
// (op_harness.h) runs each sample in every way a plan may: shapes known, partly known, unknown; inputs fed or constant
// (folded); specialised and dynamic; in place and not; one and two threads; each instruction set; inputs not at their
// buffer's start; gradients against finite differences, once and twice. An op without samples fails.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/core/attr.h"
#include "caudal/graph/node.h"
#include "caudal/tensor/tensor.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0::harness {

// One tensor of an argument.
struct SampleValue {
  enum class Kind {
    kTensor,            // a value, fed or constant
    kRefVariable,       // a reference variable (VariableV2) that holds the value
    kResourceVariable,  // the handle (VarHandleOp) of a variable that holds the value
  };
  SampleValue(Tensor value, Kind kind = Kind::kTensor) : value(std::move(value)), kind(kind) {}  // NOLINT
  Tensor value;
  Kind kind;
  // For variables: the value is only the variable's type and shape; nothing is assigned.
  bool uninitialized = false;
};

// One argument of the op's definition: a tensor, or a list of tensors where the definition has a list.
struct SampleInput {
  SampleInput() = default;
  SampleInput(SampleValue value) : values{std::move(value)} {}                        // NOLINT
  SampleInput(std::initializer_list<SampleValue> list) : values(list) {}              // NOLINT
  SampleInput(const std::vector<Tensor>& list) : values(list.begin(), list.end()) {}  // NOLINT
  template <class T>
    requires(std::is_convertible_v<T, Tensor> && !std::is_same_v<std::remove_cvref_t<T>, SampleValue>)
  SampleInput(T&& value) : values{SampleValue(Tensor(std::forward<T>(value)))} {}  // NOLINT
  std::vector<SampleValue> values;
};

// Whether a check is made.
enum class Check {
  kAuto,  // where it makes sense
  kYes,   // must be possible
  kNo,    // leave out
};

// One call of an op.
struct Sample {
  std::vector<SampleInput> inputs = {};  // one per argument of the definition
  AttrMap attrs = {};                    // what inputs do not tell and defaults do not give
  std::vector<Tensor> expected = {};  // the outputs, if they are written down here; an invalid Tensor leaves one open
  // Finite differences against the op's gradient (in double where the op has it). kAuto: where the op has a gradient
  // and the sample's inputs are float64 (or the type is fixed to float32) with at most 120 elements in all. Say kNo at
  // kinks and ties.
  Check gradient = Check::kAuto;
  // The same for the gradient's gradient. kAuto: unless some op on the way has none.
  Check second_order = Check::kAuto;
  // Flat positions of floating inputs to which TensorFlow's gradient function gives none although the outputs depend on
  // them. Elsewhere an absent gradient counts as zero and is checked as such.
  std::vector<int> undifferentiated_inputs = {};
  // Positions of floating outputs that finite differences leave out because TensorFlow's gradient function does not
  // follow them, or not to every input. What it gives there belongs in a test of its own.
  std::vector<int> undifferentiated_outputs = {};
  // Relative (to 1 + |value|), for comparisons between instruction sets and with expected values.
  // 0 = by type: float64 1e-12, float32 1e-5, float16 2e-3, bfloat16 2e-2.
  double tolerance = 0;
  // Relative, for finite differences; 0 = 1e-5 (float64) or 2e-2 (float32).
  double gradient_tolerance = 0;
  // True where even known inputs do not tell the shape of the outputs (Where, Unique).
  bool shape_unknown = false;
  // Outputs whose values are not compared (memory addresses, times); shapes are.
  std::vector<int> opaque_outputs = {};
  // A check of your own: throws or returns a message if the outputs are wrong for the inputs.
  std::function<std::string(const std::vector<Tensor>& outputs)> verify = {};
  // Set by error(): the call must fail with this code, when the node is made or when it runs.
  Code code = Code::kOk;
  std::string message = {};  // what the error's text must contain
  // The op takes it at run time, and only shape inference, where the shapes are known, refuses (as TensorFlow does).
  bool refused_by_inference = false;
  // Said in failures; default: the types and shapes of the inputs.
  std::string name = {};
};

// Several nodes as one sample, for ops that are nothing alone (queues, loops, files). Builds into the default graph and
// returns what to fetch; called anew for every mode, and must then build the same.
struct GraphSample {
  std::string name;
  std::function<std::vector<Output>()> build;
  std::vector<Tensor> expected = {};
  double tolerance = 0;
};

struct ElementwiseOptions {
  AttrMap attrs = {};
  ValueRange range = {};   // of the first input
  ValueRange second = {};  // of the second (a divisor: {.low = 1, .high = 5})
  // The function in double, for real types: every output is compared with it. Strongly recommended.
  std::function<double(double)> reference = {};
  std::function<double(double, double)> reference2 = {};  // for two inputs
  // A NaN in gives a NaN out, for floating outputs. False for Sign, IsNan and the like.
  bool nan_propagates = true;
  // Also tries infinities, limits and denormals (types agree between instruction sets, NaN rule holds).
  bool special = true;
  Check gradient = Check::kAuto;
  Check second_order = Check::kAuto;
  double tolerance = 0;
  double gradient_tolerance = 0;
};

struct ReductionOptions {
  AttrMap attrs = {};  // besides keep_dims
  ValueRange range = {};
  // The reduction of a group of numbers (possibly none) in double, for real types. Strongly recommended.
  std::function<double(const std::vector<double>&)> reference = {};
  bool nan_propagates = true;
  bool empty_groups = true;  // also reduces no elements to one
  Check gradient = Check::kAuto;
  Check second_order = Check::kAuto;
  double tolerance = 0;
  double gradient_tolerance = 0;
};

class Samples {
 public:
  explicit Samples(std::string op) : op_(std::move(op)) {}

  // Raw cases.
  void add(Sample sample) { samples_.push_back(std::move(sample)); }
  void error(std::vector<SampleInput> inputs, Code code, AttrMap attrs = {}, std::string message = {});
  void graph(GraphSample sample) { graphs_.push_back(std::move(sample)); }

  // y[i] = f(x[i]): ranks 0-4, empty, sizes around SIMD widths, more than a thread's grain, a slice, special values.
  void unary_elementwise(const std::vector<DType>& dtypes, const ElementwiseOptions& options = {});
  // z = f(x, y) by numpy's rule: equal shapes, scalars, rows, columns, both ways at once, empty, large, a slice.
  void binary_broadcasting(const std::vector<DType>& dtypes, const ElementwiseOptions& options = {});
  // `count` arguments of one shape and type (ReluGrad, Select's branches): the shapes of unary_elementwise.
  void same_shape(int count, const std::vector<DType>& dtypes, const ElementwiseOptions& options = {});
  // f(x, axes) with attribute keep_dims: no axis, one, several, all, negative; int32 and int64 axes; empty; large.
  void reductions(const std::vector<DType>& dtypes, const ReductionOptions& options = {});

  // The op is only testable by the named test ("SaveRestore.WritesV2"), which must exist in this program.
  void covered_by(std::string test) { covered_by_.push_back(std::move(test)); }

  // Types that TensorFlow's CPU kernels have and ours does not, with the reason. Everything else must be sampled.
  void unsupported(const std::vector<DType>& dtypes, const std::string& reason);

  // TensorFlow's gradient of complex numbers lacks conjugates, and ours is as TensorFlow's: no finite differences of
  // it.
  void complex_gradient_lacks_conjugates() { complex_gradient_ = false; }
  // A case of testdata/golden that TensorFlow answers wrongly, with the reason. It must differ here.
  void golden_exception(const std::string& id, const std::string& reason);

  // A tensor that differs from call to call and is the same in every run.
  Tensor random(DType dtype, const Shape& shape, const ValueRange& range = {});
  // Inputs that are variables. After the run their values count as further outputs.
  static SampleValue variable(Tensor value) { return {std::move(value), SampleValue::Kind::kRefVariable}; }
  static SampleValue resource_variable(Tensor value) {
    return {std::move(value), SampleValue::Kind::kResourceVariable};
  }
  static SampleValue uninitialized(SampleValue variable) {
    variable.uninitialized = true;
    return variable;
  }

  const std::string& op() const { return op_; }
  const std::vector<Sample>& samples() const { return samples_; }
  const std::vector<GraphSample>& graphs() const { return graphs_; }
  const std::vector<std::string>& covered_by() const { return covered_by_; }
  bool has_complex_gradient() const { return complex_gradient_; }
  const std::vector<std::string>& golden_exceptions() const { return golden_exceptions_; }
  const std::vector<DType>& unsupported_types() const { return unsupported_; }
  bool empty() const { return samples_.empty() && graphs_.empty() && covered_by_.empty(); }

 private:
  std::string op_;
  std::vector<Sample> samples_;
  std::vector<GraphSample> graphs_;
  std::vector<std::string> covered_by_;
  std::vector<std::string> golden_exceptions_;
  std::vector<DType> unsupported_;
  bool complex_gradient_ = true;
  std::uint64_t drawn_ = 0;
};

// All samples registered for an op; empty if there are none.
Samples samples_of(std::string_view op);
// Every name that has a block, sorted: one that is no registered op is an error in the samples.
std::vector<std::string> sampled_ops();

using SamplesFn = void (*)(Samples&);
struct SamplesRegistrar {
  SamplesRegistrar(std::string_view op, SamplesFn fill);
};

#define CAUDAL_OP_SAMPLES(op)                                                                                  \
  static void caudal_op_samples_##op(::caudal::harness::Samples&);                                             \
  static const ::caudal::harness::SamplesRegistrar caudal_samples_registrar_##op(#op, caudal_op_samples_##op); \
  static void caudal_op_samples_##op([[maybe_unused]] ::caudal::harness::Samples& samples)

}  // namespace caudal::inline v0::harness
