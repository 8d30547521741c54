#include "caudal/ops/partitioned_variable.h"

#include <algorithm>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/joining.h"

namespace caudal::inline v0 {
namespace {

std::int64_t element_bytes(DType dtype, std::int64_t bytes_per_string) {
  return dtype == DType::kString ? bytes_per_string : static_cast<std::int64_t>(dtype_size(dtype));
}

void check_axis(const Shape& shape, int axis) {
  if (axis >= 0 && axis < shape.rank()) return;
  throw invalid_argument("Cannot partition variable along axis ", axis, " when shape is only ", shape);
}

std::vector<std::int64_t> along(const Shape& shape, int axis, std::int64_t parts) {
  std::vector<std::int64_t> partitions(shape.rank(), 1);
  partitions[axis] = parts;
  return partitions;
}

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Partitioner fixed_size_partitioner(std::int64_t num_shards, int axis) {
  return [=](const Shape& shape, DType) {
    check_axis(shape, axis);
    return along(shape, axis, std::min(num_shards, shape[axis]));
  };
}

Partitioner min_max_variable_partitioner(const MinMaxPartitionerOptions& options) {
  return [=](const Shape& shape, DType dtype) {
    check_axis(shape, options.axis);
    const std::int64_t bytes = shape.num_elements() * element_bytes(dtype, options.bytes_per_string_element);
    const std::int64_t wanted = std::min(options.max_partitions, ceiling(bytes, options.min_slice_size));
    return along(shape, options.axis, std::max<std::int64_t>(1, std::min(shape[options.axis], wanted)));
  };
}

Partitioner variable_axis_size_partitioner(std::int64_t max_shard_bytes, const AxisSizePartitionerOptions& options) {
  if (max_shard_bytes < 1 || options.bytes_per_string_element < 1) {
    throw invalid_argument(
        "Both max_shard_bytes and bytes_per_string_element must be positive. Currently, "
        "max_shard_bytes is ",
        max_shard_bytes, " and bytes_per_string_element is ", options.bytes_per_string_element);
  }
  if (options.max_shards < 0) throw invalid_argument("max_shards must be positive.");
  return [=](const Shape& shape, DType dtype) {
    check_axis(shape, options.axis);
    const std::int64_t rows = std::max<std::int64_t>(1, shape[options.axis]);
    const std::int64_t row_bytes =
        std::max<std::int64_t>(1, shape.num_elements() / rows * element_bytes(dtype, options.bytes_per_string_element));
    std::int64_t shards = ceiling(rows, std::max<std::int64_t>(1, max_shard_bytes / row_bytes));
    if (options.max_shards > 0) shards = std::min(options.max_shards, shards);
    return along(shape, options.axis, shards);
  };
}

PartitionedVariable::PartitionedVariable(std::string name, Shape shape, std::vector<std::int64_t> partitions,
                                         std::vector<Variable> parts)
    : name_(std::move(name)), shape_(std::move(shape)), partitions_(std::move(partitions)), parts_(std::move(parts)) {}

int PartitionedVariable::axis() const {
  const auto cut = std::ranges::find_if(partitions_, [](std::int64_t n) { return n > 1; });
  return cut == partitions_.end() ? 0 : static_cast<int>(cut - partitions_.begin());
}

std::vector<Output> PartitionedVariable::values() const { return {parts_.begin(), parts_.end()}; }

Output PartitionedVariable::as_tensor(const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? name_ + "/ConcatPartitions/" : options.name);
  if (parts_.size() == 1) return OpBuilder("Identity", {}).input(parts_[0]).build();
  return concat(values(), axis());
}

std::vector<Output> PartitionedVariable::slices_of(const Operand& value, const OpOptions& options) const {
  const Output whole = value.to_output(dtype());
  if (!whole.shape().compatible(shape_)) {
    throw invalid_argument("the partitioned variable '", name_, "' has shape ", shape_, ", the value ", whole.shape())
        .made_at(current_location(options.where));
  }
  std::vector<Output> slices;
  for (const Variable& part : parts_) {
    const VariableSlice& slice = *part.slice();
    slices.push_back(OpBuilder("Slice", {}).input(whole).input(slice.offset).input(slice.shape).build());
  }
  return slices;
}

std::vector<Output> PartitionedVariable::assign(const Operand& value, const OpOptions& options) const {
  const LocationScope where(options.where);
  const auto slices = slices_of(value, options);
  std::vector<Output> updates;
  for (std::size_t i = 0; i < parts_.size(); ++i) updates.push_back(parts_[i].assign(slices[i]));
  return updates;
}

std::vector<Output> PartitionedVariable::assign_add(const Operand& value, const OpOptions& options) const {
  const LocationScope where(options.where);
  const auto slices = slices_of(value, options);
  std::vector<Output> updates;
  for (std::size_t i = 0; i < parts_.size(); ++i) updates.push_back(parts_[i].assign_add(slices[i]));
  return updates;
}

std::vector<Output> PartitionedVariable::assign_sub(const Operand& value, const OpOptions& options) const {
  const LocationScope where(options.where);
  const auto slices = slices_of(value, options);
  std::vector<Output> updates;
  for (std::size_t i = 0; i < parts_.size(); ++i) updates.push_back(parts_[i].assign_sub(slices[i]));
  return updates;
}

}  // namespace caudal::inline v0
