#include "caudal/ops/sparse_cross_ops.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::longs;
using harness::SampleInput;
using harness::Samples;
using Strings = std::vector<std::string>;
using Types = std::vector<DType>;

Tensor rows(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / 2, 2}, values);
}
const Tensor& crossed() {
  static const Tensor indices = rows({0, 0, 1, 0, 1, 1});
  return indices;
}
std::vector<SampleInput> columns(const Tensor& second, const Tensor& dense) {
  return {{rows({0, 0, 1, 0, 1, 1}), rows({0, 0, 1, 0})},
          {Tensor(Strings{"a", "b", "c"}), second},
          {longs({2, 2}), longs({2, 1})},
          {dense}};
}

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(SparseCross) {
  const AttrMap strings = {{"hashed_output", false},
                           {"num_buckets", 0},
                           {"hash_key", 956888297470},
                           {"out_type", string},
                           {"internal_type", string}};
  samples.add({.inputs = columns(Tensor(Strings{"x", "y"}), Tensor::from<std::string>({2, 1}, {"p", "q"})),
               .attrs = strings,
               .expected = {crossed(), Tensor(Strings{"a_X_x_X_p", "b_X_y_X_q", "c_X_y_X_q"}), longs({2, 2})},
               .shape_unknown = true});
  samples.add({.inputs = columns(longs({5, 6}), Tensor::from<std::int64_t>({2, 1}, {7, 8})),
               .attrs = {{"hashed_output", true},
                         {"num_buckets", 100},
                         {"hash_key", 956888297470},
                         {"out_type", int64},
                         {"internal_type", int64}},
               .expected = {crossed(), longs({36, 51, 91}), longs({2, 2})},
               .shape_unknown = true});
  samples.error(columns(longs({5, 6}), Tensor::from<std::string>({2, 1}, {"p", "q"})), Code::kInvalidArgument, strings);
  samples.error(columns(Tensor(Strings{"x", "y"}), Tensor::from<std::string>({1, 1}, {"p"})), Code::kInvalidArgument,
                strings);
}
CAUDAL_OP_SAMPLES(SparseCrossV2) {
  auto inputs = columns(longs({5, 6}), Tensor::from<std::int64_t>({2, 1}, {7, 8}));
  inputs.emplace_back(Tensor("_"));
  samples.add({.inputs = inputs,
               .expected = {crossed(), Tensor(Strings{"a_5_7", "b_6_8", "c_6_8"}), longs({2, 2})},
               .shape_unknown = true});
  inputs.back() = Tensor(Strings{"_"});
  samples.error(inputs, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseCrossHashed) {
  auto inputs = columns(longs({5, 6}), Tensor::from<std::int64_t>({2, 1}, {7, 8}));
  inputs.emplace_back(Tensor(std::int64_t{0}));
  inputs.emplace_back(Tensor(false));
  inputs.emplace_back(longs({1, 2}));
  samples.add(
      {.inputs = inputs,
       .expected = {crossed(), longs({5092922870842271320, 4760990668543771972, 4573743334814647124}), longs({2, 2})},
       .shape_unknown = true});
  inputs[5] = Tensor(true);
  samples.add({.inputs = inputs, .shape_unknown = true});
  inputs[6] = longs({1});
  samples.error(inputs, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
