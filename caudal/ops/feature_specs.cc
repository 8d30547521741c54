#include "caudal/ops/feature_specs.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

Tensor empty_of(DType dtype) { return Tensor(dtype, {0}); }

// The default in the feature's shape: one value stands for all.
Tensor default_of(const std::string& key, const io::FixedLenFeature& spec) {
  const auto shape = spec.shape.to_shape();
  if (!shape)
    throw invalid_argument("feature ", key, ": the shape ", spec.shape, " of a FixedLenFeature must be known");
  const Tensor& value = spec.default_value;
  if (!value.valid()) return empty_of(spec.dtype);
  if (value.dtype() != spec.dtype) {
    throw invalid_argument("feature ", key, ": the default is ", value.describe(), ", the feature ", spec.dtype);
  }
  if (value.num_elements() == shape->num_elements()) return value.reshape(*shape);
  if (value.num_elements() != 1) {
    throw invalid_argument("feature ", key, ": the default ", value.describe(), " does not fit the shape ", *shape);
  }
  Tensor filled(spec.dtype, *shape);
  const auto size = static_cast<std::int64_t>(dtype_size(spec.dtype));
  for (std::int64_t i = 0; i < filled.num_elements(); ++i) {
    copy_elements(spec.dtype, value.raw(), filled.raw() + i * size, 1);
  }
  return filled;
}

Tensor filling_of(const std::string& key, const io::FixedLenSequenceFeature& spec) {
  const Tensor& value = spec.default_value;
  if (!value.valid()) return Tensor::zeros(spec.dtype, {1});
  if (value.dtype() != spec.dtype || value.num_elements() != 1) {
    throw invalid_argument("feature ", key, ": the default of a FixedLenSequenceFeature is one ", spec.dtype, ", not ",
                           value.describe());
  }
  return value.reshape({1});
}

}  // namespace

SortedFeatures::SortedFeatures(const io::FeatureSpecs& features, bool lists) {
  for (const auto& [key, spec] : features) {
    if (const auto* any = std::get_if<io::VarLenFeature>(&spec)) {
      sparse_keys.push_back(key);
      sparse_types.push_back(any->dtype);
    } else if (const auto* rows = std::get_if<io::RaggedFeature>(&spec)) {
      ragged_keys.push_back(key);
      ragged_types.push_back(rows->dtype);
      split_types.push_back(rows->row_splits_dtype);
    } else if (const auto* fixed = std::get_if<io::FixedLenFeature>(&spec)) {
      if (lists) throw invalid_argument("feature list ", key, ": use a FixedLenSequenceFeature");
      dense_keys.push_back(key);
      dense_types.push_back(fixed->dtype);
      dense_shapes.push_back(fixed->shape);
      defaults.push_back(default_of(key, *fixed));
    } else {
      const auto& steps = std::get<io::FixedLenSequenceFeature>(spec);
      if (!steps.shape.is_fully_known())
        throw invalid_argument("feature ", key, ": the shape ", steps.shape, " must be known");
      std::vector<std::int64_t> dims = steps.shape.dims();
      if (!lists) dims.insert(dims.begin(), -1);
      dense_keys.push_back(key);
      dense_types.push_back(steps.dtype);
      dense_shapes.emplace_back(std::move(dims));
      defaults.push_back(filling_of(key, steps));
    }
  }
}

std::vector<Output> SortedFeatures::default_outputs() const {
  std::vector<Output> outputs;
  for (const Tensor& value : defaults) outputs.push_back(Operand(value).to_output(DType::kInvalid, "dense_default"));
  return outputs;
}

int SortedFeatures::take_sparse(Node& node, int first, io::ParsedFeatures* parsed) const {
  const int n = static_cast<int>(sparse_keys.size());
  for (int i = 0; i < n; ++i) {
    parsed->sparse[sparse_keys[i]] = {node.output(first + i), node.output(first + n + i),
                                      node.output(first + 2 * n + i)};
  }
  return first + 3 * n;
}

int SortedFeatures::take_dense(Node& node, int first, io::ParsedFeatures* parsed) const {
  for (const std::string& key : dense_keys) parsed->dense[key] = node.output(first++);
  return first;
}

}  // namespace caudal::inline v0
