// Functions over the rows of tensors: map_fn, foldl, foldr, scan.
//
//   Output norms = map_fn([](const Output& row) { return reduce_sum(row * row); }, rows);
//   Output total = foldl([](const Output& sum, const Output& row) { return sum + row; }, rows);
//   Output sums = scan([](const Output& sum, const Output& row) { return sum + row; }, rows);
//
// A row is a slice along the first dimension; with several tensors, all must have as many rows. They are loops
// (control_flow.h) over TensorArrays, in v2 form over TensorLists, and have gradients. Thread safety: as building a
// graph.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/control_flow.h"

namespace caudal::inline v0 {

struct MapOptions {
  std::vector<DType> dtypes = {};  // of the results; default: those of elems
  int parallel_iterations = 10;
  bool back_prop = true;
  bool swap_memory = false;
  bool infer_shape = true;  // all results have the shape of the first one
  std::optional<bool> v2;   // the form; default: as enabled
  std::string name = {};
  std::source_location where = std::source_location::current();
};
using MapFn = std::function<Output(const Output& row)>;
using MapManyFn = std::function<Outputs(const Outputs& rows)>;

// fn(row) of every row, as the rows of the result. Throws INVALID_ARGUMENT for a scalar, or different numbers of rows.
CAUDAL_API Output map_fn(const MapFn& fn, const Operand& elems, const MapOptions& options = {});
CAUDAL_API Outputs map_fn(const MapManyFn& fn, const Outputs& elems, const MapOptions& options = {});

struct FoldOptions {
  OperandList initializer = OperandList(std::vector<Operand>{});  // default: the first row (foldr: the last)
  int parallel_iterations = 10;
  bool back_prop = true;
  bool swap_memory = false;
  bool infer_shape = true;  // of scan: all results have one shape
  bool reverse = false;     // of scan: from the last row to the first
  std::optional<bool> v2;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
using FoldFn = std::function<Output(const Output& so_far, const Output& row)>;
using FoldManyFn = std::function<Outputs(const Outputs& so_far, const Outputs& rows)>;

// fn(... fn(fn(initializer, row 0), row 1) ..., last row).
CAUDAL_API Output foldl(const FoldFn& fn, const Operand& elems, const FoldOptions& options = {});
CAUDAL_API Outputs foldl(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options = {});
// The same from the last row to the first.
CAUDAL_API Output foldr(const FoldFn& fn, const Operand& elems, const FoldOptions& options = {});
CAUDAL_API Outputs foldr(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options = {});
// All results of foldl on the way, as rows; without an initializer the first row is the first result.
CAUDAL_API Output scan(const FoldFn& fn, const Operand& elems, const FoldOptions& options = {});
CAUDAL_API Outputs scan(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options = {});

}  // namespace caudal::inline v0
