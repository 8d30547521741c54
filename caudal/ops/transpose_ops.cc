#include "caudal/ops/transpose_ops.h"

#include <algorithm>
#include <complex>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// Throws INVALID_ARGUMENT unless the values are 0 .. n - 1 in some order.
void check_permutation(const std::vector<std::int64_t>& perm, std::string_view what) {
  std::vector<bool> seen(perm.size());
  for (const auto p : perm) {
    if (p < 0 || p >= static_cast<std::int64_t>(perm.size())) {
      throw invalid_argument(what, " has the entry ", p, ", which is outside [0, ", perm.size(), ")");
    }
    if (seen[p]) throw invalid_argument(what, " has ", p, " twice");
    seen[p] = true;
  }
}

// The entries of a perm of TensorFlow's, where negative ones count from the end; checked.
std::vector<std::int64_t> checked_perm(const Tensor& value) {
  std::vector<std::int64_t> perm = value.to_int64s();
  for (auto& p : perm) p += p < 0 ? static_cast<std::int64_t>(perm.size()) : 0;
  check_permutation(perm, "perm");
  return perm;
}

// REQUIRES: a permutation.
std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& perm) {
  std::vector<std::int64_t> result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) result[perm[i]] = static_cast<std::int64_t>(i);
  return result;
}

// Shape functions.

void transpose_shape(ShapeContext& c) {
  const std::int64_t length = c.with_rank(1, 1)[0];
  const PartialShape x = length >= 0 ? c.with_rank(0, static_cast<int>(length)) : c.input(0);
  const Tensor* perm = c.constant_input(1);
  if (!x.has_rank() || x.rank() <= 1) return c.set_output(0, c.input(0));
  if (perm == nullptr) return c.set_output(0, PartialShape::unknown_of_rank(x.rank()));
  std::vector<std::int64_t> dims;
  for (const auto p : perm->to_int64s()) dims.push_back(x[normalized_axis(p, x.rank(), "an entry of perm")]);
  c.set_output(0, PartialShape(std::move(dims)));
}

void vector_shape(ShapeContext& c) { c.set_output(0, c.with_rank(0, 1)); }

std::vector<bool> reversed_dims(const std::vector<std::int64_t>& axes, int rank) {
  std::vector<bool> reversed(rank);
  for (const auto axis : axes) {
    const int i = normalized_axis(axis, rank);
    if (reversed[i]) throw invalid_argument("axis ", i, " is named twice");
    reversed[i] = true;
  }
  return reversed;
}

void reverse_v2_shape(ShapeContext& c) {
  const PartialShape axes = c.with_rank(1, 1);
  const PartialShape& x = c.input(0);
  c.set_output(0, x);
  if (!x.has_rank()) return;
  if (axes[0] > x.rank()) throw invalid_argument("axis names ", axes[0], " dimensions; the tensor is ", x);
  if (const Tensor* axis = c.constant_input(1)) reversed_dims(axis->to_int64s(), x.rank());
}

void reverse_shape(ShapeContext& c) {
  const PartialShape dims = c.with_rank(1, 1);
  c.set_output(0, dims[0] >= 0 ? c.with_rank(0, static_cast<int>(dims[0])) : c.input(0));
}

// Kernels.

void transpose_into_output(RunContext& c) {
  const Tensor& x = c.input(0);
  if (c.input(1).rank() != 1 || c.input(1).dim(0) != x.rank()) {
    throw invalid_argument("perm must be a vector of ", x.rank(), " entries for ", x.describe(), ", not ",
                           c.input(1).describe());
  }
  const auto perm = checked_perm(c.input(1));
  const auto strides = x.shape().strides();
  std::vector<std::int64_t> dims, from;
  for (const auto p : perm) {
    dims.push_back(x.dim(static_cast<int>(p)));
    from.push_back(strides[p]);
  }
  Tensor& y = c.allocate_output(0, Shape(dims));
  strided_copy(c.pool(), x.dtype(), dims, x.raw(), from, y.raw(), y.shape().strides());
}

template <class T>
void conjugate(Tensor y) {
  for (auto& value : y.flat<T>()) value = std::conj(value);
}

void run_conjugate_transpose(RunContext& c) {
  transpose_into_output(c);
  if (c.output(0).dtype() == DType::kComplex64) conjugate<std::complex<float>>(c.output(0));
  if (c.output(0).dtype() == DType::kComplex128) conjugate<std::complex<double>>(c.output(0));
}

void reverse_into_output(RunContext& c, const std::vector<bool>& reversed) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate_output(0, x.shape());
  if (x.num_elements() == 0) return;
  auto strides = x.shape().strides();
  std::int64_t start = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reversed[i]) continue;
    start += strides[i] * (x.dim(i) - 1);
    strides[i] = -strides[i];
  }
  strided_copy(c.pool(), x.dtype(), x.shape().dims(),
               x.raw() + start * static_cast<std::int64_t>(dtype_size(x.dtype())), strides, y.raw(),
               y.shape().strides());
}

void run_reverse_v2(RunContext& c) {
  if (c.input(1).rank() != 1) throw invalid_argument("axis must be a vector, not ", c.input(1).describe());
  reverse_into_output(c, reversed_dims(c.input(1).to_int64s(), c.input(0).rank()));
}

void run_reverse(RunContext& c) {
  const Tensor& dims = c.input(1);
  if (dims.rank() != 1 || dims.dim(0) != c.input(0).rank()) {
    throw invalid_argument("dims must tell for each dimension of ", c.input(0).describe(), ", not be ",
                           dims.describe());
  }
  const auto flags = dims.flat<bool>();
  reverse_into_output(c, std::vector<bool>(flags.begin(), flags.end()));
}

void run_invert_permutation(RunContext& c) {
  const Tensor& x = c.input(0);
  if (x.rank() != 1) throw invalid_argument("x must be a vector, not ", x.describe());
  const auto perm = x.to_int64s();
  check_permutation(perm, "x");
  const auto result = inverse(perm);
  Tensor& y = c.allocate_output(0, x.shape());
  if (y.dtype() == DType::kInt32) {
    std::ranges::transform(result, y.data<std::int32_t>(), [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  } else {
    std::ranges::copy(result, y.data<std::int64_t>());
  }
}

// Gradients.

Output inverted(const Output& perm) {
  if (const Tensor* value = constant_value(perm)) return int32_vector(inverse(checked_perm(*value)));
  return math::invert_permutation(perm);
}

void transpose_gradient(GradientContext& c) { c.set_input_grad(0, transpose(c.grad(0), inverted(c.input(1)))); }

void conjugate_transpose_gradient(GradientContext& c) {
  c.set_input_grad(0, raw_ops::conjugate_transpose(c.grad(0), inverted(c.input(1))));
}

void reverse_v2_gradient(GradientContext& c) { c.set_input_grad(0, reverse(c.grad(0), c.input(1))); }

void reverse_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder("Reverse", {}).input(c.grad(0)).input(c.input(1)).build());
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Transpose",
                    .inputs = "x: T; perm: Tperm",
                    .outputs = "y: T",
                    .attrs = "T: type; Tperm: {int32, int64} = DT_INT32",
                    .shape = transpose_shape,
                    .gradient = transpose_gradient,
                    .cpu = kernel_of<transpose_into_output>});
CAUDAL_REGISTER_OP({.name = "ConjugateTranspose",
                    .inputs = "x: T; perm: Tperm",
                    .outputs = "y: T",
                    .attrs = "T: type; Tperm: {int32, int64} = DT_INT32",
                    .shape = transpose_shape,
                    .gradient = conjugate_transpose_gradient,
                    .cpu = kernel_of<run_conjugate_transpose>});
CAUDAL_REGISTER_OP({.name = "InvertPermutation",
                    .inputs = "x: T",
                    .outputs = "y: T",
                    .attrs = "T: {int32, int64} = DT_INT32",
                    .shape = vector_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_invert_permutation>});
CAUDAL_REGISTER_OP({.name = "Reverse",
                    .inputs = "tensor: T; dims: bool",
                    .outputs = "output: T",
                    .attrs = "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, "
                             "float, double, complex64, complex128, string}",
                    .shape = reverse_shape,
                    .gradient = reverse_gradient,
                    .cpu = kernel_of<run_reverse>});
CAUDAL_REGISTER_OP({.name = "ReverseV2",
                    .inputs = "tensor: T; axis: Tidx",
                    .outputs = "output: T",
                    .attrs = "Tidx: {int32, int64} = DT_INT32; T: {uint8, int8, uint16, int16, int32, uint32, int64, "
                             "uint64, bool, bfloat16, half, float, double, complex64, complex128, string}",
                    .shape = reverse_v2_shape,
                    .gradient = reverse_v2_gradient,
                    .cpu = kernel_of<run_reverse_v2>});

Output transpose(const Operand& a, const Operand& perm, const OpOptions& options) {
  return OpBuilder("Transpose", options).input(a).input(perm, DType::kInt32).build();
}

Output transpose(const Operand& a) {
  const LocationScope where(a.where());
  const Output x = a.to_output();
  if (!x.shape().has_rank()) {
    const Output rank = OpBuilder("Rank", {}).input(x).build();
    const Output last = OpBuilder("Sub", {}).input(rank).input(1).build();
    return transpose(x, OpBuilder("Range", {}).input(last).input(-1).input(-1).build());
  }
  std::vector<int> perm(x.shape().rank());
  std::iota(perm.rbegin(), perm.rend(), 0);
  return transpose(x, Tensor(perm));
}

Output reverse(const Operand& tensor, const Operand& axis, const OpOptions& options) {
  return OpBuilder("ReverseV2", options).input(tensor).input(axis, DType::kInt32).build();
}

Output math::invert_permutation(const Operand& x, const OpOptions& options) {
  return OpBuilder("InvertPermutation", options).input(x, DType::kInt32).build();
}

Output raw_ops::conjugate_transpose(const Operand& x, const Operand& perm, const OpOptions& options) {
  return OpBuilder("ConjugateTranspose", options).input(x).input(perm, DType::kInt32).build();
}

}  // namespace caudal::inline v0
