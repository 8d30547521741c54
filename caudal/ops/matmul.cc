#include "caudal/ops/matmul.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/cast.h"
#include "caudal/kernels/gemm.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/matmul_form.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

// --- Shapes ---

PartialShape batch_dims(const PartialShape& shape) {
  return PartialShape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 2));
}

void matmul_shape(ShapeContext& c) {
  const MatMulForm form(c.node());
  const DType dtype = c.node().input_types[0];
  if (c.input(0).has_rank()) check_is_matrix(form.a, dtype, c.input(0).dims());
  if (c.input(1).has_rank()) check_is_matrix(form.b, dtype, c.input(1).dims());
  const auto size = product_size(form, dtype, c.with_rank(0, 2).dims(), c.with_rank(1, 2).dims());
  c.set_output(0, PartialShape({size.m, size.n}));
}

void batch_matmul_shape(ShapeContext& c) {
  const MatMulForm form(c.node());
  const PartialShape a = c.with_rank_at_least(0, 2), b = c.with_rank_at_least(1, 2);
  if (!a.has_rank() || !b.has_rank()) return c.set_output(0, PartialShape::unknown());
  const auto size = product_size(form, c.node().input_types[0], a.dims(), b.dims());
  PartialShape batch = batch_dims(a);
  if (c.node().type() == "BatchMatMul") {
    const auto merged = batch.merge(batch_dims(b));
    if (!merged) throw invalid_argument("batch dimensions differ: ", form.a, ' ', a, ", ", form.b, ' ', b);
    batch = *merged;
  } else {
    batch = broadcast(batch, batch_dims(b));
  }
  std::vector<std::int64_t> dims = batch.dims();
  dims.push_back(size.m);
  dims.push_back(size.n);
  c.set_output(0, PartialShape(std::move(dims)));
}

// --- Kernels ---

// BatchMatMulV3 and SparseMatMul multiply narrower numbers in the type of the result, which holds them exactly.
Tensor in_output_type(RunContext& c, int i) {
  const Tensor& x = c.input(i);
  const DType wanted = c.node().output_types[0];
  if (x.dtype() == wanted) return x;
  Tensor wide = c.allocate_temporary(wanted, x.shape());
  kernels::cast(c.pool(), x.dtype(), x.raw(), wanted, wide.raw(), x.num_elements());
  return wide;
}

void multiply_matrices(RunContext& c, const MatMulForm& form, const Tensor& a, const Tensor& b) {
  check_is_matrix(form.a, a.dtype(), a.shape().dims());
  check_is_matrix(form.b, b.dtype(), b.shape().dims());
  const auto size = product_size(form, a.dtype(), a.shape().dims(), b.shape().dims());
  Tensor& product = c.allocate_output(0, Shape({size.m, size.n}));
  kernels::gemm(c.pool(), a.dtype(), gemm_shape(form, size), a.raw(), b.raw(), product.raw());
}

class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(const NodeInfo& node) : form_(node) {}
  void run(RunContext& c) const override { multiply_matrices(c, form_, c.input(0), c.input(1)); }

 private:
  MatMulForm form_;
};

// SparseMatMul only says that many elements are zero; its operands are dense, and so is this product.
class SparseMatMulKernel final : public Kernel {
 public:
  explicit SparseMatMulKernel(const NodeInfo& node) : form_(node) {}
  void run(RunContext& c) const override { multiply_matrices(c, form_, in_output_type(c, 0), in_output_type(c, 1)); }

 private:
  MatMulForm form_;
};

class BatchMatMulKernel final : public Kernel {
 public:
  explicit BatchMatMulKernel(const NodeInfo& node) : form_(node), broadcasts_(node.type() != "BatchMatMul") {}
  void run(RunContext& c) const override {
    const Tensor a = in_output_type(c, 0), b = in_output_type(c, 1);
    for (int i = 0; i < 2; ++i) {
      if (c.input(i).rank() < 2) {
        throw invalid_argument((i == 0 ? form_.a : form_.b), ' ', c.input(i).describe(), " is no batch of matrices");
      }
    }
    const auto size = product_size(form_, a.dtype(), a.shape().dims(), b.shape().dims());
    const Shape batch_a(a.shape().dims().first(static_cast<std::size_t>(a.rank() - 2)));
    const Shape batch_b(b.shape().dims().first(static_cast<std::size_t>(b.rank() - 2)));
    if (!broadcasts_ && !(batch_a == batch_b)) {
      throw invalid_argument("batch dimensions differ: ", form_.a, ' ', a.shape(), ", ", form_.b, ' ', b.shape());
    }
    const Shape batch = broadcast(batch_a, batch_b);
    Tensor& product = c.allocate_output(0, batch.append(size.m).append(size.n));
    if (product.num_elements() == 0) return;
    multiply(c, size, batch, {&a, batch_a, size.m * size.k}, {&b, batch_b, size.k * size.n}, product);
  }

 private:
  struct Side {
    const Tensor* tensor;
    Shape batch;
    std::int64_t matrix;  // elements of one matrix

    // Distance in elements between neighbours along dimension d of the result's batch.
    std::int64_t stride(int d, int rank) const {
      const int own = d - (rank - batch.rank());
      if (own < 0 || batch[own] == 1) return 0;
      std::int64_t stride = matrix;
      for (int i = own + 1; i < batch.rank(); ++i) stride *= batch[i];
      return stride;
    }
    const char* at(const Shape& result, std::int64_t index, int inner) const {
      std::int64_t offset = 0;
      for (int d = inner - 1; d >= 0; --d) {
        offset += index % result[d] * stride(d, result.rank());
        index /= result[d];
      }
      return tensor->raw() + offset * static_cast<std::int64_t>(dtype_size(tensor->dtype()));
    }
  };

  // The innermost batch dimensions along which both sides advance evenly are one call; the outer ones a loop.
  void multiply(RunContext& c, const ProductSize& size, const Shape& batch, const Side& a, const Side& b,
                Tensor& product) const {
    const int rank = batch.rank();
    kernels::GemmBatch run;
    run.stride_c = size.m * size.n;
    int inner = rank;
    while (inner > 0) {
      const std::int64_t stride_a = a.stride(inner - 1, rank), stride_b = b.stride(inner - 1, rank);
      if (inner == rank || run.count == 1) {
        run.stride_a = stride_a;
        run.stride_b = stride_b;
      } else if (batch[inner - 1] != 1 &&
                 (stride_a != run.stride_a * run.count || stride_b != run.stride_b * run.count)) {
        break;
      }
      run.count *= batch[--inner];
    }
    std::int64_t outer = 1;
    for (int d = 0; d < inner; ++d) outer *= batch[d];
    const auto shape = gemm_shape(form_, size);
    const std::int64_t step = run.count * run.stride_c * static_cast<std::int64_t>(dtype_size(product.dtype()));
    for (std::int64_t i = 0; i < outer; ++i) {
      kernels::batch_gemm(c.pool(), product.dtype(), run, shape, a.at(batch, i, inner), b.at(batch, i, inner),
                          product.raw() + i * step);
    }
  }

  MatMulForm form_;
  bool broadcasts_;
};

void check_type(PrepareContext& c) {
  if (!is_differentiable(c.input_type(0)) && !is_integer(c.input_type(0))) {
    throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  }
}

std::unique_ptr<Kernel> prepare_matmul(PrepareContext& c) {
  check_type(c);
  return std::make_unique<MatMulKernel>(c.node());
}

std::unique_ptr<Kernel> prepare_sparse_matmul(PrepareContext& c) {
  return std::make_unique<SparseMatMulKernel>(c.node());
}

std::unique_ptr<Kernel> prepare_batch_matmul(PrepareContext& c) {
  check_type(c);
  return std::make_unique<BatchMatMulKernel>(c.node());
}

std::unique_ptr<Kernel> prepare_mixed_matmul(PrepareContext& c) {
  const DType a = c.input_type(0), b = c.input_type(1), out = c.output_type(0);
  const auto is_byte = [](DType t) { return t == DType::kInt8 || t == DType::kUint8; };
  const bool bytes = is_byte(a) && is_byte(b) && out == DType::kInt32;
  const bool one_byte = out == DType::kBFloat16 && ((a == out && is_byte(b)) || (is_byte(a) && b == out));
  if (!bytes && !one_byte && (a != out || b != out)) {
    throw unimplemented("no kernel for ", a, " times ", b, " as ", out, " on CPU");
  }
  return std::make_unique<BatchMatMulKernel>(c.node());
}

// --- Gradients ---

struct Flags {
  bool a, b;
};

Output product_of(const std::string& op, const Output& a, const Output& b, Flags flip) {
  const bool batch = is_batch_matmul(op);
  return OpBuilder(op, {})
      .input(a)
      .input(b)
      .attr(batch ? "adj_x" : "transpose_a", flip.a)
      .attr(batch ? "adj_y" : "transpose_b", flip.b)
      .build();
}

// A product of SparseMatMul is float32, whatever its operands are.
Output in_type_of(const Output& product, const Output& operand) {
  return product.dtype() == operand.dtype() ? product : cast(product, operand.dtype());
}

void matmul_gradient(GradientContext& c) {
  const MatMulForm form(c.node().info());
  const std::string op = c.node().type() == "BatchMatMulV3" ? "BatchMatMulV2" : c.node().type();
  const Output grad = c.grad(0);
  // A plain transpose leaves the conjugation to be done here; an adjoint does it itself.
  const Output a = form.adjoint ? c.input(0) : conj_if_complex(c.input(0));
  const Output b = form.adjoint ? c.input(1) : conj_if_complex(c.input(1));
  const Output grad_a = form.transpose_a ? product_of(op, b, grad, {form.transpose_b, true})
                                         : product_of(op, grad, b, {false, !form.transpose_b});
  const Output grad_b = form.transpose_b ? product_of(op, grad, a, {true, form.transpose_a})
                                         : product_of(op, a, grad, {!form.transpose_a, false});
  if (op != "BatchMatMulV2") {
    c.set_input_grad(0, in_type_of(grad_a, c.input(0)));
    c.set_input_grad(1, in_type_of(grad_b, c.input(1)));
  } else {
    c.set_input_grad(0, sum_to_shape_of(grad_a, c.input(0), grad_a));
    c.set_input_grad(1, sum_to_shape_of(grad_b, c.input(1), grad_b));
  }
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "MatMul",
                    .inputs = "a: T; b: T",
                    .outputs = "product: T",
                    .attrs = "transpose_a: bool = false; transpose_b: bool = false; "
                             "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, "
                             "complex64, complex128}; grad_a: bool = false; grad_b: bool = false",
                    .shape = matmul_shape,
                    .gradient = matmul_gradient,
                    .cpu = prepare_matmul});
CAUDAL_REGISTER_OP({.name = "SparseMatMul",
                    .inputs = "a: Ta; b: Tb",
                    .outputs = "product: float",
                    .attrs = "transpose_a: bool = false; transpose_b: bool = false; a_is_sparse: bool = false; "
                             "b_is_sparse: bool = false; Ta: {float, bfloat16} = float; Tb: {float, bfloat16} = float",
                    .shape = matmul_shape,
                    .gradient = matmul_gradient,
                    .cpu = prepare_sparse_matmul});
CAUDAL_REGISTER_OP({.name = "BatchMatMul",
                    .inputs = "x: T; y: T",
                    .outputs = "output: T",
                    .attrs = "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}; "
                             "adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
                    .shape = batch_matmul_shape,
                    .gradient = matmul_gradient,
                    .cpu = prepare_batch_matmul});
CAUDAL_REGISTER_OP({.name = "BatchMatMulV2",
                    .inputs = "x: T; y: T",
                    .outputs = "output: T",
                    .attrs = "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, "
                             "complex64, complex128}; adj_x: bool = false; adj_y: bool = false; "
                             "grad_x: bool = false; grad_y: bool = false",
                    .shape = batch_matmul_shape,
                    .gradient = matmul_gradient,
                    .cpu = prepare_batch_matmul});
CAUDAL_REGISTER_OP({.name = "BatchMatMulV3",
                    .inputs = "x: Ta; y: Tb",
                    .outputs = "output: Tout",
                    .attrs = "Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
                             "complex128}; Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, "
                             "complex64, complex128}; Tout: {bfloat16, half, float, double, int16, int32, int64, "
                             "complex64, complex128}; adj_x: bool = false; adj_y: bool = false; "
                             "grad_x: bool = false; grad_y: bool = false",
                    .shape = batch_matmul_shape,
                    .gradient = matmul_gradient,
                    .cpu = prepare_mixed_matmul});

// --- Functions ---

Output matmul(const Operand& a, const Operand& b, const MatMulOptions& options) {
  const LocationScope location(options.where);
  if ((options.transpose_a && options.adjoint_a) || (options.transpose_b && options.adjoint_b)) {
    throw invalid_argument("matmul(): transpose and adjoint exclude each other").made_at(short_location(options.where));
  }
  const DType dtype = common_dtype({&a, &b});
  Output left = a.to_output(dtype), right = b.to_output(dtype);
  const OpOptions node{.name = options.name, .where = options.where};
  const bool flip_a = options.transpose_a || options.adjoint_a, flip_b = options.transpose_b || options.adjoint_b;
  const bool matrices = left.shape().rank() == 2 && right.shape().rank() == 2;
  // MatMul transposes and BatchMatMulV2 takes the adjoint: the other wish needs a conjugate first.
  if (matrices ? options.adjoint_a : options.transpose_a) left = conj_if_complex(left);
  if (matrices ? options.adjoint_b : options.transpose_b) right = conj_if_complex(right);
  if (matrices) {
    return OpBuilder("MatMul", node)
        .input(left)
        .input(right)
        .attr("transpose_a", flip_a)
        .attr("transpose_b", flip_b)
        .build();
  }
  const std::string default_name = options.name.empty() ? "MatMul" : options.name;
  return OpBuilder("BatchMatMulV2", {.name = default_name, .where = options.where})
      .input(left)
      .input(right)
      .attr("adj_x", flip_a)
      .attr("adj_y", flip_b)
      .build();
}

}  // namespace caudal::inline v0
