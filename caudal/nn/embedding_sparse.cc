#include "caudal/nn/embedding_sparse.h"

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/partition_ops.h"
#include "caudal/ops/segment_ops.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::nn {
namespace {

// A weight for each embedding, of a shape that multiplies them.
Output weights_of(const std::optional<SparseTensor>& sp_weights, const Output& embeddings) {
  const Output given =
      sp_weights ? cast(sp_weights->values, embeddings.dtype()) : ones_like(index(embeddings, {kAll, 0}));
  Output weights = given;
  for (int i = 1; i < embeddings.shape().rank(); ++i) weights = expand_dims(weights, -1);
  return weights;
}

}  // namespace

Output embedding_lookup_sparse(const std::vector<Output>& params, const SparseTensor& sp_ids,
                               const std::optional<SparseTensor>& sp_weights,
                               const EmbeddingLookupSparseOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name);
  const std::string& combiner = options.combiner;
  if (combiner != "mean" && combiner != "sum" && combiner != "sqrtn") {
    throw invalid_argument("embedding_lookup_sparse: the combiner is '", combiner, "'")
        .hint("It is \"mean\", \"sum\" or \"sqrtn\".")
        .made_at(short_location(options.where));
  }
  if (sp_weights && !is_floating(sp_weights->values.dtype())) {
    throw invalid_argument("embedding_lookup_sparse: weights ", sp_weights->values.describe(), " must be floating")
        .made_at(short_location(options.where));
  }
  // Each different id is looked up once.
  const UniqueResult different = unique(sp_ids.values);
  const Output rows = embedding_lookup(
      params, different.y, {.partition_strategy = options.partition_strategy, .max_norm = options.max_norm});
  const Output embeddings = gather(rows, different.idx);
  const Output segments = cast(index(sp_ids.indices, {kAll, 0}), int32);
  const Output weights = weights_of(sp_weights, embeddings);
  const Output sum = math::segment_sum(embeddings * weights, segments);
  if (combiner == "sum") return sum;
  if (combiner == "mean") return div_no_nan(sum, math::segment_sum(weights, segments));
  return div_no_nan(sum, sqrt(math::segment_sum(square(weights), segments)));
}

}  // namespace caudal::inline v0::nn
