#include "caudal/ops/tensor_list.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/variant_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/tensor_list_ops.h"
#include "caudal/proto/tensor_proto.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal {
namespace {

using namespace raw_ops;  // NOLINT

Tensor matrix(std::int64_t rows, std::int64_t columns, std::initializer_list<float> values) {
  return Tensor::from<float>({rows, columns}, values);
}

class TensorListOps : public testing::Test {
 protected:
  Tensor run(const Output& fetch) { return Session(graph_).run(fetch); }
  void expect_error(const Output& fetch, const std::string& text, Code code = Code::kInvalidArgument) {
    expect_error([&] { run(fetch); }, text, code);
  }
  static void expect_error(const std::function<void()>& call, const std::string& text,
                           Code code = Code::kInvalidArgument) {
    try {
      call();
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(TensorListOps, PushAndPopEveryType) {
  for (const DType type : harness::kMovedTypes) {
    const Tensor a = harness::random_tensor(type, {2}), b = harness::random_tensor(type, {2}, 5);
    Output list = empty_tensor_list({2}, -1, type);
    list = tensor_list_push_back(list, constant(a));
    list = tensor_list_push_back(list, constant(b));
    const auto popped = tensor_list_pop_back(list, {2}, type);
    const Output all = tensor_list_stack(list, {2}, type, 2);
    EXPECT_EQ(all.shape(), (PartialShape{2, 2}));
    const Output both = tensor_list_gather(list, {1, 0}, {2}, type);
    const auto joined = tensor_list_concat_v2(list, {2}, std::vector<std::int64_t>{}, type);
    Session session;
    const auto got = session.run({popped.tensor, tensor_list_length(popped.list), tensor_list_length(list), all, both,
                                  joined.tensor, joined.lengths, tensor_list_get_item(list, 0, -1, type)});
    EXPECT_TRUE(identical(got[0], b));
    EXPECT_EQ(got[1].item<int>(), 1);  // the list that was popped from is still whole
    EXPECT_EQ(got[2].item<int>(), 2);
    EXPECT_TRUE(identical(got[3].rows(0, 1).reshape({2}), a));
    EXPECT_TRUE(identical(got[4].rows(0, 1).reshape({2}), b));
    EXPECT_TRUE(identical(got[5].rows(0, 2), a));
    EXPECT_TRUE(identical(got[6], Tensor(std::vector<std::int64_t>{2, 2})));
    EXPECT_TRUE(identical(got[7], a));
  }
}

TEST_F(TensorListOps, MakeListsOfTensors) {
  const Output rows = constant(matrix(3, 2, {1, 2, 3, 4, 5, 6}));
  const Output whole = tensor_list_from_tensor(rows, {2});
  const Output cut = tensor_list_split(rows, {-1, 2}, std::vector<std::int64_t>{1, 2});
  const Output placed = tensor_list_scatter_v2(rows, {2, 0, 1}, {2}, 4);
  OpBuilder old("TensorListScatter", {});
  const Output scattered = old.input(rows).input({2, 0, 1}).input({2}).build();
  EXPECT_TRUE(identical(run(tensor_list_stack(whole, {2}, float32)), run(rows)));
  EXPECT_TRUE(identical(run(tensor_list_get_item(cut, 1, -1, float32)), matrix(2, 2, {3, 4, 5, 6})));
  EXPECT_TRUE(identical(run(tensor_list_stack(placed, -1, float32)), matrix(4, 2, {3, 4, 5, 6, 1, 2, 0, 0})));
  EXPECT_TRUE(identical(run(tensor_list_stack(scattered, -1, float32)), matrix(3, 2, {3, 4, 5, 6, 1, 2})));
  const Output more = tensor_list_scatter_into_existing_list(whole, constant(matrix(1, 2, {7, 8})), {3});
  EXPECT_EQ(run(tensor_list_length(more)).item<int>(), 4);
  EXPECT_EQ(run(tensor_list_length(whole)).item<int>(), 3);
}

TEST_F(TensorListOps, WhatIsNotSetReadsAsZeros) {
  const Output list = tensor_list_reserve({2}, 3, float32);
  const Output set = tensor_list_set_item(list, 1, constant({1.0F, 2.0F}));
  EXPECT_TRUE(identical(run(tensor_list_stack(set, -1, float32)), matrix(3, 2, {0, 0, 1, 2, 0, 0})));
  EXPECT_TRUE(identical(run(tensor_list_get_item(set, 0, -1, float32)), Tensor(std::vector<float>{0, 0})));
  const Output unknown = tensor_list_reserve(-1, 2, float32);
  const Output inferred = tensor_list_set_item(unknown, 1, 3.0F);
  EXPECT_TRUE(identical(run(tensor_list_get_item(inferred, 0, -1, float32)), Tensor(0.0F)));
  EXPECT_TRUE(identical(run(tensor_list_element_shape(unknown)), Tensor(-1)));
  EXPECT_TRUE(identical(run(tensor_list_element_shape(list, int64)), Tensor(std::vector<std::int64_t>{2})));
  const Output longer = tensor_list_resize(set, 4);
  EXPECT_TRUE(identical(run(tensor_list_stack(longer, {2}, float32)), matrix(4, 2, {0, 0, 1, 2, 0, 0, 0, 0})));
  const Output pieces = tensor_list_reserve({-1, 1}, 2, float32);
  const auto joined = tensor_list_concat_v2(pieces, {-1, 1}, std::vector<std::int64_t>{2, 1}, float32);
  EXPECT_TRUE(identical(run(joined.tensor), matrix(3, 1, {0, 0, 0})));
  EXPECT_TRUE(identical(run(joined.lengths), Tensor(std::vector<std::int64_t>{2, 1})));
}

TEST_F(TensorListOps, VectorsOfLists) {
  const Output empty = empty_tensor_list(std::vector<int>{}, -1, float32);
  const Output two = stack({tensor_list_push_back(empty, 1.0F), empty});
  const Output pushed = tensor_list_push_back_batch(two, constant({5.0F, 6.0F}));
  const Output doubled = tensor_list_concat_lists(pushed, pushed, float32);
  const auto at = [&](const Output& lists, int i) {
    return tensor_list_stack(OpBuilder("GatherV2", {}).input(lists).input(i).input(0).build(), -1, float32);
  };
  EXPECT_TRUE(identical(run(at(pushed, 0)), Tensor(std::vector<float>{1, 5})));
  EXPECT_TRUE(identical(run(at(pushed, 1)), Tensor(std::vector<float>{6})));
  EXPECT_TRUE(identical(run(at(doubled, 0)), Tensor(std::vector<float>{1, 5, 1, 5})));
}

TEST_F(TensorListOps, ListsAddAndHaveZeros) {
  const Output a = tensor_list_from_tensor(constant({1.0F, 2.0F}), std::vector<int>{});
  const Output b = tensor_list_set_item(tensor_list_reserve(std::vector<int>{}, 2, float32), 1, 5.0F);
  const Output sum = OpBuilder("AddN", {}).inputs({a, b, a}).build();
  EXPECT_TRUE(identical(run(tensor_list_stack(sum, -1, float32)), Tensor(std::vector<float>{2, 9})));
  EXPECT_TRUE(identical(run(tensor_list_stack(zeros_like(a), -1, float32)), Tensor(std::vector<float>{0, 0})));
  const Output longer = tensor_list_push_back(a, 1.0F);
  expect_error(OpBuilder("AddN", {}).inputs({a, longer}).build(),
               "Trying to add two lists of tensors with different lengths. One is 2 and the other is 3");
}

TEST_F(TensorListOps, GradientsComeBackThroughEveryFunction) {
  const Output x = constant({1.0F, 2.0F, 3.0F}), scale = constant(10.0F);
  const Output list = tensor_list_from_tensor(x, std::vector<int>{});
  const auto weighted = [](const Output& values) {
    return reduce_sum(values * constant({1.0F, 2.0F, 3.0F, 4.0F}), {});
  };
  const auto stacked = [&](const Output& of) { return tensor_list_stack(of, std::vector<int>{}, float32); };
  const auto gradient = [&](const Output& y) {
    const auto dy = gradients({y}, {x, scale});
    std::vector<float> values = run(dy[0].dense()).to_vector<float>();
    values.push_back(dy[1] ? run(dy[1].dense()).item<float>() : -1);
    return values;
  };
  using Values = std::vector<float>;
  const Output pushed = tensor_list_push_back(list, scale);
  EXPECT_EQ(gradient(weighted(stacked(pushed))), (Values{1, 2, 3, 4}));
  const auto popped = tensor_list_pop_back(pushed, std::vector<int>{}, float32);
  EXPECT_EQ(gradient(popped.tensor * 7.0F), (Values{0, 0, 0, 7}));
  EXPECT_EQ(gradient(reduce_sum(stacked(popped.list), {}) * 2.0F + popped.tensor), (Values{2, 2, 2, 1}));
  EXPECT_EQ(gradient(weighted(stacked(tensor_list_set_item(pushed, 1, scale)))), (Values{1, 0, 3, 6}));
  EXPECT_EQ(
      gradient(tensor_list_get_item(pushed, 1, -1, float32) * 3.0F + tensor_list_get_item(pushed, 3, -1, float32)),
      (Values{0, 3, 0, 1}));
  EXPECT_EQ(gradient(weighted(tensor_list_gather(pushed, {3, 2, 1, 0}, std::vector<int>{}, float32))),
            (Values{4, 3, 2, 1}));
  EXPECT_EQ(gradient(weighted(stacked(tensor_list_resize(list, 4)))), (Values{1, 2, 3, -1}));
  const Output scattered = tensor_list_scatter_v2(x, {3, 1, 0}, std::vector<int>{}, -1);
  EXPECT_EQ(gradient(weighted(stacked(scattered))), (Values{4, 2, 1, -1}));
  const Output into = tensor_list_scatter_into_existing_list(pushed, x, {3, 1, 0});
  EXPECT_EQ(gradient(weighted(stacked(into))), (Values{4, 2, 1 + 3, 0}));
  const Output split = tensor_list_split(x, {-1}, std::vector<std::int64_t>{1, 2});
  const Output joined = tensor_list_concat_v2(split, {-1}, std::vector<std::int64_t>{}, float32).tensor;
  EXPECT_EQ(gradient(reduce_sum(joined * constant({1.0F, 2.0F, 3.0F}), {})), (Values{1, 2, 3, -1}));
  OpBuilder old("TensorListConcat", {});
  const Output concat = old.input(split).attr("element_dtype", float32).build();
  EXPECT_EQ(gradient(reduce_sum(concat * concat, {})), (Values{2, 4, 6, -1}));
}

TEST_F(TensorListOps, ListsCrossTheWire) {
  const Output list = tensor_list_set_item(tensor_list_reserve({2, -1}, 3, float32), 1, constant(matrix(2, 1, {1, 2})));
  const Tensor value = run(list);
  const auto proto = to_proto(value);
  ASSERT_EQ(proto.variant_val_size(), 1);
  EXPECT_EQ(proto.variant_val(0).type_name(), "tensorflow::TensorList");
  EXPECT_EQ(proto.variant_val(0).tensors_size(), 1);
  // TensorFlow's encoding: two elements not set, 0 and 2, type 1, limit -1, shape [2,?].
  EXPECT_EQ(proto.variant_val(0).metadata(),
            std::string("\x02\x00\x02\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                        "\x12\x02\x08\x02\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                        31));
  const Tensor back = from_proto(proto);
  const auto* copy = back.item<Variant>().as<TensorList>();
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->element_shape, (PartialShape{2, -1}));
  EXPECT_EQ(copy->max_num_elements, -1);
  ASSERT_EQ(copy->tensors.size(), 3U);
  EXPECT_FALSE(copy->tensors[0].valid());
  EXPECT_TRUE(identical(copy->tensors[1], matrix(2, 1, {1, 2})));
  const VariantOps& ops = variant_ops(TensorList::kTypeName);
  const std::string bytes = ops.encode(value.item<Variant>());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    try {
      ops.decode_tensors(bytes.substr(0, n), copy->tensors);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDataLoss) << error.what();
    }
  }
}

// A thousand pushes to one list write into it; if each copied it, the elements would have been counted half a million
// times.
TEST_F(TensorListOps, PushesToOneListAreInPlace) {
  Output list = empty_tensor_list(std::vector<int>{}, -1, int32);
  std::vector<Output> lists;
  for (int i = 0; i < 1000; ++i) lists.push_back(list = tensor_list_push_back(list, i));
  const Output all = tensor_list_stack(list, -1, int32);
  Session session(graph_, {.plan = {.fold_constants = false}});
  const Tensor got = session.run(all);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(got.at<int>(i), i);
  // One that somebody else needs stays as it is.
  const auto both = session.run({all, tensor_list_length(lists[499])});
  EXPECT_EQ(both[0].dim(0), 1000);
  EXPECT_EQ(both[1].item<int>(), 500);
}

TEST_F(TensorListOps, RefuseWhatTensorFlowRefuses) {
  const Output one = empty_tensor_list(std::vector<int>{}, 1, float32);
  const Output full = tensor_list_push_back(one, 1.0F);
  expect_error(tensor_list_push_back(full, 1.0F), "Tried to push item into a full list");
  expect_error(tensor_list_pop_back(one, -1, float32).tensor, "Trying to pop from an empty list.");
  const Output loose = empty_tensor_list(-1, -1, float32);
  expect_error(tensor_list_stack(loose, -1, float32), "non-fully-defined");
  expect_error(tensor_list_push_back(tensor_list_reserve({3}, 0, float32), constant({1.0F})),
               "Tried to append a tensor with incompatible shape to a list. Op element shape: [1] list shape: [3]");
  const Output unset = tensor_list_reserve(-1, 2, float32);
  expect_error(tensor_list_get_item(unset, 0, -1, float32),
               "Trying to read an uninitialized tensor but element_shape is not fully defined: <unknown>");
  expect_error(tensor_list_get_item(unset, 2, -1, float32), "Trying to access element 2 in a list with 2 elements.");
  expect_error(tensor_list_get_item(unset, -1, -1, float32), "Trying to access element -1 in a list with 2 elements.");
  expect_error(tensor_list_set_item(unset, 2, 1.0F), "Trying to modify element 2 in a list with 2 elements.");
  expect_error(tensor_list_stack(unset, -1, float32),
               "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined "
               "element_shape: <unknown>");
  expect_error(tensor_list_stack(unset, -1, float32, 3),
               "Operation expected a list with 3 elements but got a list with 2 elements.");
  const Output three = tensor_list_from_tensor(constant({1.0F, 2.0F, 3.0F}), std::vector<int>{});
  expect_error(tensor_list_gather(three, {-1}, -1, float32), "Trying to gather element -1 in a list with 3 elements.");
  expect_error(tensor_list_resize(three, -1), "TensorListSlice expects size to be non-negative. Got: -1");
  const Output x = constant({1.0F, 2.0F, 3.0F});
  expect_error(tensor_list_scatter_v2(x, {0, 1, 3}, std::vector<int>{}, 3),
               "TensorListScatter: Trying to scatter at index 3 in list with size 3");
  expect_error(tensor_list_scatter_v2(x, {0, 1, 2}, std::vector<int>{}, -2),
               "TensorListScatter expects num_elements >= -1, found: -2");
  expect_error(tensor_list_scatter_v2(x, {0, 1, -2}, std::vector<int>{}, -1),
               "Indices in TensorListScatter must all be non-negative.");
  expect_error(tensor_list_split(x, {-1}, std::vector<std::int64_t>{1, 3}),
               "Attempting to slice [1, 4] from tensor with length 3");
  expect_error(tensor_list_split(x, {-1}, std::vector<std::int64_t>{1}),
               "Unused values in tensor. Length of tensor: 3 Values used: 1");
  expect_error(tensor_list_concat_v2(three, -1, std::vector<std::int64_t>{}, float32).tensor,
               "Concat requires elements to be at least vectors, found scalars instead.");
  const Output scalars = tensor_list_push_back(loose, 1.0F);
  expect_error(tensor_list_concat_v2(scalars, -1, std::vector<std::int64_t>{}, float32).tensor,
               "Concat saw a scalar shape at index 0 but requires at least vectors.");
  const Output no_list = placeholder(variant, PartialShape::scalar());
  Session session;
  expect_error(
      [&] {
        session.run(tensor_list_length(no_list), {{no_list, Tensor::scalar(Variant())}});
      },
      "Input handle is not a list. Saw: ''");
  expect_error([&] { tensor_list_stack(three, -1, int32); },
               "Expected list with element dtype int32 but got list with element dtype float");
}

TEST_F(TensorListOps, ElementShapesAreInferred) {
  const Output list = tensor_list_push_back(empty_tensor_list({-1, 3}, -1, float32), zeros({2, 3}));
  EXPECT_EQ(tensor_list_stack(list, -1, float32).shape(), (PartialShape{-1, -1, 3}));
  EXPECT_EQ(tensor_list_stack(list, {2, -1}, float32, 1).shape(), (PartialShape{1, 2, 3}));
  EXPECT_EQ(tensor_list_gather(list, {0, 0}, -1, float32).shape(), (PartialShape{2, -1, 3}));
  EXPECT_EQ(tensor_list_get_item(list, 0, -1, float32).shape(), (PartialShape{-1, 3}));
  EXPECT_EQ(tensor_list_concat_v2(list, -1, std::vector<std::int64_t>{}, float32).tensor.shape(),
            (PartialShape{-1, 3}));
  EXPECT_EQ(tensor_list_element_shape(list).shape(), (PartialShape{2}));
}

constexpr const char* kEveryType = "TensorListOps.PushAndPopEveryType";
constexpr const char* kMakers = "TensorListOps.MakeListsOfTensors";
constexpr const char* kUnset = "TensorListOps.WhatIsNotSetReadsAsZeros";
CAUDAL_OP_SAMPLES(EmptyTensorList) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListPushBack) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListPopBack) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListLength) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListStack) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListGather) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListGetItem) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListConcatV2) { samples.covered_by(kEveryType); }
CAUDAL_OP_SAMPLES(TensorListFromTensor) { samples.covered_by(kMakers); }
CAUDAL_OP_SAMPLES(TensorListSplit) { samples.covered_by(kMakers); }
CAUDAL_OP_SAMPLES(TensorListScatter) { samples.covered_by(kMakers); }
CAUDAL_OP_SAMPLES(TensorListScatterV2) { samples.covered_by(kMakers); }
CAUDAL_OP_SAMPLES(TensorListScatterIntoExistingList) { samples.covered_by(kMakers); }
CAUDAL_OP_SAMPLES(TensorListReserve) { samples.covered_by(kUnset); }
CAUDAL_OP_SAMPLES(TensorListSetItem) { samples.covered_by(kUnset); }
CAUDAL_OP_SAMPLES(TensorListResize) { samples.covered_by(kUnset); }
CAUDAL_OP_SAMPLES(TensorListElementShape) { samples.covered_by(kUnset); }
CAUDAL_OP_SAMPLES(TensorListPushBackBatch) { samples.covered_by("TensorListOps.VectorsOfLists"); }
CAUDAL_OP_SAMPLES(TensorListConcatLists) { samples.covered_by("TensorListOps.VectorsOfLists"); }
CAUDAL_OP_SAMPLES(TensorListConcat) { samples.covered_by("TensorListOps.GradientsComeBackThroughEveryFunction"); }

}  // namespace
}  // namespace caudal
