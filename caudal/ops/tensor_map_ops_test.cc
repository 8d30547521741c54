#include "caudal/ops/tensor_map_ops.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/proto/tensor_proto.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal {
namespace {

using namespace raw_ops;  // NOLINT

class TensorMapOps : public testing::Test {
 protected:
  Tensor run(const Output& fetch) { return Session(graph_).run(fetch); }
  void expect_error(const Output& fetch, const std::string& text) {
    try {
      run(fetch);
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(TensorMapOps, InsertLookupErase) {
  const Output empty = empty_tensor_map();
  const Output one = tensor_map_insert(empty, 1, constant({1.0F, 2.0F}));
  const Output two = tensor_map_insert(one, "word", 5.0F);
  const Output replaced = tensor_map_insert(two, 1, constant({3.0F}));
  const Output erased = tensor_map_erase(two, 1, float32);
  EXPECT_EQ(run(tensor_map_size(empty)).item<int>(), 0);
  EXPECT_EQ(run(tensor_map_size(two)).item<int>(), 2);
  EXPECT_TRUE(identical(run(tensor_map_lookup(two, 1, float32)), Tensor(std::vector<float>{1, 2})));
  EXPECT_TRUE(identical(run(tensor_map_lookup(two, "word", float32)), Tensor(5.0F)));
  EXPECT_TRUE(identical(run(tensor_map_lookup(replaced, 1, float32)), Tensor(std::vector<float>{3})));
  EXPECT_FALSE(run(tensor_map_has_key(erased, 1)).item<bool>());
  EXPECT_TRUE(run(tensor_map_has_key(erased, "word")).item<bool>());
  // Another type or shape is another key.
  EXPECT_FALSE(run(tensor_map_has_key(two, constant(std::int64_t{1}))).item<bool>());
  EXPECT_FALSE(run(tensor_map_has_key(two, constant({1}))).item<bool>());
  expect_error(tensor_map_lookup(two, 2, float32), "Trying to lookup non-existent key. Could not find key \"2\".");
  expect_error(tensor_map_erase(two, 2, float32), "Trying to erase non-existent item.");
  expect_error(tensor_map_lookup(two, 1, int32), "int32 is wanted");
}

TEST_F(TensorMapOps, KeysStack) {
  const Output map = tensor_map_insert(tensor_map_insert(empty_tensor_map(), 7, 1.0F), 9, 2.0F);
  const Tensor keys = run(tensor_map_stack_keys(map, int32));
  EXPECT_EQ(keys.shape(), (Shape{2}));
  EXPECT_EQ(keys.at<int>(0) + keys.at<int>(1), 16);
  expect_error(tensor_map_stack_keys(empty_tensor_map(), int32), "cannot be called on empty map.");
  expect_error(tensor_map_stack_keys(map, int64), "Key does not match requested dtype.");
  expect_error(tensor_map_stack_keys(tensor_map_insert(map, constant({1}), 1.0F), int32),
               "Keys must all have the same shape.");
}

TEST_F(TensorMapOps, MapsAddAndCrossTheWire) {
  const Output a = tensor_map_insert(tensor_map_insert(empty_tensor_map(), 1, 1.0F), 2, 2.0F);
  const Output b = tensor_map_insert(empty_tensor_map(), 2, 5.0F);
  const Output sum = OpBuilder("AddN", {}).inputs({a, b}).build();
  EXPECT_EQ(run(tensor_map_lookup(sum, 1, float32)).item<float>(), 1.0F);
  EXPECT_EQ(run(tensor_map_lookup(sum, 2, float32)).item<float>(), 7.0F);
  EXPECT_EQ(run(tensor_map_size(zeros_like(a))).item<int>(), 0);
  const Tensor back = from_proto(to_proto(run(a)));
  const Output fed = placeholder(variant, PartialShape::scalar());
  Session session;
  EXPECT_EQ(session.run(tensor_map_lookup(fed, 2, float32), {{fed, back}}).item<float>(), 2.0F);
}

TEST_F(TensorMapOps, GradientsComeBack) {
  const Output x = constant(3.0F), y = constant(4.0F);
  const Output map = tensor_map_insert(tensor_map_insert(empty_tensor_map(), 1, x), 2, y);
  const Output z = tensor_map_lookup(map, 1, float32) * 5.0F + tensor_map_lookup(map, 1, float32);
  const auto grads = gradients({z}, {x, y});
  Session session;
  EXPECT_EQ(session.run(grads[0].dense()).item<float>(), 6.0F);
  EXPECT_EQ(session.run(grads[1].dense()).item<float>(), 0.0F);
  const Output rest = tensor_map_lookup(tensor_map_erase(map, 2, float32), 1, float32) * 2.0F;
  EXPECT_EQ(session.run(gradients({rest}, {x})[0].dense()).item<float>(), 2.0F);
}

constexpr const char* kAll = "TensorMapOps.InsertLookupErase";
CAUDAL_OP_SAMPLES(EmptyTensorMap) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorMapSize) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorMapLookup) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorMapInsert) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorMapErase) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorMapHasKey) { samples.covered_by(kAll); }
CAUDAL_OP_SAMPLES(TensorMapStackKeys) { samples.covered_by("TensorMapOps.KeysStack"); }

}  // namespace
}  // namespace caudal
