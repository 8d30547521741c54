// Reductions over groups of rows that are looked up: what a gather and a segment sum do, without the gathered rows.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {
namespace sparse {

struct SegmentOptions {
  Operand num_segments = Tensor();  // rows of the result; default: the last id + 1
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Row s of the result is the sum (mean, sum / sqrt(count)) of data[indices[i]] for all i with segment_ids[i] == s; 0
// where there is none. indices and segment_ids: int32 or int64 vectors of one length, the ids sorted. INVALID_ARGUMENT
// for ids that fall, and for indices and ids outside.
CAUDAL_API Output segment_sum(const Operand& data, const Operand& indices, const Operand& segment_ids,
                              const SegmentOptions& options = {});
CAUDAL_API Output segment_mean(const Operand& data, const Operand& indices, const Operand& segment_ids,
                               const SegmentOptions& options = {});
CAUDAL_API Output segment_sqrt_n(const Operand& data, const Operand& indices, const Operand& segment_ids,
                                 const SegmentOptions& options = {});

}  // namespace sparse

namespace raw_ops {
// Gradients of the above with respect to data, which has output_dim0 rows.
CAUDAL_API Output sparse_segment_sum_grad(const Operand& grad, const Operand& indices, const Operand& segment_ids,
                                          const Operand& output_dim0, const OpOptions& options = {});
CAUDAL_API Output sparse_segment_mean_grad(const Operand& grad, const Operand& indices, const Operand& segment_ids,
                                           const Operand& output_dim0, const OpOptions& options = {});
CAUDAL_API Output sparse_segment_sqrt_n_grad(const Operand& grad, const Operand& indices, const Operand& segment_ids,
                                             const Operand& output_dim0, const OpOptions& options = {});
}  // namespace raw_ops
}  // namespace caudal::inline v0
