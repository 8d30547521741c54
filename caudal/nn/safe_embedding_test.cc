#include "caudal/nn/safe_embedding.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

Tensor rows(std::int64_t width, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / width, width}, values);
}
SparseTensor sparse_of(const Tensor& indices, const Tensor& values, const std::vector<std::int64_t>& shape) {
  return {constant(indices), constant(values), constant(Tensor(shape))};
}
Output table() { return constant(Tensor::from<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})); }
std::vector<float> values_of(const Output& output) { return Session().run(output).to_vector<float>(); }

using Floats = std::vector<float>;
const Tensor& places() {
  static const Tensor indices = rows(2, {0, 0, 0, 1, 2, 0});
  return indices;
}
SparseTensor ids() { return sparse_of(places(), Tensor(std::vector<std::int64_t>{1, 3, 0}), {4, 2}); }

// Values of TensorFlow 2.21 (tf.compat.v1.nn.safe_embedding_lookup_sparse).
TEST(SafeEmbeddingLookupSparse, KnowsRowsWithoutIds) {
  Graph graph;
  const GraphScope scope(graph);
  const SparseTensor some = sparse_of(places(), Tensor(std::vector<std::int64_t>{1, -1, 0}), {4, 2});
  EXPECT_EQ(values_of(nn::safe_embedding_lookup_sparse({table()}, some)), (Floats{3, 4, 0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(values_of(nn::safe_embedding_lookup_sparse({table()}, some, std::nullopt, {.default_id = 2})),
            (Floats{3, 4, 5, 6, 1, 2, 5, 6}));
  const SparseTensor no_weight = sparse_of(places(), Tensor(Floats{1, 0, 2}), {4, 2});
  EXPECT_EQ(values_of(nn::safe_embedding_lookup_sparse({table()}, ids(), no_weight)), (Floats{3, 4, 0, 0, 1, 2, 0, 0}));
}

TEST(SafeEmbeddingLookupSparse, KeepsLeadingDimensions) {
  Graph graph;
  const GraphScope scope(graph);
  const SparseTensor deep = sparse_of(rows(3, {0, 1, 0, 1, 0, 1}), Tensor(std::vector<std::int64_t>{3, 0}), {2, 2, 2});
  const Tensor result = Session().run(nn::safe_embedding_lookup_sparse({table()}, deep));
  EXPECT_EQ(result.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(result.to_vector<float>(), (Floats{0, 0, 7, 8, 1, 2, 0, 0}));
}

}  // namespace
}  // namespace caudal
