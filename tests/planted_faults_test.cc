// Proves that the harness catches faults: ops with one planted fault each go through the same checks as all others, and
// the named check must report it. The same op without a fault must pass, so that a check that always complains fails
// here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/builder.h"
#include "caudal/kernels/isa.h"
#include "tests/harness/compare.h"
#include "tests/harness/golden_vectors.h"
#include "tests/harness/op_facts.h"
#include "tests/harness/op_harness.h"
#include "tests/harness/report_file.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::OpReport;
using harness::Samples;

// y = x * |x|, with at most one fault.
enum class Fault {
  kNone,
  kSkipsLast,     // the last element is not written
  kInPlace,       // says in-place is allowed and reads an element after it wrote it
  kNoPermission,  // writes into its input
  kThreads,       // the result depends on where chunks begin
  kVector,        // the AVX2 loop drops the elements after the last full vector
  kNan,           // NaN becomes zero
  kMissingType,   // no kernel for double
  kWrongType,     // computes double in float
  kNoRankCheck,   // takes what must be an error
  kSpecialised,   // the prepared kernel for known shapes is another function
  kFolded,        // constant inputs give another result
  kKeepsState,    // the second run differs
  kAlignment,     // believes that every input begins at a multiple of 64 bytes
};

template <class T>
T value_at(const T* x, std::int64_t i, Fault fault) {
  if (fault == Fault::kNan && std::isnan(x[i])) return 0;
  if (fault == Fault::kWrongType) return static_cast<T>(static_cast<float>(x[i]) * std::abs(static_cast<float>(x[i])));
  return x[i] * std::abs(x[i]);
}

template <class T>
void run_loop(RunContext& c, const Tensor& input, Tensor& output, Fault fault) {
  const T* x = input.data<T>();
  T* y = output.data<T>();
  const std::int64_t count = input.num_elements();
  if (fault == Fault::kAlignment)
    x = reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(x) & ~std::uintptr_t{63});
  std::int64_t end = fault == Fault::kSkipsLast ? count - 1 : count;
  if (fault == Fault::kVector && kernels::kernel_isa() >= Isa::kAvx2) end = count / 8 * 8;
  const bool several = c.pool().num_threads() > 1 && fault == Fault::kThreads;
  c.pool().parallel_for(end, 4096, [&](std::int64_t i, std::int64_t stop) {
    if (several) y[i] = 0, ++i;
    for (; i < stop; ++i) y[i] = value_at(x, i, fault);
  });
  if (fault == Fault::kInPlace && count > 1) y[count - 1] = value_at(x, count - 1, fault);
  if (fault == Fault::kNoPermission && count > 0) const_cast<T*>(x)[0] = 0;
}

class FaultyKernel final : public Kernel {
 public:
  FaultyKernel(Fault fault, bool special) : fault_(fault), special_(special) {}
  void run(RunContext& c) const override {
    const Tensor& x = c.input(0);
    if (x.rank() == 5 && fault_ != Fault::kNoRankCheck) throw invalid_argument("rank 5: ", x.shape());
    Tensor& y = c.allocate_output(0, x.shape());
    if (x.dtype() == float32)
      run_loop<float>(c, x, y, fault_);
    else
      run_loop<double>(c, x, y, fault_);
    const bool spoils = special_ || (fault_ == Fault::kKeepsState && ++runs_ > 1);
    if (spoils && x.num_elements() > 0) std::fill_n(y.raw(), y.byte_size(), '\0');
  }

 private:
  Fault fault_;
  bool special_;
  mutable int runs_ = 0;
};

template <Fault fault>
std::unique_ptr<Kernel> prepare_faulty(PrepareContext& c) {
  if (fault == Fault::kMissingType && c.input_type(0) == float64) throw unimplemented("no kernel for double");
  if (fault != Fault::kNoPermission) c.allow_in_place(0, 0);
  const bool known = c.input_shape(0).is_fully_known(), constant = c.constant_input(0) != nullptr;
  return std::make_unique<FaultyKernel>(
      fault, (fault == Fault::kSpecialised && known && !constant) || (fault == Fault::kFolded && constant));
}

// The gradient 2|x| g, as an op of its own.
void run_slope(RunContext& c) {
  const Tensor &x = c.input(0), &g = c.input(1);
  Tensor& y = c.allocate_output(0, x.shape());
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    if (x.dtype() == float32)
      y.data<float>()[i] = 2 * std::abs(x.data<float>()[i]) * g.data<float>()[i];
    else
      y.data<double>()[i] = 2 * std::abs(x.data<double>()[i]) * g.data<double>()[i];
  }
}

Output slope(const Output& x, const Output& g) { return OpBuilder("PlantedSlope", {}).input(x).input(g).build(); }

void right_gradient(GradientContext& c) { c.set_input_grad(0, slope(c.input(0), c.grad(0))); }
// The sign flipped: |x| is |-x|, so the fault is in g alone.
void flipped_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder("PlantedNegated", {}).input(slope(c.input(0), c.grad(0))).build());
}
void absent_gradient(GradientContext&) {}

// d(2|x| g)/dg, and to x nothing: wrong, and seen only when differentiated twice.
void slope_gradient(GradientContext& c) { c.set_input_grad(1, slope(c.input(0), c.grad(0))); }

void run_negated(RunContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate_output(0, x.shape());
  for (std::int64_t i = 0; i < x.num_elements(); ++i) y.data<double>()[i] = -x.data<double>()[i];
}

// Shape functions with faults.
void one_longer_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.has_rank() || x.rank() == 0 || x.dim(0) < 0) return unchanged_shape(c);
  c.set_output(0, x.with_dim(0, x.dim(0) + 1));
}
void careless_shape(ShapeContext& c) { c.set_output(0, PartialShape::unknown()); }
void forgetful_shape(ShapeContext& c) {  // claims a vector where the rank is not known
  c.set_output(0, c.input(0).has_rank() ? c.input(0) : PartialShape{-1});
}

#define PLANT(op, kernel_fault, gradient_fn, shape_fn) \
  CAUDAL_REGISTER_OP({                                 \
      .name = op,                                      \
      .inputs = "x: T",                                \
      .outputs = "y: T",                               \
      .attrs = "T: {float, double}",                   \
      .shape = shape_fn,                               \
      .gradient = gradient_fn,                         \
      .cpu = prepare_faulty<Fault::kernel_fault>,      \
  })

PLANT("PlantedNone", kNone, right_gradient, unchanged_shape);
PLANT("PlantedSkipsLast", kSkipsLast, right_gradient, unchanged_shape);
PLANT("PlantedInPlace", kInPlace, right_gradient, unchanged_shape);
PLANT("PlantedNoPermission", kNoPermission, right_gradient, unchanged_shape);
PLANT("PlantedThreads", kThreads, right_gradient, unchanged_shape);
PLANT("PlantedVector", kVector, right_gradient, unchanged_shape);
PLANT("PlantedNan", kNan, right_gradient, unchanged_shape);
PLANT("PlantedMissingType", kMissingType, right_gradient, unchanged_shape);
PLANT("PlantedWrongType", kWrongType, right_gradient, unchanged_shape);
PLANT("PlantedNoRankCheck", kNoRankCheck, right_gradient, unchanged_shape);
PLANT("PlantedSpecialised", kSpecialised, right_gradient, unchanged_shape);
PLANT("PlantedFolded", kFolded, right_gradient, unchanged_shape);
PLANT("PlantedKeepsState", kKeepsState, right_gradient, unchanged_shape);
PLANT("PlantedAlignment", kAlignment, right_gradient, unchanged_shape);
PLANT("PlantedGradientSign", kNone, flipped_gradient, unchanged_shape);
PLANT("PlantedGradientAbsent", kNone, absent_gradient, unchanged_shape);
PLANT("PlantedShapeLonger", kNone, right_gradient, one_longer_shape);
PLANT("PlantedShapeCareless", kNone, right_gradient, careless_shape);
PLANT("PlantedShapeForgetful", kNone, right_gradient, forgetful_shape);

CAUDAL_REGISTER_OP({
    .name = "PlantedSlope",
    .inputs = "x: T; g: T",
    .outputs = "y: T",
    .attrs = "T: {float, double}",
    .shape = unchanged_shape,
    .gradient = slope_gradient,
    .cpu = kernel_of<run_slope>,
});
CAUDAL_REGISTER_OP({
    .name = "PlantedNegated",
    .inputs = "x: T",
    .outputs = "y: T",
    .attrs = "T: {double}",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_negated>,
});

// z = x - y by numpy's rule, but a row is taken for a column.
void run_wrong_broadcast(RunContext& c) {
  const Tensor &x = c.input(0), &y = c.input(1);
  const Shape shape = broadcast(x.shape(), y.shape()).to_shape().value();
  Tensor& z = c.allocate_output(0, shape);
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    z.data<float>()[i] = x.data<float>()[i % x.num_elements()] - y.data<float>()[i % y.num_elements()];
  }
}
CAUDAL_REGISTER_OP({
    .name = "PlantedBroadcast",
    .inputs = "x: float; y: float",
    .outputs = "z: float",
    .shape = broadcast_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_wrong_broadcast>,
});

void usual_samples(Samples& samples, Check second_order) {
  samples.unary_elementwise({float32, float64},
                            {.reference = [](double x) { return x * std::abs(x); }, .second_order = second_order});
  samples.error({samples.random(float32, {1, 1, 1, 1, 2})}, Code::kInvalidArgument, {}, "rank 5");
}

OpReport report_of(const std::string& op, Check second_order = Check::kNo) {
  Samples samples(op);
  usual_samples(samples, second_order);
  return harness::check_op(op, samples);
}

std::string all_findings(const OpReport& report) {
  std::string text;
  for (const auto& finding : report.findings) text += "\n  " + finding.to_string();
  return text.empty() ? "no findings" : text;
}

TEST(PlantedFaults, AnOpWithoutFaultPasses) {
  const OpReport report = report_of("PlantedNone");
  EXPECT_TRUE(report.findings.empty()) << all_findings(report);
  for (const char* check :
       {"value", "isa", "path", "in_place", "threads", "repeat", "view", "shape", "gradient", "error"}) {
    EXPECT_TRUE(report.passed.contains(check)) << check << " was never made";
  }
}

struct Plant {
  std::string op, check;
};

class PlantedFault : public ::testing::TestWithParam<Plant> {};

TEST_P(PlantedFault, IsCaught) {
  const OpReport report = report_of(GetParam().op);
  EXPECT_TRUE(report.found(GetParam().check)) << all_findings(report);
}

INSTANTIATE_TEST_SUITE_P(Harness, PlantedFault,
                         ::testing::Values(Plant{"PlantedSkipsLast", "value"}, Plant{"PlantedInPlace", "in_place"},
                                           Plant{"PlantedNoPermission", "in_place"}, Plant{"PlantedThreads", "threads"},
                                           Plant{"PlantedVector", "isa"}, Plant{"PlantedNan", "value"},
                                           Plant{"PlantedMissingType", "value"}, Plant{"PlantedWrongType", "value"},
                                           Plant{"PlantedNoRankCheck", "error"}, Plant{"PlantedSpecialised", "path"},
                                           Plant{"PlantedFolded", "path"}, Plant{"PlantedKeepsState", "repeat"},
                                           Plant{"PlantedAlignment", "view"}, Plant{"PlantedGradientSign", "gradient"},
                                           Plant{"PlantedGradientAbsent", "gradient"},
                                           Plant{"PlantedShapeLonger", "shape"}, Plant{"PlantedShapeCareless", "shape"},
                                           Plant{"PlantedShapeForgetful", "shape"}),
                         [](const auto& info) { return info.param.op.substr(7); });

TEST(PlantedFaults, WrongSecondDerivativeIsCaught) {
  const OpReport report = report_of("PlantedNone", Check::kYes);
  EXPECT_TRUE(report.found("second_order")) << all_findings(report);
}

TEST(PlantedFaults, WrongBroadcastIsCaught) {
  Samples samples("PlantedBroadcast");
  samples.binary_broadcasting({float32}, {.reference2 = [](double x, double y) { return x - y; }, .special = false});
  const OpReport report = harness::check_op("PlantedBroadcast", samples);
  EXPECT_TRUE(report.found("value")) << all_findings(report);
}

TEST(PlantedFaults, AnOpWithoutSamplesIsCaught) {
  EXPECT_TRUE(harness::check_op("PlantedNone", Samples("PlantedNone")).found("samples"));
}

TEST(PlantedFaults, AGradientThatNoSampleTriesIsCaught) {
  Samples samples("PlantedNone");
  samples.add({.inputs = {samples.random(float64, {3})}, .gradient = Check::kNo});
  EXPECT_TRUE(harness::check_op("PlantedNone", samples).found("samples"));
}

TEST(PlantedFaults, ATestThatIsNotThereIsCaught) {
  Samples samples("PlantedBroadcast");
  samples.covered_by("PlantedFaults.ThatIsNotThere");
  EXPECT_TRUE(harness::check_op("PlantedBroadcast", samples).found("samples"));
  Samples covered("PlantedBroadcast");
  covered.covered_by("PlantedFaults.ATestThatIsNotThereIsCaught");
  EXPECT_TRUE(harness::check_op("PlantedBroadcast", covered).findings.empty());
}

TEST(PlantedFaults, WrongExpectedValueIsCaught) {
  Samples samples("PlantedNone");
  samples.add({.inputs = {Tensor(2.0)}, .expected = {Tensor(4.0)}, .second_order = Check::kNo});
  EXPECT_TRUE(harness::check_op("PlantedNone", samples).findings.empty());
  samples.add({.inputs = {Tensor(2.0)}, .expected = {Tensor(4.0001)}, .second_order = Check::kNo});
  EXPECT_TRUE(harness::check_op("PlantedNone", samples).found("value"));
}

// Against TensorFlow's own facts: a fault is planted in a copy of what is registered.
const harness::OpFacts& facts() {
  static const harness::OpFacts all(CAUDAL_SOURCE_DIR "/testdata/interop");
  return all;
}

TEST(PlantedFaults, AnotherDefinitionIsCaught) {
  const OpDef& relu = *facts().definition("Relu");
  EXPECT_EQ(harness::definition_difference(relu, relu), "");
  const auto caught = [&](auto plant) {
    OpDef faulty = relu;
    plant(faulty);
    return !harness::definition_difference(relu, faulty).empty();
  };
  EXPECT_TRUE(caught([](OpDef& d) { d.inputs[0].name = "x"; }));
  EXPECT_TRUE(caught([](OpDef& d) { d.outputs.push_back(d.outputs[0]); }));
  EXPECT_TRUE(caught([](OpDef& d) { d.attrs[0].allowed_types.pop_back(); }));
  EXPECT_TRUE(caught([](OpDef& d) { d.attrs[0].default_value = AttrValue(float32); }));
  EXPECT_TRUE(caught([](OpDef& d) { d.attrs.push_back({.name = "alpha", .kind = "float"}); }));
  EXPECT_TRUE(caught([](OpDef& d) { d.stateful = true; }));
}

TEST(PlantedFaults, ATypeWithoutSampleIsCaught) {
  EXPECT_EQ(facts().kernel_types("Sum").at("Tidx"), (std::set<DType>{int32, int64}));
  OpReport report{.op = "NoOp"};
  facts().check(Samples("NoOp"), report);
  EXPECT_FALSE(report.found("types"));  // has no types
  OpReport identity{.op = "Identity"};
  Samples one_type("Identity");
  one_type.add({.inputs = {Tensor(1.0F)}});
  facts().check(one_type, identity);
  EXPECT_TRUE(identity.found("types"));
}

TEST(ReportFile, SaysPerOpWhatWasTried) {
  OpReport report{.op = "Relu"};
  report.judge("value", "", "");
  report.judge("isa", "x", "differs");
  report.dtypes["T"] = {float32, float64};
  report.gradient = "yes";
  EXPECT_EQ(harness::report_json({{report, 3, 2}}),
            "[\n{\"op\":\"Relu\",\"ok\":false,\"samples\":3,\"golden_cases\":2,\"gradient\":\"yes\",\"dtypes\":{\"T\":["
            "\"float32\",\"float64\"]},\"checks\":{\"value\":1},\"failed\":[\"isa\"]}\n]\n");
}

}  // namespace
}  // namespace caudal::inline v0
