// Staging areas: where one part of a pipeline leaves tuples of tensors for the next.
//
//   tf::StagingArea area({tf::float32}, {.capacity = 2});
//   auto put = area.put({x});
//   auto next = area.get()[0];
//
//   tf::MapStagingArea map({tf::float32, tf::float32});   // by int64 keys; a key's components may come apart
//   map.put(1, {a}, {0});  map.put(1, {b}, {1});  auto both = map.get(1);
//
// A put waits while the area is full (`capacity` tuples or `memory_limit` bytes; 0: no limit), a get or peek until what
// it wants is there. Small handles, valid as long as their graph. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/operand_list.h"

namespace caudal::inline v0 {

struct StagingAreaOptions {
  std::vector<PartialShape> shapes;  // of the components; empty: any
  std::string shared_name;           // default: the name of the area, made unique in the graph
  std::int64_t capacity = 0;
  std::int64_t memory_limit = 0;  // bytes
  std::source_location where = std::source_location::current();
};

class CAUDAL_API StagingArea {
 public:
  explicit StagingArea(std::vector<DType> dtypes, const StagingAreaOptions& options = {});

  const std::string& name() const { return name_; }
  // Throws INVALID_ARGUMENT, when the node is made, for values of another number, type or shape. In a run:
  // RESOURCE_EXHAUSTED for a tuple that alone is beyond the memory limit.
  Operation put(const OperandList& values, const OpOptions& options = {}) const;
  // Takes the oldest tuple. One output per component.
  std::vector<Output> get(const OpOptions& options = {}) const;
  // The tuple at `index` (int32 scalar), which stays.
  std::vector<Output> peek(const Operand& index, const OpOptions& options = {}) const;
  // Scalar int32.
  Output size(const OpOptions& options = {}) const;
  Operation clear(const OpOptions& options = {}) const;

 private:
  std::string name_;
  std::vector<DType> dtypes_;
  StagingAreaOptions options_;
};

struct MapStagingAreaOptions {
  std::vector<PartialShape> shapes;
  std::string shared_name;
  bool ordered = false;  // get() without a key takes the smallest key, not any
  std::int64_t capacity = 0;
  std::int64_t memory_limit = 0;
  std::source_location where = std::source_location::current();
};

class CAUDAL_API MapStagingArea {
 public:
  explicit MapStagingArea(std::vector<DType> dtypes, const MapStagingAreaOptions& options = {});

  const std::string& name() const { return name_; }
  // `indices`: which components `values` are, ascending; empty: all. A key can be taken once all of its are there.
  Operation put(const Operand& key, const OperandList& values, const std::vector<int>& indices = {},
                const OpOptions& options = {}) const;
  // Takes components of `key`; those not asked for stay until they are.
  std::vector<Output> get(const Operand& key, const std::vector<int>& indices = {},
                          const OpOptions& options = {}) const;
  // Takes components of any key, and tells which.
  std::pair<Output, std::vector<Output>> get_any(const std::vector<int>& indices = {},
                                                 const OpOptions& options = {}) const;
  std::vector<Output> peek(const Operand& key, const std::vector<int>& indices = {},
                           const OpOptions& options = {}) const;
  // Complete tuples, and those of which components are missing: scalar int32.
  Output size(const OpOptions& options = {}) const;
  Output incomplete_size(const OpOptions& options = {}) const;
  Operation clear(const OpOptions& options = {}) const;

 private:
  OpBuilder builder(const std::string& op, const std::string& suffix, const OpOptions& options) const;
  std::vector<int> checked_indices(const std::vector<int>& indices) const;
  std::vector<Output> with_shapes(Node& node, const std::vector<int>& indices, int first) const;

  std::string name_;
  std::vector<DType> dtypes_;
  MapStagingAreaOptions options_;
};

}  // namespace caudal::inline v0
