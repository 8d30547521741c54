#include "caudal/ops/diag_ops.h"

#include <cstring>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"

namespace caudal::inline v0 {
namespace {

// --- Shapes ---

void diag_shape(ShapeContext& c) {
  const PartialShape diagonal = c.with_rank_at_least(0, 1);
  if (!diagonal.has_rank()) return c.set_output(0, PartialShape::unknown());
  std::vector<std::int64_t> dims = diagonal.dims();
  dims.insert(dims.end(), diagonal.dims().begin(), diagonal.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

template <class AnyShape>
void check_even(const AnyShape& shape) {
  if (shape.rank() == 0 || shape.rank() % 2 != 0) {
    throw invalid_argument("the rank must be even and positive, the shape is ", shape);
  }
}

void diag_part_shape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return c.set_output(0, PartialShape::unknown());
  check_even(input);
  const int half = input.rank() / 2;
  std::vector<std::int64_t> dims;
  for (int i = 0; i < half; ++i) {
    dims.push_back(ShapeContext::merge_dim(input[i], input[half + i], "size of both halves of the shape"));
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

// --- Kernels ---

void run_diag(RunContext& c) {
  const Tensor& diagonal = c.input(0);
  if (diagonal.rank() == 0) throw invalid_argument("the diagonal must have at least one dimension");
  std::vector<std::int64_t> dims = diagonal.shape().to_vector();
  dims.insert(dims.end(), diagonal.shape().dims().begin(), diagonal.shape().dims().end());
  Tensor& output = c.allocate_output(0, Shape(dims));
  if (output.num_elements() == 0) return;
  const std::size_t size = dtype_size(output.dtype());
  const auto n = static_cast<std::size_t>(diagonal.num_elements());
  std::memset(output.raw(), 0, output.byte_size());
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(output.raw() + i * (n + 1) * size, diagonal.raw() + i * size, size);
  }
}

void run_diag_part(RunContext& c) {
  const Tensor& input = c.input(0);
  check_even(input.shape());
  const auto half = static_cast<std::size_t>(input.rank() / 2);
  const Shape first(input.shape().dims().first(half)), second(input.shape().dims().subspan(half));
  if (!(first == second)) throw invalid_argument("both halves of the shape must agree, it is ", input.shape());
  Tensor& output = c.allocate_output(0, first);
  const std::size_t size = dtype_size(output.dtype());
  const auto n = static_cast<std::size_t>(output.num_elements());
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(output.raw() + i * size, input.raw() + i * (n + 1) * size, size);
  }
}

// --- Gradients ---

void diag_gradient(GradientContext& c) { c.set_input_grad(0, linalg::tensor_diag_part(c.grad(0))); }
void diag_part_gradient(GradientContext& c) { c.set_input_grad(0, linalg::tensor_diag(c.grad(0))); }

}  // namespace

// --- Registrations ---

#define CAUDAL_DIAG_TYPES "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"
CAUDAL_REGISTER_OP({.name = "Diag",
                    .inputs = "diagonal: T",
                    .outputs = "output: T",
                    .attrs = CAUDAL_DIAG_TYPES,
                    .shape = diag_shape,
                    .gradient = diag_gradient,
                    .cpu = kernel_of<run_diag>});
CAUDAL_REGISTER_OP({.name = "DiagPart",
                    .inputs = "input: T",
                    .outputs = "diagonal: T",
                    .attrs = CAUDAL_DIAG_TYPES,
                    .shape = diag_part_shape,
                    .gradient = diag_part_gradient,
                    .cpu = kernel_of<run_diag_part>});

// --- Functions ---

namespace linalg {

Output tensor_diag(const Operand& diagonal, const OpOptions& options) {
  return OpBuilder("Diag", options).input(diagonal).build();
}
Output tensor_diag_part(const Operand& input, const OpOptions& options) {
  return OpBuilder("DiagPart", options).input(input).build();
}

}  // namespace linalg
}  // namespace caudal::inline v0
