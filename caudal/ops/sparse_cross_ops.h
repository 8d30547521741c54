// Crossed features: each combination of one value of every column of a row as one feature.
//
// Columns are matrices, sparse or dense, of int64 or strings, with one row per example. Errors: INVALID_ARGUMENT, at
// run time, for columns of different numbers of rows; RESOURCE_EXHAUSTED above 2^28 combinations. Thread safety: as
// building a graph.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0::sparse {

struct CrossOptions {
  std::string separator = "_X_";
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Strings: the values joined. Sparse columns come before dense ones.
CAUDAL_API SparseTensor cross(const std::vector<SparseTensor>& sparse_inputs, const std::vector<Output>& dense_inputs,
                              const CrossOptions& options = {});

struct CrossHashedOptions {
  std::int64_t num_buckets = 0;          // 0: the hash itself
  std::int64_t hash_key = 956888297470;  // as tf.sparse.cross_hashed has it
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// int64: a hash of the values.
CAUDAL_API SparseTensor cross_hashed(const std::vector<SparseTensor>& sparse_inputs,
                                     const std::vector<Output>& dense_inputs, const CrossHashedOptions& options = {});

}  // namespace caudal::inline v0::sparse
