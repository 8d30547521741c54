#include "caudal/ops/scan.h"

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

void scan_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  const Tensor* axis = c.constant_input(1);
  if (axis != nullptr && c.input(0).has_rank()) normalized_axis(axis->to_int64s()[0], c.input(0).rank());
  c.set_output(0, c.input(0));
}

// Each row of the axis is the one before combined with the element: rows are runs of `inner` neighbours.
class ScanKernel final : public Kernel {
 public:
  ScanKernel(kernels::BinaryLoop loop, int neutral, bool exclusive, bool reverse)
      : loop_(loop), neutral_(neutral), exclusive_(exclusive), reverse_(reverse) {}

  void run(RunContext& c) const override {
    const Tensor& x = c.input(0);
    if (c.input(1).rank() != 0) throw invalid_argument("the axis must be a scalar, not ", c.input(1).describe());
    const int axis = normalized_axis(scalar_int(c.input(1), "the axis"), x.rank());
    std::int64_t outer = 1, inner = 1;
    for (int d = 0; d < axis; ++d) outer *= x.dim(d);
    for (int d = axis + 1; d < x.rank(); ++d) inner *= x.dim(d);
    const char* in = x.raw();
    Tensor& y = c.allocate_output(0, x.shape());
    if (y.num_elements() == 0) return;
    const std::int64_t n = y.dim(axis), row = inner * static_cast<std::int64_t>(dtype_size(y.dtype()));
    const Tensor first = convert_number(Tensor(neutral_), y.dtype());
    c.pool().parallel_for(outer, 1 + 16384 / (n * inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) scan(in + o * n * row, y.raw() + o * n * row, n, inner, row, first);
    });
  }

 private:
  void scan(const char* in, char* out, std::int64_t n, std::int64_t inner, std::int64_t row,
            const Tensor& first) const {
    const std::int64_t element = row / inner;
    const char* before = nullptr;  // the result of the row before
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = (reverse_ ? n - 1 - i : i) * row;
      const std::int64_t taken = exclusive_ ? at + (reverse_ ? row : -row) : at;
      if (before != nullptr) {
        (void)loop_(before, 1, in + taken, 1, out + at, inner);  // sums and products have no faults
      } else if (exclusive_) {
        for (std::int64_t k = 0; k < inner; ++k) std::copy_n(first.raw(), element, out + at + k * element);
      } else {
        std::copy_n(in + at, row, out + at);
      }
      before = out + at;
    }
  }

  kernels::BinaryLoop loop_;
  int neutral_;
  bool exclusive_, reverse_;
};

template <bool product>
std::unique_ptr<Kernel> prepare_scan(PrepareContext& c) {
  const auto loop = kernels::find_binary(product ? kernels::BinaryOp::kMul : kernels::BinaryOp::kAdd, c.input_type(0));
  if (!loop) throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  return std::make_unique<ScanKernel>(loop, product ? 1 : 0, c.attr<bool>("exclusive"), c.attr<bool>("reverse"));
}

void cumsum_gradient(GradientContext& c) {
  c.set_input_grad(
      0, cumsum(c.grad(0), c.input(1), {.exclusive = c.attr<bool>("exclusive"), .reverse = !c.attr<bool>("reverse")}));
}

void cumprod_gradient(GradientContext& c) {
  const bool exclusive = c.attr<bool>("exclusive"), reverse = c.attr<bool>("reverse");
  const Output product = cumprod(c.input(0), c.input(1), {.exclusive = exclusive, .reverse = reverse});
  const Output total = cumsum(product * c.grad(0), c.input(1), {.exclusive = exclusive, .reverse = !reverse});
  c.set_input_grad(0, div_no_nan(total, c.input(0)));
}

Output scan(std::string_view op, const Operand& x, const Operand& axis, const ScanOptions& options) {
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(x)
      .input(axis, DType::kInt32)
      .attr("exclusive", options.exclusive)
      .attr("reverse", options.reverse)
      .build();
}

}  // namespace

#define CAUDAL_SCAN_ATTRS                                                                                            \
  "exclusive: bool = false; reverse: bool = false; T: {float, double, int32, uint8, int16, int8, complex64, int64, " \
  "qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; "                    \
  "Tidx: {int32, int64} = DT_INT32"
CAUDAL_REGISTER_OP({.name = "Cumsum",
                    .inputs = "x: T; axis: Tidx",
                    .outputs = "out: T",
                    .attrs = CAUDAL_SCAN_ATTRS,
                    .shape = scan_shape,
                    .gradient = cumsum_gradient,
                    .cpu = prepare_scan<false>});
CAUDAL_REGISTER_OP({.name = "Cumprod",
                    .inputs = "x: T; axis: Tidx",
                    .outputs = "out: T",
                    .attrs = CAUDAL_SCAN_ATTRS,
                    .shape = scan_shape,
                    .gradient = cumprod_gradient,
                    .cpu = prepare_scan<true>});

Output cumsum(const Operand& x, const Operand& axis, const ScanOptions& options) {
  return scan("Cumsum", x, axis, options);
}
Output cumprod(const Operand& x, const Operand& axis, const ScanOptions& options) {
  return scan("Cumprod", x, axis, options);
}

}  // namespace caudal::inline v0
