#include "caudal/ops/sparse_index_ops.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;
using Ints = std::vector<std::int64_t>;

Tensor rows(std::int64_t width, const Ints& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / width, width}, values);
}
const std::vector<DType>& moved() { return harness::kUsualTypes; }
constexpr const char* kHandles = "handles and variants are in no sparse tensor of ours";

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(SparseReorder) {
  for (const DType t : moved()) {
    samples.add({.inputs = {rows(2, {1, 0, 0, 1, 1, 0}), samples.random(t, {3}), longs({2, 2})}});
  }
  samples.add({.inputs = {rows(2, {1, 0, 0, 1, 1, 0}), Tensor(std::vector<float>{1, 2, 3}), longs({2, 2})},
               .expected = {rows(2, {0, 1, 1, 0, 1, 0}), Tensor(std::vector<float>{2, 1, 3})},
               .gradient = harness::Check::kNo});
  samples.add({.inputs = {Tensor(int64, {0, 2}), Tensor(float32, {0}), longs({2, 2})}});
  samples.error({rows(2, {1, 0, 0, 1}), ints({1}), longs({2, 2})}, Code::kInvalidArgument);
  samples.error({rows(2, {1, 0, 0, 1}), ints({1, 2}), longs({2})}, Code::kInvalidArgument);
  samples.unsupported({resource, variant}, kHandles);
}
CAUDAL_OP_SAMPLES(SparseReshape) {
  samples.add({.inputs = {rows(2, {0, 1, 1, 2}), longs({2, 3}), longs({3, -1})},
               .expected = {rows(2, {0, 1, 2, 1}), longs({3, 2})},
               .shape_unknown = true});
  samples.add(
      {.inputs = {rows(2, {0, 1, 1, 2}), longs({2, 3}), longs({6})}, .expected = {rows(1, {1, 5}), longs({6})}});
  samples.add({.inputs = {Tensor(int64, {0, 2}), longs({0, 3}), longs({3, -1})},
               .expected = {Tensor(int64, {0, 2}), longs({3, 0})}});
  for (const Tensor& shape : {longs({-1, -1}), longs({4}), longs({-1, 4}), longs({-2, 3})}) {
    samples.error({rows(2, {0, 1, 1, 2}), longs({2, 3}), shape}, Code::kInvalidArgument);
  }
  samples.error({Tensor(int64, {0, 2}), longs({0, 3}), longs({-1, 0})}, Code::kInvalidArgument);
  samples.error({longs({0, 1}), longs({2, 3}), longs({-1})}, Code::kInvalidArgument);
  samples.error({rows(2, {0, 1}), longs({5, 6}), longs({4, 7})}, Code::kInvalidArgument, {},
                "Input to reshape is a tensor with 30 dense values");
  samples.error({rows(2, {0, 1}), longs({5, 6}), longs({4, -1})}, Code::kInvalidArgument, {},
                "requested shape requires a multiple of 4");
}
CAUDAL_OP_SAMPLES(SparseFillEmptyRows) {
  for (const DType t : moved()) {
    samples.add({.inputs = {rows(2, {0, 1, 2, 0}), samples.random(t, {2}), longs({4, 2}), samples.random(t, {})},
                 .shape_unknown = true});
  }
  samples.add({.inputs = {rows(2, {2, 0, 0, 1, 2, 5}), ints({1, 2, 3}), longs({4, 6}), Tensor(-1)},
               .expected = {rows(2, {0, 1, 1, 0, 2, 0, 2, 5, 3, 0}), ints({2, -1, 1, 3, -1}),
                            Tensor::from<bool>({4}, {false, true, false, true}), longs({2, 0, 3})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(int64, {0, 2}), Tensor(float32, {0}), longs({2, 2}), Tensor(5.0F)},
               .expected = {rows(2, {0, 0, 1, 0}), Tensor(std::vector<float>{5, 5}),
                            Tensor::from<bool>({2}, {true, true}), longs({})},
               .shape_unknown = true});
  samples.add(
      {.inputs = {Tensor(int64, {0, 2}), Tensor(float32, {0}), longs({0, 2}), Tensor(5.0F)}, .shape_unknown = true});
  samples.error({rows(2, {4, 0}), ints({1}), longs({4, 2}), Tensor(0)}, Code::kInvalidArgument, {}, "4 >= 4");
  samples.error({rows(2, {-1, 0}), ints({1}), longs({4, 2}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({rows(2, {0, 0}), ints({1}), longs({0, 2}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({rows(2, {0, 0}), ints({1}), longs({2, 2}), ints({0})}, Code::kInvalidArgument);
  samples.unsupported({resource, variant}, kHandles);
}
CAUDAL_OP_SAMPLES(SparseFillEmptyRowsGrad) {
  for (const DType t : harness::kNumberTypes) samples.add({.inputs = {longs({0, 2}), samples.random(t, {4})}});
  samples.add({.inputs = {longs({0, 0}), ints({1, 2, 3, 4})}, .expected = {ints({1, 1}), Tensor(9)}});
  samples.error({longs({0, 7}), ints({1, 2, 3, 4})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseSlice) {
  const Tensor indices = rows(2, {0, 1, 1, 2, 2, 0});
  for (const DType t : moved()) {
    samples.add({.inputs = {indices, samples.random(t, {3}), longs({3, 4}), longs({1, 0}), longs({9, 2})},
                 .shape_unknown = true});
  }
  samples.add({.inputs = {indices, ints({1, 2, 3}), longs({3, 4}), longs({1, 1}), longs({9, 9})},
               .expected = {rows(2, {0, 1}), ints({2}), longs({2, 3})},
               .shape_unknown = true});
  samples.add({.inputs = {rows(2, {0, 1}), ints({1}), longs({3, 4}), longs({-1, 0}), longs({2, 2})},
               .expected = {rows(2, {1, 1}), ints({1}), longs({2, 2})},
               .shape_unknown = true});
  samples.add({.inputs = {rows(2, {0, 1}), ints({1}), longs({3, 4}), longs({5, 0}), longs({1, 1})},
               .expected = {Tensor(int64, {0, 2}), ints({}), longs({0, 1})},
               .shape_unknown = true});
  samples.error({indices, ints({1, 2, 3}), longs({3, 4}), longs({0, 0}), longs({-1, 2})}, Code::kInvalidArgument);
  samples.error({indices, ints({1, 2, 3}), longs({3, 4}), longs({0}), longs({1})}, Code::kInvalidArgument);
  samples.unsupported({resource, variant}, kHandles);
}
CAUDAL_OP_SAMPLES(SparseSliceGrad) {
  const Tensor indices = rows(2, {0, 1, 1, 2, 2, 0});
  for (const DType t : harness::kNumberTypes) {
    samples.add({.inputs = {samples.random(t, {1}), indices, longs({1, 0}), rows(2, {0, 2})}});
  }
  samples.add({.inputs = {ints({5}), indices, longs({1, 0}), rows(2, {0, 2})}, .expected = {ints({0, 5, 0})}});
  samples.error({ints({5}), indices, longs({1, 0}), rows(2, {1, 2})}, Code::kInternal);
  samples.error({ints({5, 6}), indices, longs({1, 0}), rows(2, {1, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseConcat) {
  const Tensor a = rows(2, {0, 1, 1, 0}), b = rows(2, {0, 0, 1, 1});
  for (const DType t : moved()) {
    samples.add({.inputs = {{a, b}, {samples.random(t, {2}), samples.random(t, {2})}, {longs({2, 2}), longs({2, 3})}},
                 .attrs = {{"concat_dim", 1}}});
  }
  samples.add({.inputs = {{a, b}, {ints({1, 2}), ints({3, 4})}, {longs({2, 2}), longs({2, 3})}},
               .attrs = {{"concat_dim", -1}},
               .expected = {rows(2, {0, 1, 0, 2, 1, 0, 1, 3}), ints({1, 3, 2, 4}), longs({2, 5})}});
  samples.add(
      {.inputs = {{rows(2, {1, 1, 0, 0}), rows(2, {0, 0})}, {ints({1, 2}), ints({3})}, {longs({2, 2}), longs({2, 2})}},
       .attrs = {{"concat_dim", 0}},
       .expected = {rows(2, {0, 0, 1, 1, 2, 0}), ints({2, 1, 3}), longs({4, 2})}});
  const std::vector<harness::SampleInput> pair = {{a, b}, {ints({1, 2}), ints({3, 4})}, {longs({2, 2}), longs({3, 2})}};
  samples.error(pair, Code::kInvalidArgument, {{"concat_dim", 1}}, "shapes must match");
  samples.error(pair, Code::kInvalidArgument, {{"concat_dim", 2}}, "in range [-2, 2)");
  samples.unsupported({resource, variant}, kHandles);
}
CAUDAL_OP_SAMPLES(SparseSplit) {
  const Tensor indices = rows(2, {0, 1, 1, 0, 1, 4});
  for (const DType t : moved()) {
    samples.add({.inputs = {Tensor(std::int64_t{1}), indices, samples.random(t, {3}), longs({2, 5})},
                 .attrs = {{"num_split", 2}},
                 .shape_unknown = true});
  }
  samples.add(
      {.inputs = {Tensor(std::int64_t{-1}), indices, ints({1, 2, 3}), longs({2, 5})},
       .attrs = {{"num_split", 2}},
       .expected = {rows(2, {0, 1, 1, 0}), rows(2, {1, 1}), ints({1, 2}), ints({3}), longs({2, 3}), longs({2, 2})},
       .shape_unknown = true});
  samples.error({Tensor(std::int64_t{2}), indices, ints({1, 2, 3}), longs({2, 5})}, Code::kInvalidArgument,
                {{"num_split", 2}});
  samples.error({Tensor(std::int64_t{0}), indices, ints({1, 2, 3}), longs({2, 5})}, Code::kInvalidArgument,
                {{"num_split", 3}});
  samples.error({Tensor(std::int64_t{1}), indices, ints({1, 2, 3}), longs({2, 4})}, Code::kInvalidArgument,
                {{"num_split", 2}});
  samples.unsupported({resource, variant}, kHandles);
}

}  // namespace
}  // namespace caudal::inline v0
