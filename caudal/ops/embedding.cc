#include "caudal/ops/embedding.h"

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/partition_ops.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0 {
namespace {

Output op(std::string_view name, const Output& a, const Operand& b) {
  return OpBuilder(name, {}).input(a).input(b, a.dtype()).build();
}

// Which partition an id is in, and its row there.
struct Place {
  Output partition, row;
};

Place mod_place(const Output& ids, int n) { return {op("FloorMod", ids, n), op("FloorDiv", ids, n)}; }

// Number of rows of all partitions together, of the type of ids.
Output total_rows(const std::vector<Output>& params, DType dtype) {
  std::int64_t total = 0;
  for (const Output& part : params) {
    const PartialShape& shape = part.shape();
    if (!shape.has_rank() || shape.rank() < 1 || shape[0] < 0) {
      throw invalid_argument("the number of rows of ", part.describe(), " is not known")
          .hint("Partitions of consecutive rows (kDiv) need parameters of known shape; kMod does not.");
    }
    total += shape[0];
  }
  return Operand(convert_number(Tensor(total), dtype)).to_output();
}

Place div_place(const Output& ids, const std::vector<Output>& params) {
  const int n = static_cast<int>(params.size());
  const Output total = total_rows(params, ids.dtype());
  const Output per_part = op("FloorDiv", total, n), extras = op("FloorMod", total, n);
  const Output longer = op("Add", per_part, 1), shifted = op("Sub", ids, extras);
  const Output partition = op("Maximum", op("FloorDiv", ids, longer), op("FloorDiv", shifted, per_part));
  const Output in_longer = op("Less", partition, extras);
  const Output row = OpBuilder("SelectV2", {})
                         .input(in_longer)
                         .input(op("FloorMod", ids, longer))
                         .input(op("FloorMod", shifted, per_part))
                         .build();
  return {partition, row};
}

Output partitioned_lookup(const std::vector<Output>& params, const Output& ids, nn::PartitionStrategy strategy,
                          const OpOptions& options) {
  const int n = static_cast<int>(params.size());
  const Output flat = reshape(ids, {-1});
  const Place place = strategy == nn::PartitionStrategy::kMod ? mod_place(flat, n) : div_place(flat, params);
  const Output count = size(flat);
  const Output numbers = OpBuilder("Range", {}).input(0).input(count).input(1).build();
  const Output partition = place.partition.dtype() == DType::kInt32
                               ? place.partition
                               : OpBuilder("Cast", {}).input(place.partition).attr("DstT", DType::kInt32).build();
  const auto rows = dynamic_partition(place.row, partition, n);
  const auto places = dynamic_partition(numbers, partition, n);
  std::vector<Output> found;
  for (int i = 0; i < n; ++i) found.push_back(gather(params[i], rows[i]));
  const Output merged = OpBuilder("ParallelDynamicStitch", {}).inputs(places).inputs(found).build();
  const Output row_shape = OpBuilder("StridedSlice", {})
                               .input(shape_of(params[0]))
                               .input({1})
                               .input({0})
                               .input({1})
                               .attr("end_mask", 1)
                               .build();
  return reshape(merged, concat({shape_of(ids), row_shape}, 0), options);
}

// The dimensions of looked-up rows.
std::vector<int> row_axes(const Output& params, const Output& ids) {
  if (!params.shape().has_rank() || !ids.shape().has_rank()) {
    throw invalid_argument("max_norm needs a known rank of ", params.describe(), " and ", ids.describe());
  }
  std::vector<int> axes;
  for (int i = 1; i < params.shape().rank(); ++i) axes.push_back(ids.shape().rank() + i - 1);
  return axes;
}

}  // namespace

Output nn::embedding_lookup(const std::vector<Output>& params, const Operand& ids,
                            const EmbeddingLookupOptions& options) {
  const LocationScope where(options.where);
  if (params.empty()) {
    throw invalid_argument("embedding_lookup needs at least one tensor of parameters")
        .made_at(current_location(options.where));
  }
  const NameScope scope(options.name);
  const Output indices = ids.to_output(DType::kInt32);
  const Output rows = params.size() == 1 ? gather(params[0], indices)
                                         : partitioned_lookup(params, indices, options.partition_strategy, {});
  if (!options.max_norm) return rows;
  return clip_by_norm(rows, *options.max_norm, {.axes = row_axes(params[0], indices)});
}

}  // namespace caudal::inline v0
