// The common part of the ops that parse Examples and SequenceExamples: features of many records gathered into columns.
//
// Thread safety: pure functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/example.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// Values of one of the three kinds that features have.
class FeatureValues {
 public:
  // `dtype`: float32, int64 or string.
  explicit FeatureValues(DType dtype);

  DType dtype() const { return dtype_; }
  std::int64_t size() const;
  // True if a feature of this kind belongs here.
  bool accepts(FeatureKind kind) const;
  // Appends the feature's values and says how many. REQUIRES: accepts(feature.kind()).
  std::int64_t append(const FeatureField& feature);
  // Appends all elements of a tensor of this type.
  void append(const Tensor& values);
  // The values as a tensor. REQUIRES: the shape has size() elements.
  Tensor to_tensor(const Shape& shape) const;
  // Rows of different lengths below each other, each filled up with `filling` (one element) to `length` values.
  Tensor padded(std::span<const std::int64_t> lengths, std::int64_t length, const Tensor& filling,
                const Shape& shape) const;

 private:
  DType dtype_;
  std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>> values_;
};

// What is wanted of one feature, and what has been gathered of it.
struct Column {
  enum class Form {
    kSparse,    // any number of values, or none
    kDense,     // a fixed number; a default where it is missing
    kVariable,  // as many as there are, filled up to the longest
    kRagged,    // as kSparse
  };
  Column(std::string key, DType dtype, Form form) : key(std::move(key)), form(form), values(dtype) {}

  std::string key;
  Form form;
  PartialShape shape = PartialShape::scalar();  // of one record; kVariable: the first size is unknown
  Tensor default_value;  // kDense: of that shape, or empty if the feature is required; kVariable: the filling
  FeatureValues values;
  std::vector<std::int64_t> counts = {};  // values of each record

  std::int64_t longest() const;
};

// Names of records for messages, and how many there are.
struct RecordNames {
  std::span<const std::string> names;         // none, or one per record
  std::string of(std::int64_t record) const;  // "Name: r1", "Name: <unknown>, record 3"
};

// The columns of a fixed number of elements and of the longest wanted by a dense feature. Throws INVALID_ARGUMENT if
// the default has neither none nor all of the elements, or if a variable shape has no single filling element; `i` is
// the position in messages.
Column dense_column(std::string key, const PartialShape& shape, const Tensor& default_value, int i);

// Appends one record to the columns, each of which gets a count. Throws INVALID_ARGUMENT, naming record and feature,
// for malformed records, wrong kinds and numbers of values and for missing required features.
class ExampleGatherer {
 public:
  ExampleGatherer(std::vector<Column>* columns, RecordNames names);
  // Of an Example or the context of a SequenceExample.
  void add(std::int64_t record, const std::vector<NamedField>& fields);

 private:
  void take(std::int64_t record, Column& column, const NamedField& field) const;
  void take_missing(std::int64_t record, Column& column) const;

  std::vector<Column>* columns_;
  RecordNames names_;
  std::unordered_multimap<std::string_view, std::size_t> by_key_;
  std::vector<bool> seen_;
};

// Calls make(record) for each; DATA_LOSS from it becomes INVALID_ARGUMENT that names the record.
template <class Make>
auto in_record(const RecordNames& names, std::int64_t record, std::string_view bytes, Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.code() != Code::kDataLoss) throw;
    throw invalid_argument("Could not parse example input, value: '", escaped(bytes), "'. ", names.of(record), ". ",
                           error.detail());
  }
}

// Outputs of a column of `batch` records; `single`: of one record that is no batch.
struct SparseParts {
  Tensor indices, values, shape;
};
SparseParts sparse_parts(const Column& column, bool single);
Tensor dense_part(const Column& column, bool single);
// Offsets of the records' values: [batch + 1] of int32 or int64. Throws INVALID_ARGUMENT where int32 is too small.
Tensor row_splits(std::span<const std::int64_t> counts, DType dtype);

}  // namespace caudal::inline v0
