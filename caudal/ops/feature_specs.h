// What is wanted of named features, sorted by the form that they take: the lists that parsing ops have as inputs and
// attributes.
//
// Thread safety: as building a graph.
#pragma once

#include <string>
#include <vector>

#include "caudal/ops/parse_example_ops.h"

namespace caudal::inline v0 {

struct SortedFeatures {
  // Throws INVALID_ARGUMENT, naming the feature, for sizes that are unknown and defaults that do not fit. `lists`:
  // the features are feature lists, whose steps have fixed sizes: FixedLenSequenceFeature is then a dense list.
  explicit SortedFeatures(const io::FeatureSpecs& features, bool lists = false);

  std::vector<Output> default_outputs() const;
  // Hands the node's outputs from `first` on to `parsed` and returns the position after them: indices, values and
  // shapes of all sparse features; all dense ones.
  int take_sparse(Node& node, int first, io::ParsedFeatures* parsed) const;
  int take_dense(Node& node, int first, io::ParsedFeatures* parsed) const;

  std::vector<std::string> sparse_keys, dense_keys, ragged_keys;
  std::vector<DType> sparse_types, dense_types, ragged_types, split_types;
  std::vector<PartialShape> dense_shapes;
  std::vector<Tensor> defaults;
};

}  // namespace caudal::inline v0
