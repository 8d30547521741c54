#include "caudal/keras/layer_util.h"

#include "caudal/base/error.h"
#include "caudal/keras/class_names.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::keras {
namespace {
thread_local std::vector<std::string> path_names;
}  // namespace

PathScope::PathScope(const std::string& name) { path_names.push_back(name); }
PathScope::~PathScope() { path_names.pop_back(); }

std::string PathScope::prefix() {
  std::string out;
  for (const std::string& name : path_names) out += name + "/";
  return out;
}

void check_positive(std::string_view name, std::int64_t value) {
  if (value <= 0) throw invalid_argument(name, " must be positive, not ", value);
}

std::int64_t known_last(const PartialShape& shape, int rank) {
  if (!shape.has_rank() || shape.rank() < rank) {
    throw invalid_argument("at least ", rank, " dimensions are wanted, the input has ", shape)
        .hint("Data need a first dimension, of rows: [rows, features].");
  }
  if (shape[-1] < 0) {
    throw invalid_argument("the last size of the input is not known: ", shape)
        .hint("Give the model's Input a known last size.");
  }
  return shape[-1];
}

void check_rank(const PartialShape& shape, int rank, std::string_view meaning) {
  if (shape.has_rank() && shape.rank() == rank) return;
  Error error = invalid_argument("the input must be ", meaning, ", ", rank, " dimensions; it has ", shape);
  if (shape.has_rank() && shape.rank() == rank - 1) throw error.hint("Put a Reshape before it, e.g. for one channel.");
  throw error.hint("Put a Reshape before it, or change the model's Input.");
}

Output as_float(const Output& x) { return is_floating(x.dtype()) ? x : cast(x, float32); }

Output last_axis_product(const Output& x, const Output& kernel) {
  const PartialShape& shape = x.shape();
  if (shape.rank() == 2) return matmul(x, kernel);
  // One large product instead of one per step.
  const std::int64_t n = kernel.shape()[0], m = kernel.shape()[1];
  const Output flat = reshape(x, {-1, static_cast<int>(n)});
  std::vector<Output> dims;
  for (int i = 0; i + 1 < shape.rank(); ++i) dims.push_back(dim_of(x, i));
  dims.push_back(constant(Tensor(std::vector<int>{static_cast<int>(m)})));
  const Output y = reshape(matmul(flat, kernel), concat(dims, 0));
  std::vector<std::int64_t> known = shape.dims();
  known.back() = m;
  y.set_shape(PartialShape(known));
  return y;
}

std::vector<std::int64_t> spread(std::string_view name, const std::vector<std::int64_t>& values, std::size_t count) {
  if (values.size() == count) return values;
  if (values.size() != 1) throw invalid_argument(name, ": ", values.size(), " numbers where ", count, " are wanted");
  return std::vector<std::int64_t>(count, values[0]);
}

std::string padding_name(const std::string& padding) {
  if (padding == "same" || padding == "SAME") return "SAME";
  if (padding == "valid" || padding == "VALID") return "VALID";
  throw_unknown("padding", padding, {"valid", "same"});
}

Output dim_of(const Output& x, int i) {
  if (const std::int64_t size = x.shape()[i]; size >= 0) {
    return constant(Tensor(std::vector<int>{static_cast<int>(size)}));
  }
  return slice(shape(x), {i}, {1});
}

void optional_field(Fields& f, std::string_view key, Regularizer& value) {
  if (f.reading() || value) f(key, value);
}

void channels_last_field(Fields& f) {
  std::string format = "channels_last";
  f("data_format", format);
  if (format != "channels_last") {
    throw unimplemented("data_format ", format, ": images must have their channels last");
  }
}

}  // namespace caudal::inline v0::keras
