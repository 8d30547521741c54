#include "caudal/ops/linalg_util.h"

#include <algorithm>

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

bool is_narrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

}  // namespace

PartialShape square_matrices(ShapeContext& c, int i) {
  const PartialShape shape = c.with_rank_at_least(i, 2);
  if (!shape.has_rank()) return shape;
  const std::int64_t n = ShapeContext::merge_dim(shape[-2], shape[-1], "number of rows and columns");
  return with_dims(batch_dims(shape), {n, n});
}

PartialShape batch_dims(const PartialShape& shape, int trailing) {
  return PartialShape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - trailing));
}

PartialShape with_dims(const PartialShape& batch, std::initializer_list<std::int64_t> dims) {
  std::vector<std::int64_t> all = batch.dims();
  all.insert(all.end(), dims);
  return PartialShape(std::move(all));
}

std::int64_t least_dim(std::int64_t a, std::int64_t b) {
  return a == 0 || b == 0 ? 0 : a == kUnknown || b == kUnknown ? kUnknown : std::min(a, b);
}

void square_matrices_shape(ShapeContext& c) { c.set_output(0, square_matrices(c, 0)); }

void batch_of_square_shape(ShapeContext& c) {
  const PartialShape shape = square_matrices(c, 0);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shape.has_rank() ? batch_dims(shape) : shape);
}

MatrixBatch::MatrixBatch(const Tensor& t, const char* what) : count(1), rows(0), cols(0) {
  if (t.rank() < 2) throw invalid_argument(what, ' ', t.describe(), " is no matrix: it needs two dimensions or more");
  batch = Shape(t.shape().dims().first(static_cast<std::size_t>(t.rank() - 2)));
  count = batch.num_elements();
  rows = t.shape()[-2];
  cols = t.shape()[-1];
}

MatrixBatch MatrixBatch::square(const Tensor& t, const char* what) {
  const MatrixBatch batch(t, what);
  if (batch.rows != batch.cols) throw invalid_argument(what, ' ', t.describe(), " must be square");
  return batch;
}

std::int64_t batch_position(const Shape& batch, const Shape& own, std::int64_t index) {
  std::int64_t at = 0, step = 1;
  for (int d = 1; d <= own.rank(); ++d) {
    const std::int64_t i = index % batch[-d];
    index /= batch[-d];
    if (own[-d] != 1) at += i * step;
    step *= own[-d];
  }
  return at;
}

Tensor wide_input(RunContext& c, int i) {
  const Tensor& t = c.input(i);
  if (!is_narrow(t.dtype())) return t;
  Tensor wide = c.allocate_temporary(DType::kFloat, t.shape());
  kernels::cast(c.pool(), t.dtype(), t.raw(), DType::kFloat, wide.raw(), t.num_elements());
  return wide;
}

Tensor wide_output(RunContext& c, int i, const Shape& shape) {
  if (is_narrow(c.node().output_types[static_cast<std::size_t>(i)])) return c.allocate_temporary(DType::kFloat, shape);
  return c.allocate_output(i, shape);
}

void finish_output(RunContext& c, int i, const Tensor& wide) {
  const DType dtype = c.node().output_types[static_cast<std::size_t>(i)];
  if (!is_narrow(dtype)) return;
  Tensor& output = c.allocate_output(i, wide.shape());
  kernels::cast(c.pool(), DType::kFloat, wide.raw(), dtype, output.raw(), wide.num_elements());
}

}  // namespace caudal::inline v0
