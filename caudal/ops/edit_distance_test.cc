#include "caudal/ops/edit_distance.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using Longs = std::vector<std::int64_t>;

CAUDAL_OP_SAMPLES(EditDistance) {
  const Tensor places = Tensor::from<std::int64_t>({4, 2}, {0, 0, 0, 1, 0, 2, 2, 0});
  const Tensor truths = Tensor::from<std::int64_t>({3, 2}, {0, 0, 0, 1, 1, 0}), shape(Longs{3, 4});
  for (const DType t : harness::kUsualTypes) {
    for (const bool normalize : {false, true}) {
      samples.add({.inputs = {places, samples.random(t, {4}), shape, truths, samples.random(t, {3}), shape},
                   .attrs = {{"normalize", normalize}}});
    }
  }
  const Tensor a = samples.random(int32, {4}), b = samples.random(int32, {3});
  const auto error = [&](const Tensor& indices, const Tensor& values, const Tensor& sizes) {
    samples.error({indices, values, sizes, truths, b, shape}, Code::kInvalidArgument);
  };
  error(places, samples.random(int32, {3}), shape);
  error(places, a, Tensor(Longs{3, 4, 5}));
  error(places, a, Tensor(Longs{2, 4}));                                                       // an index outside
  error(Tensor::from<std::int64_t>({2, 2}, {1, 0, 0, 0}), samples.random(int32, {2}), shape);  // out of order
  samples.error({Tensor(int64, {0, 2}), Tensor(int32, {0}), Tensor(Longs{0, 1}), Tensor(int64, {0, 2}),
                 Tensor(int32, {0}), Tensor(Longs{0, 1})},
                Code::kInvalidArgument);
}

// "kitten" and "sitting"; nothing and one; one and nothing; nothing and nothing.
TEST(EditDistance, CountsChanges) {
  Graph graph;
  const GraphScope scope(graph);
  const auto sparse = [](const std::vector<std::pair<int, std::string>>& letters) {
    Longs indices;
    std::vector<std::string> values;
    std::map<int, std::int64_t> next;
    for (const auto& [row, letter] : letters) {
      indices.insert(indices.end(), {row, next[row]++});
      values.push_back(letter);
    }
    const auto n = static_cast<std::int64_t>(values.size());
    return SparseTensor{constant(Tensor::from<std::int64_t>({n, 2}, indices)), constant(Tensor(values)),
                        constant(Tensor(Longs{4, 8}))};
  };
  const auto kitten = sparse({{0, "k"}, {0, "i"}, {0, "t"}, {0, "t"}, {0, "e"}, {0, "n"}, {2, "x"}});
  const auto sitting = sparse({{0, "s"}, {0, "i"}, {0, "t"}, {0, "t"}, {0, "i"}, {0, "n"}, {0, "g"}, {1, "y"}});
  Session session;
  EXPECT_EQ(session.run(edit_distance(kitten, sitting, {.normalize = false})).to_vector<float>(),
            (std::vector<float>{3, 1, 1, 0}));
  EXPECT_EQ(session.run(edit_distance(kitten, sitting)).to_vector<float>(),
            (std::vector<float>{3.0F / 7, 1, std::numeric_limits<float>::infinity(), 0}));
}

}  // namespace
}  // namespace caudal::inline v0
