#include "caudal/ops/tensor_array.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/reduction.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal {
namespace {

std::string error_of(const std::function<void()>& call, Code code = Code::kInvalidArgument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

Tensor matrix(std::int64_t rows, std::int64_t columns, std::initializer_list<float> values) {
  return Tensor::from<float>({rows, columns}, values);
}

class TensorArrayOps : public testing::Test {
 protected:
  void expect_error(const Fetch& fetch, const std::string& text, Code code = Code::kInvalidArgument) {
    Session session(graph_);
    const std::string message = error_of([&] { session.run(Fetches{fetch}); }, code);
    EXPECT_NE(message.find(text), std::string::npos) << message;
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(TensorArrayOps, WriteAndReadEveryType) {
  for (const DType type : harness::kMovedTypes) {
    const Tensor a = harness::random_tensor(type, {2, 3}), b = harness::random_tensor(type, {2, 3}, 5);
    const TensorArray array = TensorArray(type, 3).write(0, constant(a)).write(1, constant(b)).write(2, constant(a));
    const Output first = array.read(0), second = array.read(1);
    EXPECT_EQ(first.shape(), (PartialShape{2, 3}));
    Session session;
    const auto got = session.run({first, second});
    EXPECT_TRUE(identical(got[0], a));
    EXPECT_TRUE(identical(got[1], b));
    EXPECT_EQ(session.run(array.stack()).shape(), (Shape{3, 2, 3}));
    EXPECT_EQ(session.run(array.concat()).shape(), (Shape{6, 3}));
  }
}

TEST_F(TensorArrayOps, StackGatherConcatUnstackSplit) {
  const Tensor rows = matrix(3, 2, {1, 2, 3, 4, 5, 6});
  const TensorArray unstacked = TensorArray(float32, 3).unstack(constant(rows));
  const TensorArray pieces =
      TensorArray(float32, 3, {.infer_shape = false}).split(constant(rows), std::vector<int>{1, 0, 2});
  const TensorArray placed = TensorArray(float32, 0, {.dynamic_size = true}).scatter({2, 0, 1}, constant(rows));
  const Output stacked = unstacked.stack();
  EXPECT_EQ(stacked.shape(), (PartialShape{3, 2}));
  Session session;
  EXPECT_TRUE(identical(session.run(stacked), rows));
  EXPECT_TRUE(identical(session.run(unstacked.gather({2, 0})), matrix(2, 2, {5, 6, 1, 2})));
  EXPECT_TRUE(identical(session.run(unstacked.concat()), Tensor(std::vector<float>{1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(identical(session.run(pieces.concat()), rows));
  EXPECT_TRUE(identical(session.run(pieces.read(2)), matrix(2, 2, {3, 4, 5, 6})));
  EXPECT_EQ(session.run(pieces.read(1)).shape(), (Shape{0, 2}));
  EXPECT_TRUE(identical(session.run(placed.stack()), matrix(3, 2, {3, 4, 5, 6, 1, 2})));
  EXPECT_EQ(session.run(placed.size()).item<int>(), 3);
  EXPECT_TRUE(identical(session.run(unstacked.identity().read(1)), Tensor(std::vector<float>{3, 4})));
}

TEST_F(TensorArrayOps, PlacesThatWereNotWrittenAreZeros) {
  const TensorArray array =
      TensorArray(float32, 3, {.infer_shape = false, .element_shape = {2}}).write(1, constant({1.0F, 2.0F}));
  Session session;
  EXPECT_TRUE(identical(session.run(array.stack()), matrix(3, 2, {0, 0, 1, 2, 0, 0})));
  const TensorArray inferred = TensorArray(float32, 2).write(1, constant({1.0F, 2.0F}));
  EXPECT_TRUE(identical(session.run(inferred.stack()), matrix(2, 2, {0, 0, 1, 2})));
  const TensorArray unknown = TensorArray(float32, 2, {.infer_shape = false}).write(1, constant({1.0F, 2.0F}));
  expect_error(unknown.read(0), "Could not read from TensorArray index 0.  Furthermore, the element shape is not");
}

TEST_F(TensorArrayOps, GradientsComeBackThroughEveryFunction) {
  const Output x = constant(matrix(2, 2, {1, 2, 3, 4}));
  const Output weights = constant(matrix(2, 2, {1, 10, 100, 1000}));
  const TensorArray unstacked = TensorArray(float32, 2).unstack(x);
  const TensorArray split = TensorArray(float32, 2, {.infer_shape = false}).split(x, std::vector<int>{1, 1});
  const TensorArray scattered = TensorArray(float32, 2).scatter({1, 0}, x);
  Session session;
  const auto gradient = [&](const Output& y, const Output& weight) {
    GradientOptions options;
    options.grad_ys = {weight};
    return session.run(gradients({y}, {x}, options)[0].dense());
  };
  EXPECT_TRUE(identical(gradient(unstacked.stack(), weights), matrix(2, 2, {1, 10, 100, 1000})));
  EXPECT_TRUE(identical(gradient(unstacked.gather({1, 0}), weights), matrix(2, 2, {100, 1000, 1, 10})));
  EXPECT_TRUE(identical(gradient(split.concat(), weights), matrix(2, 2, {1, 10, 100, 1000})));
  EXPECT_TRUE(identical(gradient(scattered.stack(), weights), matrix(2, 2, {100, 1000, 1, 10})));
  // A place that nobody read has a gradient of zeros.
  EXPECT_TRUE(identical(gradient(unstacked.read(0), constant({5.0F, 6.0F})), matrix(2, 2, {5, 6, 0, 0})));
}

TEST_F(TensorArrayOps, GradientsOfSeveralReadsAdd) {
  const Output x = constant({1.0F, 2.0F});
  const TensorArray array = TensorArray(float32, 1, {.clear_after_read = false}).write(0, x);
  const Output y = array.read(0) * 3.0F + array.read(0) * array.read(0);
  const Output z = array.read(0) * 5.0F;
  Session session;
  EXPECT_TRUE(identical(session.run(gradients({y}, {x})[0].dense()), Tensor(std::vector<float>{5, 7})));
  // Two calls keep two sums.
  const Output other = gradients({z}, {x})[0].dense();
  const Output both = gradients({y}, {x})[0].dense() + other;
  EXPECT_TRUE(identical(session.run(both), Tensor(std::vector<float>{10, 12})));
}

TEST_F(TensorArrayOps, GradientArrayAddsWrites) {
  const TensorArray loose =
      TensorArray(float32, 2, {.infer_shape = false}).write(0, 1.0F).write(1, constant({2.0F, 3.0F}));
  const TensorArray g = loose.grad("grad").write(1, constant({4.0F, 5.0F})).write(1, constant({1.0F, 1.0F}));
  Session session;
  const auto got = session.run({g.read(0), g.read(1)});
  EXPECT_TRUE(identical(got[0], Tensor(0.0F)));
  EXPECT_TRUE(identical(got[1], Tensor(std::vector<float>{5, 6})));
  const TensorArray wrong = TensorArray(loose.dtype(), g.handle(), loose.grad("grad").flow(), false).write(1, 1.0F);
  expect_error(wrong.flow(),
               "Could not aggregate to TensorArray index 1 because the existing shape is [2] but the new input shape "
               "is []");
  // As vectors of the forward pass' elements.
  OpBuilder builder("TensorArrayGradWithShape", {});
  builder.input(loose.handle()).input(loose.flow()).input({3}).attr("source", "jacobian");
  Node& node = builder.build_node();
  const TensorArray batch = TensorArray(float32, node.output(0), loose.flow(), false);
  EXPECT_EQ(session.run(batch.read(1)).shape(), (Shape{3, 2}));
}

TEST_F(TensorArrayOps, ShapesThatDifferAreRefusedWhenTheGraphIsMade) {
  const TensorArray array = TensorArray(float32, 2).write(0, constant({1.0F}));
  const std::string message = error_of([&] { array.write(1, 1.0F); });
  EXPECT_NE(message.find("Inconsistent shapes: saw [] but expected [1]"), std::string::npos) << message;
  EXPECT_NE(message.find("tensor_array_test.cc"), std::string::npos) << message;
  EXPECT_NE(error_of([&] { array.write(1, constant({1})); }).find("TensorArray dtype is float32"), std::string::npos);
}

TEST_F(TensorArrayOps, RefuseWhatTensorFlowRefuses) {
  const TensorArray array(float32, 3, {.tensor_array_name = "foo"});
  expect_error(array.write(-1, 3.0F).flow(), "Tried to write to index -1 but array is not resizeable and size is: 3");
  expect_error(array.write(3, 3.0F).flow(), "Tried to write to index 3 but array is not resizeable and size is: 3");
  expect_error(array.read(3), "Tried to read from index 3 but array size is: 3");
  expect_error(array.read(-1), "Tried to read from index -1 but array size is: 3");
  const TensorArray written = array.write(2, 3.0F);
  expect_error(written.write(2, 3.0F).flow(),
               "Could not write to TensorArray index 2 because it has already been written to.");
  const Output once = written.read(2);
  {
    const ControlDependencies after({once});
    expect_error(written.read(2),
                 "Could not read index 2 twice because it was cleared after a previous read (perhaps try setting "
                 "clear_after_read = false?).");
    expect_error(written.write(2, 1.0F).flow(), "because it has already been read.");
  }
  OpBuilder builder("TensorArrayReadV3", {});
  expect_error(builder.input(array.handle()).input(0).input(array.flow()).attr("dtype", float64).build(),
               "TensorArray dtype is float but Op requested dtype double.");
  const TensorArray vectors(float32, 3, {.tensor_array_name = "foo", .infer_shape = false});
  expect_error(vectors.split(constant({1.0F, 2.0F, 3.0F}), {1}).flow(),
               "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is 1 and value's shape is: "
               "[3]");
  expect_error(vectors.split(constant({1.0F}), {1}).flow(),
               "TensorArray's size is not equal to the size of lengths (3 vs. 1), and the TensorArray is not marked as "
               "dynamically resizeable");
  expect_error(array.scatter({0, 7}, constant({1.0F, 1.0F})).flow(),
               "Max scatter index must be < array size (7 vs. 3)");
  expect_error(TensorArray(float32, 0).stack(), "TensorArray has size zero, but element shape", Code::kUnimplemented);
  expect_error(TensorArray(float32, -1).flow(), "Size should be >= 0.");
}

TEST_F(TensorArrayOps, HugeSizesCostNothingUntilTheyAreUsed) {
  const TensorArray array = TensorArray(float32, INT32_MAX).write(INT32_MAX - 1, 5.0F);
  Session session;
  EXPECT_EQ(session.run(array.read(INT32_MAX - 1)).item<float>(), 5.0F);
  expect_error(array.concat(), "too long to be taken whole", Code::kResourceExhausted);
  const TensorArray grown = TensorArray(float32, 0, {.dynamic_size = true}).write(INT32_MAX - 1, 5.0F);
  EXPECT_EQ(session.run(grown.size()).item<int>(), INT32_MAX);
}

TEST_F(TensorArrayOps, ClosedArraysAreOfNoUse) {
  const TensorArray array(float32, 3, {.tensor_array_name = "foo"});
  const Operation close = array.close();
  const ControlDependencies after({close});
  expect_error(array.write(0, 1.0F).flow(), " has already been closed.");
}

// An array through TensorFlow's older ops: string vectors, or references to them, as handles.
struct OldArray {
  std::string version;
  Output handle;
  Output op(const char* name, const std::vector<Output>& inputs, const AttrMap& attrs = {}) const {
    OpBuilder builder(std::string("TensorArray") + name + version, {});
    builder.input(handle);
    for (const Output& input : inputs) builder.input(input);
    for (const auto& [key, value] : attrs) builder.attr(key, value);
    return builder.build();
  }
};

class OldTensorArrayOps : public TensorArrayOps {
 protected:
  static OldArray make(const std::string& version) {
    OpBuilder builder("TensorArray" + version, {});
    return {version, builder.input(2).attr("dtype", float32).attr("dynamic_size", true).build()};
  }
};

TEST_F(OldTensorArrayOps, WorkLikeTheNewOnes) {
  for (const std::string version : {"V2", ""}) {
    const AttrMap type = {{"dtype", float32}};
    const OldArray a = make(version);
    EXPECT_EQ(a.handle.is_ref(), version.empty());
    const Output x = constant({1.0F, 2.0F}), flow = constant(0.0F);
    const Output w0 = a.op("Write", {constant(0), x, flow});
    const Output w1 = a.op("Write", {constant(1), x * 2.0F, w0});
    Session session;
    EXPECT_EQ(session.run(a.op("Size", {w1})).item<int>(), 2);
    EXPECT_TRUE(identical(session.run(a.op("Read", {constant(1), w1}, type)), Tensor(std::vector<float>{2, 4})));
    const Output all = a.op("Gather", {constant({1, 0}), w1}, type);
    EXPECT_TRUE(identical(session.run(all), matrix(2, 2, {2, 4, 1, 2})));
    EXPECT_TRUE(identical(session.run(gradients({all}, {x})[0].dense()), Tensor(std::vector<float>{3, 3})));
    const OldArray b = make(version);
    const Output rows = constant(matrix(2, 2, {1, 2, 3, 4}));
    const Output scattered = b.op("Scatter", {constant({1, 0}), rows, flow});
    EXPECT_TRUE(
        identical(session.run(b.op("Gather", {constant({0, 1}), scattered}, type)), matrix(2, 2, {3, 4, 1, 2})));
    const OldArray d = make(version);
    const Output split = d.op("Split", {rows, constant(std::vector<std::int64_t>{1, 1}), flow});
    const Output joined = d.op("Concat", {split}, type);
    EXPECT_TRUE(identical(session.run(joined), rows.node()->attr<Tensor>("value")));
    EXPECT_TRUE(identical(session.run(gradients({joined}, {rows})[0].dense()), matrix(2, 2, {1, 1, 1, 1})));
    OpBuilder close("TensorArrayClose" + version, {});
    session.run(close.input(a.handle).control_input(w1).build_operation());
  }
  const OldArray e = make("");
  const Output rows = constant(matrix(2, 2, {1, 2, 3, 4}));
  const Output packed = e.op("Pack", {e.op("Unpack", {rows, constant(0.0F)})}, {{"dtype", float32}});
  Session session;
  EXPECT_TRUE(identical(session.run(packed), rows.node()->attr<Tensor>("value")));
}

constexpr const char* kAll = "TensorArrayOps.WriteAndReadEveryType";
constexpr const char* kOld = "OldTensorArrayOps.WorkLikeTheNewOnes";
CAUDAL_OP_SAMPLES(TensorArrayV3) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorArrayWriteV3) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorArrayReadV3) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorArrayGatherV3) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorArrayConcatV3) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorArrayScatterV3) { samples.covered_by("TensorArrayOps.StackGatherConcatUnstackSplit"); }
CAUDAL_OP_SAMPLES(TensorArraySplitV3) { samples.covered_by("TensorArrayOps.StackGatherConcatUnstackSplit"); }
CAUDAL_OP_SAMPLES(TensorArraySizeV3) { samples.covered_by("TensorArrayOps.StackGatherConcatUnstackSplit"); }
CAUDAL_OP_SAMPLES(TensorArrayGradV3) { samples.covered_by("TensorArrayOps.GradientArrayAddsWrites"); }
CAUDAL_OP_SAMPLES(TensorArrayGradWithShape) { samples.covered_by("TensorArrayOps.GradientArrayAddsWrites"); }
CAUDAL_OP_SAMPLES(TensorArrayCloseV3) { samples.covered_by("TensorArrayOps.ClosedArraysAreOfNoUse"); }
CAUDAL_OP_SAMPLES(TensorArrayV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayWriteV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayReadV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayGatherV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayScatterV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayConcatV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArraySplitV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArraySizeV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayCloseV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayGradV2) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArray) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayWrite) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayRead) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayGather) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayScatter) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayConcat) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArraySplit) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArraySize) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayClose) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayGrad) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayPack) { samples.covered_by(kOld); }
CAUDAL_OP_SAMPLES(TensorArrayUnpack) { samples.covered_by(kOld); }

}  // namespace
}  // namespace caudal
