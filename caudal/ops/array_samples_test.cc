// Samples of the array ops for the harness.
#include <gtest/gtest.h>

#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;

const std::vector<DType> kTypes = {float32, float64, float16, bfloat16, int8,      int16,      int32,   int64,
                                   uint8,   uint16,  uint32,  uint64,   complex64, complex128, boolean, string};
const std::vector<DType> kNumbers = {float32, float64, float16, bfloat16, int8,   int16,     int32,
                                     int64,   uint8,   uint16,  uint32,   uint64, complex64, complex128};
const std::vector<DType> kReals = {float32, float64, float16, bfloat16, int8,   int16,
                                   int32,   int64,   uint8,   uint16,   uint32, uint64};

// Each type, and the shapes that loops stumble over.
void each_type_and_shape(Samples& samples, const std::vector<DType>& types, AttrMap attrs = {}) {
  for (const DType t : types) samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = attrs});
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{2, 0, 3}, Shape{2, 3, 4, 5}, Shape{40000}}) {
    samples.add({.inputs = {samples.random(float32, shape)}, .attrs = attrs});
  }
}

CAUDAL_OP_SAMPLES(Const) { samples.covered_by("Constant.TakesNumbersListsAndStrings"); }
CAUDAL_OP_SAMPLES(Placeholder) { samples.covered_by("Placeholder.KeepsItsShape"); }
CAUDAL_OP_SAMPLES(PlaceholderV2) { samples.covered_by("Placeholder.KeepsItsShape"); }
CAUDAL_OP_SAMPLES(NoOp) { samples.covered_by("Group.WaitsForAll"); }
CAUDAL_OP_SAMPLES(PlaceholderWithDefault) {
  const AttrMap any_shape = {{"shape", PartialShape::unknown()}};
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = any_shape, .shape_unknown = true});
  }
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 0, 3}, Shape{2, 3, 4, 5}, Shape{40000}}) {
    samples.add({.inputs = {samples.random(float32, shape)}, .attrs = {{"shape", PartialShape(shape)}}});
  }
}
CAUDAL_OP_SAMPLES(Identity) { each_type_and_shape(samples, kTypes); }
CAUDAL_OP_SAMPLES(StopGradient) { each_type_and_shape(samples, kTypes); }
CAUDAL_OP_SAMPLES(Snapshot) { each_type_and_shape(samples, kNumbers); }
CAUDAL_OP_SAMPLES(ZerosLike) { each_type_and_shape(samples, kTypes); }
CAUDAL_OP_SAMPLES(OnesLike) { each_type_and_shape(samples, kNumbers); }
CAUDAL_OP_SAMPLES(PreventGradient) {
  samples.add({.inputs = {samples.random(float32, {3})}, .gradient = harness::Check::kNo});
}
CAUDAL_OP_SAMPLES(IdentityN) {
  samples.add({.inputs = {{samples.random(float64, {2}), samples.random(int32, {}), Tensor("a")}}});
}
CAUDAL_OP_SAMPLES(RefIdentity) { samples.add({.inputs = {Samples::variable(samples.random(float32, {2, 3}))}}); }
CAUDAL_OP_SAMPLES(Fill) {
  for (const DType t : kTypes) samples.add({.inputs = {Tensor(std::vector<int>{2, 3}), samples.random(t, {})}});
  samples.add({.inputs = {Tensor(std::vector<std::int64_t>{}), samples.random(float64, {})}});
  samples.add({.inputs = {Tensor(std::vector<int>{0, 4}), Tensor(1.0F)}});
  samples.add({.inputs = {Tensor(std::vector<int>{70000}), Tensor(1.0F)}});
  samples.error({Tensor(std::vector<int>{-1}), Tensor(1.0F)}, Code::kInvalidArgument);
  samples.error({Tensor(2), Tensor(1.0F)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Empty) {
  samples.add({.inputs = {Tensor(std::vector<int>{2, 3})}, .attrs = {{"dtype", float32}, {"init", true}}});
  samples.add({.inputs = {Tensor(std::vector<int>{2})}, .attrs = {{"dtype", string}}});
}
CAUDAL_OP_SAMPLES(CheckNumerics) {
  for (const DType t : {float32, float64, float16, bfloat16}) {
    samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = {{"message", "m"}}});
  }
  samples.error({Tensor(std::numeric_limits<float>::infinity())}, Code::kInvalidArgument, {{"message", "bad"}}, "bad");
}

CAUDAL_OP_SAMPLES(Shape) {
  each_type_and_shape(samples, kTypes);
  each_type_and_shape(samples, {}, {{"out_type", int64}});
}
CAUDAL_OP_SAMPLES(ShapeN) { samples.add({.inputs = {{samples.random(float32, {2}), samples.random(float32, {})}}}); }
CAUDAL_OP_SAMPLES(Size) { each_type_and_shape(samples, kTypes); }
CAUDAL_OP_SAMPLES(Rank) { each_type_and_shape(samples, kTypes); }
CAUDAL_OP_SAMPLES(Reshape) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 6}), Tensor(std::vector<int>{3, -1})}});
  samples.add({.inputs = {samples.random(float64, {4}), Tensor(std::vector<std::int64_t>{2, 2})}});
  samples.add({.inputs = {samples.random(float32, {1, 1}), Tensor(std::vector<int>{})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(std::vector<int>{3, -1})}});
  samples.error({samples.random(float32, {5}), Tensor(std::vector<int>{2, -1})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {4}), Tensor(std::vector<int>{-1, -1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ExpandDims) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 3}), Tensor(-1)}});
  samples.add({.inputs = {samples.random(float64, {}), Tensor(0)}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor(std::int64_t{1})}});
  samples.error({samples.random(float32, {2}), Tensor(3)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Squeeze) {
  each_type_and_shape(samples, kTypes);
  samples.add(
      {.inputs = {samples.random(float64, {1, 3, 1})}, .attrs = {{"squeeze_dims", std::vector<std::int64_t>{-1}}}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument,
                {{"squeeze_dims", std::vector<std::int64_t>{0}}});
}
CAUDAL_OP_SAMPLES(BroadcastTo) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 1}), Tensor(std::vector<int>{3, 2, 4})}});
  samples.add({.inputs = {samples.random(float64, {}), Tensor(std::vector<std::int64_t>{2, 0})}});
  samples.error({samples.random(float32, {3}), Tensor(std::vector<int>{2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(BroadcastArgs) {
  samples.add({.inputs = {Tensor(std::vector<int>{2, 1}), Tensor(std::vector<int>{3})}});
  samples.error({Tensor(std::vector<int>{2}), Tensor(std::vector<int>{3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(EnsureShape) {
  each_type_and_shape(samples, kTypes, {{"shape", PartialShape::unknown()}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"shape", PartialShape{3}}});
}

void transposes(Samples& samples) {
  for (const DType t : kTypes)
    samples.add({.inputs = {samples.random(t, {2, 3, 4}), Tensor(std::vector<int>{2, 0, 1})}});
  samples.add({.inputs = {samples.random(float64, {3, 5}), Tensor(std::vector<std::int64_t>{1, 0})}});
  samples.add({.inputs = {samples.random(float32, {}), Tensor(std::vector<int>{})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(std::vector<int>{1, 0})}});
  samples.add({.inputs = {samples.random(float32, {130, 67}), Tensor(std::vector<int>{1, 0})}});
  samples.add({.inputs = {samples.random(float32, {2, 33, 17, 5}), Tensor(std::vector<int>{0, 3, 1, 2})}});
  samples.error({samples.random(float32, {2, 2}), Tensor(std::vector<int>{0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 2}), Tensor(std::vector<int>{0, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Transpose) { transposes(samples); }
CAUDAL_OP_SAMPLES(ConjugateTranspose) { transposes(samples); }
CAUDAL_OP_SAMPLES(InvertPermutation) {
  samples.add({.inputs = {Tensor(std::vector<int>{2, 0, 1})}, .expected = {Tensor(std::vector<int>{1, 2, 0})}});
  samples.add({.inputs = {Tensor(std::vector<std::int64_t>{1, 0})}});
  samples.error({Tensor(std::vector<int>{1, 1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Reverse) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3}), Tensor::from<bool>({2}, {false, true})}});
  }
}
CAUDAL_OP_SAMPLES(ReverseV2) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 3}), Tensor(std::vector<int>{-1})}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 4}), Tensor(std::vector<std::int64_t>{0, 2})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(std::vector<int>{0})}});
  samples.error({samples.random(float32, {2, 2}), Tensor(std::vector<int>{0, 0})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Slice) {
  for (const DType t : kTypes) {
    samples.add(
        {.inputs = {samples.random(t, {3, 4}), Tensor(std::vector<int>{1, 0}), Tensor(std::vector<int>{-1, 3})}});
  }
  samples.add({.inputs = {samples.random(float64, {3}), Tensor(std::vector<std::int64_t>{3}),
                          Tensor(std::vector<std::int64_t>{0})}});
  samples.error({samples.random(float32, {3}), Tensor(std::vector<int>{2}), Tensor(std::vector<int>{2})},
                Code::kInvalidArgument);
}
Tensor ints(std::vector<int> values) { return Tensor(values); }
CAUDAL_OP_SAMPLES(StridedSlice) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {3, 4}), ints({-1, 0}), ints({0, 4}), ints({-1, 2})},
                 .attrs = {{"end_mask", 1}}});
  }
  const Tensor x = samples.random(float64, {2, 3, 4});
  samples.add({.inputs = {x, ints({-1, 0}), ints({0, 0}), ints({2, 1})},
               .attrs = {{"shrink_axis_mask", 1}, {"begin_mask", 2}, {"end_mask", 2}}});
  samples.add({.inputs = {x, ints({0, 0}), ints({0, 1}), ints({1, 1})},
               .attrs = {{"ellipsis_mask", 1}, {"shrink_axis_mask", 2}}});
  samples.add({.inputs = {x, ints({0, 0, 1}), ints({2, 0, 3}), ints({1, 1, 1})}, .attrs = {{"new_axis_mask", 2}}});
  samples.add({.inputs = {Tensor(std::vector<float>{1, 2, 3, 4}), ints({3}), ints({1}), ints({1})},
               .expected = {Tensor(DType::kFloat, Shape{0})}});
  samples.error({x, ints({2}), ints({3}), ints({1})}, Code::kInvalidArgument, {{"shrink_axis_mask", 1}});
  samples.error({x, ints({0}), ints({1}), ints({0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StridedSliceGrad) {
  for (const DType t : kNumbers) {
    samples.add({.inputs = {ints({3, 4}), ints({0, 1}), ints({3, 4}), ints({2, 2}), samples.random(t, {2, 2})}});
  }
  samples.error({ints({3}), ints({0}), ints({3}), ints({1}), samples.random(float32, {2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(TensorStridedSliceUpdate) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {5}), ints({1}), ints({5}), ints({2}), samples.random(t, {2})}});
  }
}

Tensor paddings() { return Tensor::from<int>({2, 2}, {1, 0, 2, 1}); }
CAUDAL_OP_SAMPLES(Pad) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 3}), paddings()}});
  samples.add({.inputs = {samples.random(float64, {0, 3}), paddings()}});
  samples.error({samples.random(float32, {2}), Tensor::from<int>({1, 2}, {-1, 0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(PadV2) {
  for (const DType t : kTypes)
    samples.add(
        {.inputs = {samples.random(t, {2, 3}), paddings(), samples.random(t, {})}, .undifferentiated_inputs = {2}});
}
CAUDAL_OP_SAMPLES(MirrorPad) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3}), paddings()}, .attrs = {{"mode", "REFLECT"}}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor::from<std::int64_t>({2, 2}, {2, 2, 3, 1})},
               .attrs = {{"mode", "SYMMETRIC"}}});
  samples.error({samples.random(float32, {2}), Tensor::from<int>({1, 2}, {2, 0})}, Code::kInvalidArgument,
                {{"mode", "REFLECT"}});
}
CAUDAL_OP_SAMPLES(MirrorPadGrad) {
  for (const DType t : kNumbers) {
    samples.add({.inputs = {samples.random(t, {3, 6}), paddings()}, .attrs = {{"mode", "REFLECT"}}});
  }
  samples.add({.inputs = {samples.random(float64, {3, 6}), paddings()}, .attrs = {{"mode", "SYMMETRIC"}}});
}

CAUDAL_OP_SAMPLES(ConcatV2) {
  for (const DType t : kTypes)
    samples.add({.inputs = {{samples.random(t, {2, 3}), samples.random(t, {2, 1})}, Tensor(1)}});
  samples.add(
      {.inputs = {{samples.random(float64, {0, 3}), samples.random(float64, {2, 3})}, Tensor(std::int64_t{-2})}});
  samples.error({{samples.random(float32, {2, 3}), samples.random(float32, {3, 3})}, Tensor(1)},
                Code::kInvalidArgument);
  samples.error({{samples.random(float32, {2}), samples.random(float32, {2})}, Tensor(1)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Concat) {
  samples.add({.inputs = {Tensor(0), {samples.random(float64, {2, 3}), samples.random(float64, {1, 3})}}});
}
CAUDAL_OP_SAMPLES(ConcatOffset) {
  samples.add({.inputs = {Tensor(1), {ints({2, 3}), ints({2, 5})}}, .expected = {ints({0, 0}), ints({0, 3})}});
  samples.error({Tensor(1), {ints({2, 3}), ints({3, 5})}}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Split) {
  for (const DType t : kTypes)
    samples.add({.inputs = {Tensor(-1), samples.random(t, {2, 4})}, .attrs = {{"num_split", 2}}});
  samples.error({Tensor(0), samples.random(float32, {3})}, Code::kInvalidArgument, {{"num_split", 2}});
}
CAUDAL_OP_SAMPLES(SplitV) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {5, 2}), ints({2, -1, 0}), Tensor(0)}, .attrs = {{"num_split", 3}}});
  }
  samples.error({samples.random(float32, {5}), ints({2, 2}), Tensor(0)}, Code::kInvalidArgument, {{"num_split", 2}});
}
CAUDAL_OP_SAMPLES(Pack) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {{samples.random(t, {2, 3}), samples.random(t, {2, 3})}}, .attrs = {{"axis", 1}}});
  }
  samples.add({.inputs = {{samples.random(float64, {}), samples.random(float64, {})}}});
  samples.error({{samples.random(float32, {2}), samples.random(float32, {3})}}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Unpack) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = {{"num", 3}, {"axis", -1}}});
  }
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"num", 3}});
}
CAUDAL_OP_SAMPLES(Tile) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {2, 3}), ints({2, 1})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor(std::vector<std::int64_t>{3, 0})}});
  samples.error({samples.random(float32, {2}), ints({-1})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Gather) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {4, 3}), ints({3, 0, 3})}});
  samples.error({samples.random(float32, {4}), ints({4})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(GatherV2) {
  for (const DType t : kTypes) samples.add({.inputs = {samples.random(t, {4, 3}), ints({3, 0, 3}), Tensor(0)}});
  samples.add(
      {.inputs = {samples.random(float64, {2, 3, 2}), Tensor::from<std::int64_t>({2, 2}, {0, 2, 1, 1}), Tensor(1)}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 2}), Tensor::from<int>({2, 2}, {0, 2, 1, 1}), Tensor(1)},
               .attrs = {{"batch_dims", 1}}});
  samples.add({.inputs = {samples.random(float64, {2, 2, 3}), Tensor::from<int>({2, 2}, {0, 2, 1, 1}), Tensor(-1)},
               .attrs = {{"batch_dims", 1}}});
  samples.add({.inputs = {samples.random(float32, {4, 3}), Tensor(DType::kInt32, Shape{0}), Tensor(0)}});
  samples.error({samples.random(float32, {4}), ints({-1}), Tensor(0)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(GatherNd) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {3, 4}), Tensor::from<int>({2, 2}, {0, 3, 2, 1})}});
  }
  samples.add({.inputs = {samples.random(float64, {3, 2}), Tensor::from<std::int64_t>({2, 1}, {2, 2})}});
  samples.error({samples.random(float32, {3}), Tensor::from<int>({1, 1}, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ScatterNd) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {Tensor::from<int>({3, 1}, {0, 2, 0}), samples.random(t, {3, 2}), ints({4, 2})}});
  }
  samples.error({Tensor::from<int>({1, 1}, {4}), samples.random(float32, {1}), ints({4})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(OneHot) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {ints({1, -1, 3}), Tensor(3), samples.random(t, {}), samples.random(t, {})}});
  }
  samples.add({.inputs = {Tensor::from<std::int64_t>({2, 2}, {1, 0, 5, 2}), Tensor(3), Tensor(5.0F), Tensor(1.0F)},
               .attrs = {{"axis", 1}}});
  samples.error({ints({1}), Tensor(-1), Tensor(1.0F), Tensor(0.0F)}, Code::kInvalidArgument);
}

void sorted_segments(Samples& samples, const std::vector<DType>& types) {
  for (const DType t : types) {
    samples.add({.inputs = {samples.random(t, {4, 2}), ints({0, 0, 2, 2})}, .shape_unknown = true});
  }
  samples.error({samples.random(float32, {2}), ints({1, 0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SegmentSum) { sorted_segments(samples, kNumbers); }
CAUDAL_OP_SAMPLES(SegmentMean) { sorted_segments(samples, {float32, float64, float16, bfloat16, int32, complex64}); }
CAUDAL_OP_SAMPLES(SegmentProd) {
  samples.complex_gradient_lacks_conjugates();
  sorted_segments(samples, kNumbers);
}
CAUDAL_OP_SAMPLES(SegmentMax) { sorted_segments(samples, kReals); }
CAUDAL_OP_SAMPLES(SegmentMin) { sorted_segments(samples, kReals); }

void unsorted_segments(Samples& samples, const std::vector<DType>& types) {
  for (const DType t : types) {
    samples.add({.inputs = {samples.random(t, {4, 2}), Tensor(std::vector<std::int64_t>{2, 0, -1, 2}), Tensor(4)}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 2, 3}), Tensor::from<int>({2, 2}, {1, 0, 1, 1}), Tensor(2)}});
  samples.error({samples.random(float32, {1}), ints({3}), Tensor(3)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(UnsortedSegmentSum) { unsorted_segments(samples, kNumbers); }
CAUDAL_OP_SAMPLES(UnsortedSegmentProd) {
  samples.complex_gradient_lacks_conjugates();
  unsorted_segments(samples, kNumbers);
}
CAUDAL_OP_SAMPLES(UnsortedSegmentMax) { unsorted_segments(samples, kReals); }
CAUDAL_OP_SAMPLES(UnsortedSegmentMin) { unsorted_segments(samples, kReals); }

CAUDAL_OP_SAMPLES(Where) {
  samples.add({.inputs = {Tensor::from<bool>({2, 2}, {true, false, true, true})},
               .expected = {Tensor::from<std::int64_t>({3, 2}, {0, 0, 1, 0, 1, 1})},
               .shape_unknown = true});
  for (const DType t : kNumbers) samples.add({.inputs = {samples.random(t, {5})}, .shape_unknown = true});
}
CAUDAL_OP_SAMPLES(Unique) {
  samples.add(
      {.inputs = {ints({3, 1, 3, 2, 1})}, .expected = {ints({3, 1, 2}), ints({0, 1, 0, 2, 1})}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(std::vector<std::string>{"b", "a", "b"})}, .shape_unknown = true});
  for (const DType t : kReals) samples.add({.inputs = {samples.random(t, {9})}, .shape_unknown = true});
  samples.error({samples.random(int32, {2, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(UniqueWithCounts) {
  samples.add({.inputs = {ints({3, 1, 3})}, .attrs = {{"out_idx", int64}}, .shape_unknown = true});
}
CAUDAL_OP_SAMPLES(DynamicPartition) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {3, 2}), ints({1, 0, 1})},
                 .attrs = {{"num_partitions", 3}},
                 .shape_unknown = true});
  }
  samples.error({samples.random(float32, {1}), ints({2})}, Code::kInvalidArgument, {{"num_partitions", 2}});
}
void stitches(Samples& samples) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {{Tensor(2), ints({0, 1})}, {samples.random(t, {2}), samples.random(t, {2, 2})}}});
  }
  samples.error({{ints({-1})}, {samples.random(float32, {1})}}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(DynamicStitch) { stitches(samples); }
CAUDAL_OP_SAMPLES(ParallelDynamicStitch) { stitches(samples); }

CAUDAL_OP_SAMPLES(Range) {
  samples.add({.inputs = {Tensor(3), Tensor(10), Tensor(3)}, .expected = {ints({3, 6, 9})}});
  samples.add({.inputs = {Tensor(5), Tensor(0), Tensor(-2)}, .expected = {ints({5, 3, 1})}});
  samples.add({.inputs = {Tensor(std::int64_t{0}), Tensor(std::int64_t{0}), Tensor(std::int64_t{1})}});
  samples.add({.inputs = {Tensor(0.0F), Tensor(1.0F), Tensor(0.25F)}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(0.0), Tensor(1.0), Tensor(0.25)}, .shape_unknown = true});
  for (const DType t : {float16, bfloat16}) {
    const auto number = [&](double value) { return harness::tensor_of(t, {}, {value}); };
    samples.add({.inputs = {number(0), number(1), number(0.25)}, .shape_unknown = true});
  }
  samples.error({Tensor(0), Tensor(5), Tensor(0)}, Code::kInvalidArgument);
  samples.error({Tensor(0), Tensor(5), Tensor(-1)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(LinSpace) {
  samples.add({.inputs = {Tensor(0.0F), Tensor(1.0F), Tensor(5)},
               .expected = {Tensor(std::vector<float>{0, 0.25F, 0.5F, 0.75F, 1})}});
  samples.add({.inputs = {Tensor(2.0), Tensor(1.0), Tensor(1)}});
  samples.error({Tensor(0.0F), Tensor(1.0F), Tensor(0)}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
