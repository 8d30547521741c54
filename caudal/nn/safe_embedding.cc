#include "caudal/nn/safe_embedding.h"

#include "caudal/graph/scope.h"
#include "caudal/nn/embedding_sparse.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/sparse_index_ops.h"

namespace caudal::inline v0 {

Output nn::safe_embedding_lookup_sparse(const std::vector<Output>& embedding_weights, const SparseTensor& sparse_ids,
                                        const std::optional<SparseTensor>& sparse_weights,
                                        const SafeEmbeddingLookupSparseOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name);
  const Output shape = sparse_ids.dense_shape, rank = size(shape);
  const Output leading = slice(shape, {0}, expand_dims(rank - 1, 0)),
               last = slice(shape, expand_dims(rank - 1, 0), {1});
  const Output rows = reduce_prod(leading, {.keepdims = true});
  SparseTensor ids = sparse::reshape(sparse_ids, concat({rows, last}, 0));
  std::optional<SparseTensor> weights;
  if (sparse_weights) weights = SparseTensor{ids.indices, sparse_weights->values, ids.dense_shape};
  const Tensor zero_id = convert_number(Tensor(0), ids.values.dtype());
  Output valid = greater_equal(ids.values, zero_id);
  if (weights && options.combiner != "sum") {
    valid = logical_and(valid, greater(weights->values, convert_number(Tensor(0), weights->values.dtype())));
  }
  ids = sparse::retain(ids, valid);
  if (weights) weights = sparse::retain(*weights, valid);
  const auto filled =
      sparse::fill_empty_rows(ids, convert_number(Tensor(options.default_id.value_or(0)), ids.values.dtype()));
  if (weights) {
    weights = sparse::fill_empty_rows(*weights, convert_number(Tensor(1), weights->values.dtype())).filled;
  }
  Output result = embedding_lookup_sparse(
      embedding_weights, filled.filled, weights,
      {.partition_strategy = options.partition_strategy, .combiner = options.combiner, .max_norm = options.max_norm});
  if (!options.default_id) result = raw_ops::select(filled.empty_row_indicator, zeros_like(result), result);
  const Output inner = slice(shape_of(result, int64), {1}, {-1});
  return reshape(result, concat({leading, inner}, 0));
}

}  // namespace caudal::inline v0
