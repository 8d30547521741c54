// Examples (caudal/formats/example.h) parsed in the graph.
//
//   auto parsed = io::parse_example(serialized, {{"image", io::FixedLenFeature{{784}, float32}},
//                                                {"tags", io::VarLenFeature{string}}});
//   parsed.dense.at("image");  parsed.sparse.at("tags").values;
//
// Errors: INVALID_ARGUMENT naming record and feature, at run time, for a record that is no Example, a feature of
// another type or with another number of values, and a required feature that is missing. Thread safety: as building a
// graph.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/ragged_tensor.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0::io {

// As many values as the shape says: [batch] + shape.
struct FixedLenFeature {
  PartialShape shape;
  DType dtype;                // float32, int64 or string
  Tensor default_value = {};  // where it is missing: one value or all of them; none: the feature is required
};
// Any number of steps of the shape: [batch, longest] + shape, filled up with the default (0 or "").
struct FixedLenSequenceFeature {
  PartialShape shape;
  DType dtype;
  Tensor default_value = {};  // one value
};
// Any number of values, as a SparseTensor [batch, longest].
struct VarLenFeature {
  DType dtype;
};
// Any number of values, as rows of a RaggedTensor.
struct RaggedFeature {
  DType dtype;
  DType row_splits_dtype = DType::kInt32;
};
using FeatureSpec = std::variant<FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, RaggedFeature>;
using FeatureSpecs = std::map<std::string, FeatureSpec>;

struct ParsedFeatures {
  std::map<std::string, Output> dense;  // of FixedLenFeature and FixedLenSequenceFeature
  std::map<std::string, SparseTensor> sparse;
  std::map<std::string, RaggedTensor> ragged;
  std::map<std::string, Output> lengths;  // of the feature lists of parse_sequence_example that are dense: [batch]
};

struct ParseExampleOptions {
  Operand example_names = Tensor(std::vector<std::string>{});  // of the records, for messages
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// serialized: a string vector of Examples. Throws INVALID_ARGUMENT for a feature without known sizes or whose default
// does not fit.
CAUDAL_API ParsedFeatures parse_example(const Operand& serialized, const FeatureSpecs& features,
                                        const ParseExampleOptions& options = {});
// serialized: one Example, a string scalar; results without the batch dimension. A ragged feature is its values alone.
CAUDAL_API ParsedFeatures parse_single_example(const Operand& serialized, const FeatureSpecs& features,
                                               const ParseExampleOptions& options = {});

}  // namespace caudal::inline v0::io
