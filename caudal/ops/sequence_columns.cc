#include "caudal/ops/sequence_columns.h"

#include <algorithm>

#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

std::int64_t longest(const std::vector<std::int64_t>& counts) {
  return counts.empty() ? 0 : *std::ranges::max_element(counts);
}

void take_step(std::int64_t record, std::int64_t step, const FeatureField& feature, const RecordNames& names,
               ListColumn& column) {
  std::int64_t count = 0;
  if (feature.kind() != FeatureKind::kNone) {
    if (!column.values.accepts(feature.kind())) {
      throw invalid_argument(names.of(record), ", Feature list: ", column.key, ", Index: ", step,
                             ".  Data types don't match. Expected type: ", kernel_type_name(column.values.dtype()));
    }
    count = column.values.append(feature);
  }
  if (column.step_shape && count != column.step_shape->num_elements()) {
    throw invalid_argument(names.of(record), ", Key: ", column.key, ", Index: ", step,
                           ".  Number of values != expected.  values size: ", count,
                           " but output shape: ", *column.step_shape);
  }
  column.counts.push_back(count);
}

}  // namespace

void add_lists(std::int64_t record, const std::vector<NamedField>& lists, const RecordNames& names,
               std::vector<ListColumn>* columns) {
  for (ListColumn& column : *columns) {
    const auto list =
        std::find_if(lists.rbegin(), lists.rend(), [&](const NamedField& field) { return field.name == column.key; });
    if (list == lists.rend()) {
      if (!column.may_be_missing) {
        throw invalid_argument(names.of(record), ", Feature list '", column.key,
                               "' is required but could not be found.  Did you mean to include it in "
                               "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?");
      }
      column.steps.push_back(0);
      continue;
    }
    std::int64_t step = 0;
    for (const std::string_view bytes : feature_list_fields(list->bytes)) {
      take_step(record, step++, FeatureField(bytes), names, column);
    }
    column.steps.push_back(step);
  }
}

SparseParts sparse_list_parts(const ListColumn& column, bool single) {
  const std::int64_t n = column.values.size();
  SparseParts parts{.indices = Tensor(int64, {n, single ? 2 : 3}), .values = column.values.to_tensor({n}), .shape = {}};
  std::int64_t* to = parts.indices.data<std::int64_t>();
  auto count = column.counts.begin();
  for (std::size_t record = 0; record < column.steps.size(); ++record) {
    for (std::int64_t step = 0; step < column.steps[record]; ++step, ++count) {
      for (std::int64_t k = 0; k < *count; ++k) {
        if (!single) *to++ = static_cast<std::int64_t>(record);
        *to++ = step;
        *to++ = k;
      }
    }
  }
  std::vector<std::int64_t> shape{longest(column.steps), longest(column.counts)};
  if (!single) shape.insert(shape.begin(), static_cast<std::int64_t>(column.steps.size()));
  parts.shape = Tensor(shape);
  return parts;
}

Tensor dense_list_part(const ListColumn& column, bool single) {
  const std::int64_t most = longest(column.steps), stride = column.step_shape->num_elements();
  std::vector<std::int64_t> dims = column.step_shape->to_vector(), lengths;
  dims.insert(dims.begin(), most);
  if (!single) dims.insert(dims.begin(), static_cast<std::int64_t>(column.steps.size()));
  for (const std::int64_t steps : column.steps) lengths.push_back(steps * stride);
  return column.values.padded(lengths, most * stride, Tensor::zeros(column.values.dtype(), {1}), Shape(dims));
}

}  // namespace caudal::inline v0
