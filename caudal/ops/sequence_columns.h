// Feature lists of many SequenceExamples gathered into columns; the counterpart of example_columns.h.
//
// Thread safety: pure functions of their arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caudal/ops/example_columns.h"

namespace caudal::inline v0 {

struct ListColumn {
  ListColumn(std::string key, DType dtype) : key(std::move(key)), values(dtype) {}

  std::string key;
  std::optional<Shape> step_shape = {};  // set: each step has just so many values
  bool may_be_missing = true;            // then a record without the list has no steps
  FeatureValues values;
  std::vector<std::int64_t> counts = {};  // values of each step, record after record
  std::vector<std::int64_t> steps = {};   // of each record
};

// Appends one record's lists to the columns. Throws INVALID_ARGUMENT, naming record and list.
void add_lists(std::int64_t record, const std::vector<NamedField>& lists, const RecordNames& names,
               std::vector<ListColumn>* columns);

// Outputs of a column; `single`: of one record that is no batch.
SparseParts sparse_list_parts(const ListColumn& column, bool single);
Tensor dense_list_part(const ListColumn& column, bool single);

}  // namespace caudal::inline v0
