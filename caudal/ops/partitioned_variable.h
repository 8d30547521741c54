// Variables cut along one axis into parts that are variables of their own: tables too large for one machine.
//
//   auto table = tf::get_partitioned_variable("table", {.shape = {1000, 16}}, tf::fixed_size_partitioner(4));
//   auto rows = tf::nn::embedding_lookup(table.values(), ids, {.partition_strategy = tf::nn::PartitionStrategy::kDiv});
//
// The parts are "table/part_0", "table/part_1", ...; checkpoints hold them as slices of "table", so that they may be
// restored with another partitioning or as one. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/ops/variable_scope.h"

namespace caudal::inline v0 {

// Each in at most `num_shards` parts along `axis`.
CAUDAL_API Partitioner fixed_size_partitioner(std::int64_t num_shards, int axis = 0);

struct MinMaxPartitionerOptions {
  std::int64_t max_partitions = 1;
  int axis = 0;
  std::int64_t min_slice_size = 256 << 10;  // bytes
  std::int64_t bytes_per_string_element = 16;
};
// As many parts as possible, at most max_partitions, of at least min_slice_size bytes each.
CAUDAL_API Partitioner min_max_variable_partitioner(const MinMaxPartitionerOptions& options);

struct AxisSizePartitionerOptions {
  int axis = 0;
  std::int64_t bytes_per_string_element = 16;
  std::int64_t max_shards = 0;  // 0: no limit
};
// Parts of at most max_shard_bytes, if slices along the axis are not larger themselves. Throws INVALID_ARGUMENT for
// sizes below 1.
CAUDAL_API Partitioner variable_axis_size_partitioner(std::int64_t max_shard_bytes,
                                                      const AxisSizePartitionerOptions& options = {});

class CAUDAL_API PartitionedVariable {
 public:
  // REQUIRES: parts in order, cut along one axis.
  PartitionedVariable(std::string name, Shape shape, std::vector<std::int64_t> partitions, std::vector<Variable> parts);

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return parts_[0].dtype(); }
  // How many pieces along each axis.
  const std::vector<std::int64_t>& partitions() const { return partitions_; }
  const std::vector<Variable>& parts() const { return parts_; }
  std::size_t size() const { return parts_.size(); }
  const Variable& operator[](std::size_t i) const { return parts_[i]; }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

  // The values of the parts, for embedding_lookup.
  std::vector<Output> values() const;
  // The whole value: the parts joined along the axis.
  Output as_tensor(const OpOptions& options = {}) const;
  // Updates of all parts with slices of a value of the whole's shape.
  std::vector<Output> assign(const Operand& value, const OpOptions& options = {}) const;
  std::vector<Output> assign_add(const Operand& value, const OpOptions& options = {}) const;
  std::vector<Output> assign_sub(const Operand& value, const OpOptions& options = {}) const;

 private:
  int axis() const;
  std::vector<Output> slices_of(const Operand& value, const OpOptions& options) const;

  std::string name_;
  Shape shape_;
  std::vector<std::int64_t> partitions_;
  std::vector<Variable> parts_;
};

// The partitioned variable `name` of the current variable scope, as get_variable(). Without a partitioner that of the
// scope holds. An initialiser that is a function is called for each part with the part's shape; a value is cut. Throws
// INVALID_ARGUMENT for a shape that is not known or is a scalar's, for partitions along several axes, and for a
// variable that exists with another shape, type or partitioning; else as get_variable().
CAUDAL_API PartitionedVariable get_partitioned_variable(std::string_view name, const GetVariableOptions& options,
                                                        const Partitioner& partitioner = {});

}  // namespace caudal::inline v0
