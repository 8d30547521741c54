#include "caudal/ops/elementwise.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace caudal::inline v0 {
namespace {

class UnaryElementwise final : public Kernel {
 public:
  explicit UnaryElementwise(kernels::UnaryLoop loop) : loop_(loop) {}
  void run(RunContext& c) const override {
    const Tensor& x = c.input(0);
    Tensor& y = c.allocate_output(0, x.shape());
    kernels::run_unary(c.pool(), loop_, x.raw(), static_cast<std::int64_t>(dtype_size(x.dtype())), y.raw(),
                       static_cast<std::int64_t>(dtype_size(y.dtype())), x.num_elements());
  }

 private:
  kernels::UnaryLoop loop_;
};

Error element_fault(kernels::BinaryOp op) {
  switch (op) {
    case kernels::BinaryOp::kPow:
      return invalid_argument("an integer is raised to a negative power").hint("Cast both to a floating type.");
    case kernels::BinaryOp::kTruncateDiv:
    case kernels::BinaryOp::kTruncateMod:
      // TensorFlow's code for these two differs from that of the other divisions.
      return internal_error("integer division by zero");
    default:
      return invalid_argument("integer division by zero");
  }
}

class BinaryElementwise final : public Kernel {
 public:
  BinaryElementwise(kernels::BinaryOp op, kernels::BinaryLoop loop, bool one_shape)
      : op_(op), loop_(loop), one_shape_(one_shape) {}
  void run(RunContext& c) const override {
    const Tensor &x = c.input(0), &y = c.input(1);
    const bool same = x.shape() == y.shape();
    if ((same || ((x.rank() == 0 || y.rank() == 0) && !one_shape_)) &&
        std::max(x.num_elements(), y.num_elements()) <= kFewElements) {
      run_few(c, x, y);
      return;
    }
    if (one_shape_ && !(x.shape() == y.shape())) {
      throw invalid_argument("the inputs ", x.describe(), " and ", y.describe(), " must have one shape");
    }
    const Shape shape = broadcast(x.shape(), y.shape());
    Tensor& z = c.allocate_output(0, shape);
    if (!kernels::broadcast_binary(c.pool(), loop_, x.raw(), x.shape().dims(), y.raw(), y.shape().dims(), z.raw(),
                                   shape.dims())) {
      throw element_fault(op_);
    }
  }

 private:
  // Where looking for broadcasts and for threads would cost more than the work.
  static constexpr std::int64_t kFewElements = 256;
  void run_few(RunContext& c, const Tensor& x, const Tensor& y) const {
    const Shape& shape = y.rank() == 0 ? x.shape() : y.shape();
    Tensor& z = c.allocate_output(0, shape);
    const std::int64_t n = shape.num_elements();
    if (n > 0 && !loop_(x.raw(), x.rank() == 0 ? 0 : 1, y.raw(), y.rank() == 0 ? 0 : 1, z.raw(), n)) {
      throw element_fault(op_);
    }
  }

  kernels::BinaryOp op_;
  kernels::BinaryLoop loop_;
  bool one_shape_;
};

std::unique_ptr<Kernel> make_binary(PrepareContext& context, kernels::BinaryOp op, double parameter, bool one_shape) {
  const auto loop = kernels::find_binary(op, plain_integer(context.input_type(0)), parameter);
  if (!loop) throw unimplemented("no kernel for ", context.input_type(0), " on CPU");
  context.allow_in_place(0, 0);
  context.allow_in_place(1, 0);
  return std::make_unique<BinaryElementwise>(op, loop, one_shape);
}

// The axes of the gradient over which x was repeated; nothing if sizes that only the run knows decide.
std::optional<std::vector<std::int64_t>> repeated_axes(const PartialShape& x, const PartialShape& other) {
  if (!x.has_rank() || !other.has_rank()) return std::nullopt;
  const int rank = std::max(x.rank(), other.rank());
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < rank; ++axis) {
    const int from_end = axis - rank;
    const std::int64_t own = -from_end <= x.rank() ? x[from_end] : 0;  // 0: x has no such axis
    const std::int64_t theirs = -from_end <= other.rank() ? other[from_end] : 1;
    if (-from_end > x.rank() || (own == 1 && theirs != 1)) {
      axes.push_back(axis);
    } else if (own < 0 && theirs != 1) {
      return std::nullopt;
    }
  }
  return axes;
}

Output shape_node(const Output& x) {
  if (x.shape().is_fully_known()) return Operand(x.shape().dims()).to_output();
  return OpBuilder("Shape", {}).input(x).attr("out_type", DType::kInt64).build();
}

Output sum(const Output& x, const Operand& axes, bool keep_dims) {
  return OpBuilder("Sum", {}).input(x).input(axes).attr("keep_dims", keep_dims).build();
}

}  // namespace

std::unique_ptr<Kernel> make_unary_kernel(PrepareContext& context, kernels::UnaryOp op, double parameter) {
  const auto loop = kernels::find_unary(op, context.input_type(0), parameter);
  if (!loop) throw unimplemented("no kernel for ", context.input_type(0), " on CPU");
  context.allow_in_place(0, 0);
  return std::make_unique<UnaryElementwise>(loop);
}

std::unique_ptr<Kernel> make_binary_kernel(PrepareContext& context, kernels::BinaryOp op, double parameter) {
  return make_binary(context, op, parameter, false);
}

std::unique_ptr<Kernel> make_same_shape_kernel(PrepareContext& context, kernels::BinaryOp op, double parameter) {
  return make_binary(context, op, parameter, true);
}

Shape broadcast(const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, kMaxRank> dims{};
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw invalid_argument("shapes ", a, " and ", b, " cannot be broadcast together")
          .hint("Sizes must agree from the right, or be 1.");
    }
    dims[static_cast<std::size_t>(rank - i)] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(rank)));
}

DType plain_integer(DType dtype) {
  switch (dtype) {
    case DType::kQint8:
      return DType::kInt8;
    case DType::kQuint8:
      return DType::kUint8;
    case DType::kQint16:
      return DType::kInt16;
    case DType::kQuint16:
      return DType::kUint16;
    case DType::kQint32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

Output sum_to_shape_of(const Output& grad, const Output& x, const Output& other) {
  if (x == other) return grad;
  if (const auto axes = repeated_axes(x.shape(), other.shape())) {
    if (axes->empty()) return grad;
    const int missing = std::max(x.shape().rank(), other.shape().rank()) - x.shape().rank();
    if (missing == 0) return sum(grad, *axes, true);
    const Output total = sum(grad, *axes, false);
    if (static_cast<int>(axes->size()) == missing) return total;
    return OpBuilder("Reshape", {}).input(total).input(shape_node(x)).build();
  }
  const Output shape = OpBuilder("Shape", {}).input(x).attr("out_type", DType::kInt64).build();
  const Output others = OpBuilder("Shape", {}).input(other).attr("out_type", DType::kInt64).build();
  const Output axes = OpBuilder("BroadcastGradientArgs", {}).input(shape).input(others).build();
  return OpBuilder("Reshape", {}).input(sum(grad, axes, false)).input(shape).build();
}

Output conj_if_complex(const Output& x) { return is_complex(x.dtype()) ? OpBuilder("Conj", {}).input(x).build() : x; }

}  // namespace caudal::inline v0
