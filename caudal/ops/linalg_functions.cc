#include "caudal/ops/linalg_functions.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/einsum.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/linalg_decompositions.h"
#include "caudal/ops/linalg_solve.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0 {
namespace {

double epsilon_of(DType dtype) {
  return dtype == DType::kDouble || dtype == DType::kComplex128
             ? std::numeric_limits<double>::epsilon()
             : static_cast<double>(std::numeric_limits<float>::epsilon());
}

// The greater of rows and columns, which must be known.
double greater_side(const Output& a, const char* function) {
  const PartialShape& shape = a.shape();
  if (!shape.has_rank() || shape.rank() < 2 || shape[-1] < 0 || shape[-2] < 0) {
    throw invalid_argument(function, " must know the numbers of rows and columns of its input, the shape is ", shape);
  }
  return static_cast<double>(std::max(shape[-1], shape[-2]));
}

Axes axes_of(const std::vector<int>& axes) { return axes.empty() ? Axes() : Axes(axes); }

Output vector_norm(const Output& x, double order, const ReduceOptions& reduce) {
  if (order == 1) return reduce_sum(abs(x), reduce);
  if (order == 2) return sqrt(reduce_sum(square(abs(x)), reduce));
  return pow(reduce_sum(pow(abs(x), order), reduce), 1 / order);
}

// The greatest sum of absolute values along one axis.
Output greatest_sum(const Output& x, int along, int over, bool keepdims) {
  const Output sums = reduce_sum(abs(x), {.axis = along, .keepdims = true});
  const Output greatest = reduce_max(sums, {.axis = over, .keepdims = true});
  return keepdims ? greatest : squeeze(greatest, {along, over});
}

Output matrix_two_norm(const Output& x, std::vector<int> axes, bool keepdims) {
  const int rank = x.shape().rank();
  for (int& axis : axes) axis = normalized_axis(axis, rank);
  // The two axes last.
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (i != axes[0] && i != axes[1]) order.push_back(i);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  const Output moved = OpBuilder("Transpose", {}).input(x).input(order).build();
  const Output greatest = reduce_max(linalg::singular_values(moved), {.axis = -1});
  if (!keepdims) return greatest;
  std::sort(axes.begin(), axes.end());
  return expand_dims(expand_dims(greatest, axes[0]), axes[1]);
}

double order_of(const std::string& text) {
  double order = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), order);
  if (error != std::errc() || end != text.data() + text.size() || order <= 0) {
    throw invalid_argument("'", text, "' is no order of a norm").hint("Say euclidean, inf, or a positive number.");
  }
  return order;
}

}  // namespace

namespace linalg {

Output eye(int num_rows, const EyeOptions& options) {
  const LocationScope location(options.where);
  const int columns = options.num_columns.value_or(num_rows);
  std::vector<std::int64_t> shape = options.batch_shape;
  shape.push_back(std::min(num_rows, columns));
  const Output ones = caudal::ones(int64_vector(shape), options.dtype);
  return diag(ones, {.num_rows = num_rows, .num_cols = columns, .name = options.name, .where = options.where});
}

Output matvec(const Operand& a, const Operand& b, const MatvecOptions& options) {
  const LocationScope location(options.where);
  const DType dtype = common_dtype({&a, &b});
  const Output column = expand_dims(b.to_output(dtype), -1);
  const Output product = matmul(a, column, {.transpose_a = options.transpose_a, .adjoint_a = options.adjoint_a});
  return squeeze(product, {-1}, {.name = options.name, .where = options.where});
}

Output norm(const Operand& tensor, const NormOptions& options) {
  const LocationScope location(options.where);
  const Output x = tensor.to_output();
  const ReduceOptions reduce{.axis = axes_of(options.axis), .keepdims = options.keepdims};
  if (options.axis.size() > 2) {
    throw invalid_argument("norm() takes no axis, one (vectors) or two (matrices), not ", options.axis.size())
        .made_at(short_location(options.where));
  }
  const bool matrices = options.axis.size() == 2;
  if (options.ord == "euclidean" || options.ord == "fro") return vector_norm(x, 2, reduce);
  if (!matrices) {
    if (options.ord == "inf") return reduce_max(abs(x), reduce);
    return vector_norm(x, order_of(options.ord), reduce);
  }
  if (options.ord == "1") return greatest_sum(x, options.axis[0], options.axis[1], options.keepdims);
  if (options.ord == "inf") return greatest_sum(x, options.axis[1], options.axis[0], options.keepdims);
  if (options.ord == "2") return matrix_two_norm(x, options.axis, options.keepdims);
  throw invalid_argument("matrices have no norm of order '", options.ord, "'")
      .made_at(short_location(options.where))
      .hint("Say euclidean, 1, 2 or inf.");
}

Output pinv(const Operand& a, const PinvOptions& options) {
  const LocationScope location(options.where);
  const Output x = a.to_output();
  const double rcond = options.rcond.value_or(10 * greater_side(x, "pinv()") * epsilon_of(x.dtype()));
  const auto [s, u, v] = svd(x);
  const Output cutoff = rcond * reduce_max(s, {.axis = -1, .keepdims = true});
  // What is below divides by infinity.
  const Output divisor = where(greater(s, cutoff), s, ones_like(s) * std::numeric_limits<double>::infinity());
  return matmul(v / expand_dims(divisor, -2), u, {.adjoint_b = true, .name = options.name, .where = options.where});
}

Output matrix_rank(const Operand& a, const std::optional<double>& tol, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output x = a.to_output();
  const Output s = singular_values(x);
  const Output least =
      tol ? ones_like(s) * *tol
          : reduce_max(s, {.axis = -1, .keepdims = true}) * (greater_side(x, "matrix_rank()") * epsilon_of(x.dtype()));
  return reduce_sum(cast(greater(s, least), DType::kInt32), {.axis = -1, .name = options.name, .where = options.where});
}

namespace {

Output unit_lower(const Output& factors) { return set_diag(band_part(factors, -1, 0), ones_like(diag_part(factors))); }

// Rows in another order, batch by batch.
Output rows_of(const Output& x, const Output& order) {
  const int batch = order.shape().has_rank() ? order.shape().rank() - 1 : 0;
  return gather(x, order, {.axis = batch, .batch_dims = batch});
}

// The inverse permutations, batch by batch: the sum over i of i where perm[i] is j.
Output inverse_order(const Output& perm) {
  if (perm.shape().has_rank() && perm.shape().rank() == 1) return math::invert_permutation(perm);
  const Output index = cast(range(caudal::index(shape_of(perm), {-1})), perm.dtype());
  const Output found = equal(expand_dims(perm, -2), expand_dims(index, -1));
  return reduce_sum(cast(found, perm.dtype()) * index, {.axis = -1});
}

}  // namespace

Output lu_reconstruct(const Operand& lower_upper, const Operand& perm, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output factors = lower_upper.to_output();
  const Output product = matmul(unit_lower(factors), band_part(factors, 0, -1));
  return rows_of(product, inverse_order(perm.to_output()));
}

Output lu_solve(const Operand& lower_upper, const Operand& perm, const Operand& rhs, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output factors = lower_upper.to_output();
  const Output y = triangular_solve(unit_lower(factors), rows_of(rhs.to_output(), perm.to_output()));
  return triangular_solve(factors, y, {.lower = false, .name = options.name, .where = options.where});
}

Output lu_matrix_inverse(const Operand& lower_upper, const Operand& perm, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output factors = lower_upper.to_output();
  const Output unit = diag(ones_like(diag_part(factors)));
  return lu_solve(factors, perm, unit, options);
}

}  // namespace linalg

Output tensordot(const Operand& a, const Operand& b, const std::vector<int>& a_axes, const std::vector<int>& b_axes,
                 const OpOptions& options) {
  const LocationScope location(options.where);
  const DType dtype = common_dtype({&a, &b});
  const Output x = a.to_output(dtype), y = b.to_output(dtype);
  if (!x.shape().has_rank() || !y.shape().has_rank()) {
    throw invalid_argument("tensordot() must know the ranks of its operands").made_at(short_location(options.where));
  }
  if (a_axes.size() != b_axes.size()) {
    throw invalid_argument("tensordot() needs as many axes of a (", a_axes.size(), ") as of b (", b_axes.size(), ")")
        .made_at(short_location(options.where));
  }
  if (x.shape().rank() + y.shape().rank() > 52) {
    throw unimplemented("tensordot() of more than 52 dimensions in all").made_at(short_location(options.where));
  }
  char next = 'A';
  const auto fresh = [&] {
    const char label = next;
    next = next == 'Z' ? 'a' : static_cast<char>(next + 1);
    return label;
  };
  std::string left, right(static_cast<std::size_t>(y.shape().rank()), ' '), result;
  for (int i = 0; i < x.shape().rank(); ++i) left += fresh();
  result = left;
  for (std::size_t i = 0; i < a_axes.size(); ++i) {
    const char label = left[static_cast<std::size_t>(normalized_axis(a_axes[i], x.shape().rank()))];
    right[static_cast<std::size_t>(normalized_axis(b_axes[i], y.shape().rank()))] = label;
    std::erase(result, label);
  }
  for (char& label : right) {
    if (label == ' ') result += label = fresh();
  }
  return einsum(left + "," + right + "->" + result, {x, y}, options);
}

Output tensordot(const Operand& a, const Operand& b, int axes, const OpOptions& options) {
  const Output x = a.to_output();
  std::vector<int> last, first;
  for (int i = 0; i < axes; ++i) {
    last.push_back(i - axes);
    first.push_back(i);
  }
  return tensordot(x, b, last, first, options);
}

}  // namespace caudal::inline v0
