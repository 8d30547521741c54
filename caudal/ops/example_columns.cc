#include "caudal/ops/example_columns.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

std::int64_t sum(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::string_view kind_name(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kBytes:
      return "string";
    case FeatureKind::kFloat:
      return "float";
    case FeatureKind::kInt64:
      return "int64";
    default:
      return "none";
  }
}

// Elements of one step of a variable shape, of all of a fixed one.
std::int64_t stride_of(const Column& column) {
  if (column.form != Column::Form::kVariable) return column.shape.num_elements();
  const auto& dims = column.shape.dims();
  return std::accumulate(dims.begin() + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

FeatureValues::FeatureValues(DType dtype) : dtype_(dtype) {
  if (dtype == float32) values_ = std::vector<float>{};
  if (dtype == int64) values_ = std::vector<std::int64_t>{};
}

std::int64_t FeatureValues::size() const {
  return std::visit([](const auto& values) { return static_cast<std::int64_t>(values.size()); }, values_);
}

bool FeatureValues::accepts(FeatureKind kind) const {
  return kind == (dtype_ == float32 ? FeatureKind::kFloat
                  : dtype_ == int64 ? FeatureKind::kInt64
                                    : FeatureKind::kBytes);
}

std::int64_t FeatureValues::append(const FeatureField& feature) {
  const std::int64_t before = size();
  std::visit([&](auto& values) { feature.append_to(&values); }, values_);
  return size() - before;
}

void FeatureValues::append(const Tensor& more) {
  std::visit(
      [&]<class T>(std::vector<T>& values) {
        const auto elements = more.flat<T>();
        values.insert(values.end(), elements.begin(), elements.end());
      },
      values_);
}

Tensor FeatureValues::to_tensor(const Shape& shape) const {
  return std::visit([&](const auto& values) { return Tensor::from(shape, values); }, values_);
}

Tensor FeatureValues::padded(std::span<const std::int64_t> lengths, std::int64_t length, const Tensor& filling,
                             const Shape& shape) const {
  return std::visit(
      [&]<class T>(const std::vector<T>& values) {
        Tensor out(dtype_of<T>(), shape);
        const T* from = values.data();
        T* to = out.data<T>();
        for (const std::int64_t count : lengths) {
          std::copy_n(from, count, to);
          std::fill_n(to + count, length - count, filling.item<T>());
          from += count;
          to += length;
        }
        return out;
      },
      values_);
}

std::int64_t Column::longest() const { return counts.empty() ? 0 : *std::ranges::max_element(counts); }

std::string RecordNames::of(std::int64_t record) const {
  if (!names.empty()) return "Name: " + names[record];
  return "Name: <unknown>, record " + std::to_string(record);
}

Column dense_column(std::string key, const PartialShape& shape, const Tensor& default_value, int i) {
  const bool variable = shape.rank() > 0 && shape[0] < 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] >= 0 || (variable && d == 0)) continue;
    throw invalid_argument("dense_shapes[", i, "] is ", shape, ": only the first size may be unknown");
  }
  Column column(std::move(key), default_value.dtype(), variable ? Column::Form::kVariable : Column::Form::kDense);
  column.shape = shape;
  column.default_value = default_value;
  if (variable) {
    if (default_value.num_elements() != 1) {
      throw invalid_argument(
          "dense_shape[", i, "] is a variable length shape: ", shape, ", therefore def_value[", i,
          "] must contain a single element (the padding element).  But its shape is: ", default_value.shape());
    }
    if (stride_of(column) == 0)
      throw invalid_argument("dense_shapes[", i, "] is ", shape, ": its steps have no values");
  } else if (default_value.num_elements() > 0 && !shape.compatible(default_value.shape())) {
    throw invalid_argument("def_value[", i, "].shape() == ", default_value.shape(),
                           " is not compatible with dense_shapes_[", i, "] == ", shape);
  }
  return column;
}

ExampleGatherer::ExampleGatherer(std::vector<Column>* columns, RecordNames names)
    : columns_(columns), names_(names), seen_(columns->size()) {
  for (std::size_t i = 0; i < columns->size(); ++i) by_key_.emplace((*columns)[i].key, i);
}

void ExampleGatherer::add(std::int64_t record, const std::vector<NamedField>& fields) {
  seen_.assign(seen_.size(), false);
  for (auto field = fields.rbegin(); field != fields.rend(); ++field) {  // the last of one name counts
    const auto [begin, end] = by_key_.equal_range(field->name);
    for (auto at = begin; at != end; ++at) {
      if (seen_[at->second]) continue;
      seen_[at->second] = true;
      take(record, (*columns_)[at->second], *field);
    }
  }
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (!seen_[i]) take_missing(record, (*columns_)[i]);
  }
}

void ExampleGatherer::take(std::int64_t record, Column& column, const NamedField& field) const {
  const FeatureField feature(field.bytes);
  if (feature.kind() == FeatureKind::kNone) return take_missing(record, column);
  if (!column.values.accepts(feature.kind())) {
    throw invalid_argument(names_.of(record), ", Key: ", column.key, ", Index: ", record,
                           ".  Data types don't match. Data type: ", kind_name(feature.kind()),
                           " but expected type: ", kernel_type_name(column.values.dtype()));
  }
  const std::int64_t count = column.values.append(feature);
  column.counts.push_back(count);
  if (column.form == Column::Form::kDense && count != stride_of(column)) {
    throw invalid_argument(names_.of(record), ", Key: ", column.key, ", Index: ", record, ".  Number of ",
                           kind_name(feature.kind()), " values != expected.  Values size: ", count,
                           " but output shape: ", column.shape);
  }
  if (column.form == Column::Form::kVariable && count % stride_of(column) != 0) {
    throw invalid_argument(names_.of(record), ", Key: ", column.key, ", Index: ", record, ".  Number of ",
                           kind_name(feature.kind()), " values is not a multiple of stride length. Saw ", count,
                           " values but output shape is: ", column.shape);
  }
}

void ExampleGatherer::take_missing(std::int64_t record, Column& column) const {
  if (column.form != Column::Form::kDense) {
    column.counts.push_back(0);
    return;
  }
  const std::int64_t wanted = stride_of(column);
  if (column.default_value.num_elements() != wanted || wanted == 0) {
    throw invalid_argument(names_.of(record), ", Feature: ", column.key,
                           " (data type: ", kernel_type_name(column.values.dtype()),
                           ") is required but could not be found.");
  }
  column.values.append(column.default_value);
  column.counts.push_back(wanted);
}

SparseParts sparse_parts(const Column& column, bool single) {
  const std::int64_t n = column.values.size();
  const int rank = single ? 1 : 2;
  SparseParts parts{.indices = Tensor(int64, {n, rank}), .values = column.values.to_tensor({n}), .shape = {}};
  std::int64_t* to = parts.indices.data<std::int64_t>();
  for (std::size_t record = 0; record < column.counts.size(); ++record) {
    for (std::int64_t k = 0; k < column.counts[record]; ++k) {
      if (!single) *to++ = static_cast<std::int64_t>(record);
      *to++ = k;
    }
  }
  const auto batch = static_cast<std::int64_t>(column.counts.size()), most = column.longest();
  parts.shape = single ? Tensor(std::vector<std::int64_t>{most}) : Tensor(std::vector<std::int64_t>{batch, most});
  return parts;
}

Tensor dense_part(const Column& column, bool single) {
  std::vector<std::int64_t> dims = column.shape.dims();
  const auto batch = static_cast<std::int64_t>(column.counts.size()), most = column.longest();
  const bool variable = column.form == Column::Form::kVariable;
  if (variable) dims[0] = most / stride_of(column);
  if (!single) dims.insert(dims.begin(), batch);
  const Shape shape(dims);
  return variable ? column.values.padded(column.counts, most, column.default_value, shape)
                  : column.values.to_tensor(shape);
}

Tensor row_splits(std::span<const std::int64_t> counts, DType dtype) {
  Tensor splits(dtype, {static_cast<std::int64_t>(counts.size()) + 1});
  if (dtype == int64) {
    std::int64_t* to = splits.data<std::int64_t>();
    *to = 0;
    for (const std::int64_t count : counts) to[1] = to[0] + count, ++to;
    return splits;
  }
  if (sum(counts) > std::numeric_limits<std::int32_t>::max()) {
    throw invalid_argument("row splits of ", sum(counts), " values do not fit int32").hint("Use int64.");
  }
  std::int32_t* to = splits.data<std::int32_t>();
  *to = 0;
  for (const std::int64_t count : counts) to[1] = to[0] + static_cast<std::int32_t>(count), ++to;
  return splits;
}

}  // namespace caudal::inline v0
