#include "caudal/ops/op_util.h"

#include <cctype>
#include <numeric>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

Shape shape_from(const Tensor& sizes, std::string_view what) {
  if (sizes.rank() != 1) throw invalid_argument(what, " must be a vector of sizes, not ", sizes.describe());
  const auto dims = sizes.to_int64s();
  for (const auto dim : dims) {
    if (dim < 0) throw invalid_argument(what, " ", sizes, " has a negative size");
  }
  return Shape(dims);
}

int normalized_axis(std::int64_t axis, int rank, std::string_view what) {
  if (axis < -rank || axis >= rank) {
    throw invalid_argument(what, " ", axis, " is outside [", -rank, ", ", rank, ") of a tensor of rank ", rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

PartialShape merge_shapes(const PartialShape& a, const PartialShape& b) {
  if (a.has_rank() && b.has_rank() && a.rank() != b.rank()) {
    throw invalid_argument("Incompatible ranks during merge: ", a.rank(), " vs. ", b.rank());
  }
  const auto merged = a.merge(b);
  if (!merged) throw invalid_argument("Incompatible shapes during merge: ", a, " vs. ", b);
  return *merged;
}

std::int64_t scalar_int(const Tensor& value, std::string_view what) {
  if (value.num_elements() != 1) throw invalid_argument(what, " must be a scalar, not ", value.describe());
  return value.to_int64s()[0];
}

std::string kernel_type_name(DType dtype) {
  std::string name = dtype_enum_name(dtype).substr(3);  // without "DT_"
  for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

std::vector<Output> outputs_of(Node& node) {
  std::vector<Output> outputs;
  for (int i = 0; i < node.num_outputs(); ++i) outputs.push_back(node.output(i));
  return outputs;
}

Output int32_vector(const std::vector<std::int64_t>& values) {
  return Operand(Tensor(std::vector<int>(values.begin(), values.end()))).to_output();
}

Output int64_vector(const std::vector<std::int64_t>& values) { return Operand(Tensor(values)).to_output(); }

Output all_axes(const Output& x) {
  if (x.shape().has_rank()) {
    std::vector<int> axes(x.shape().rank());
    std::iota(axes.begin(), axes.end(), 0);
    return Operand(Tensor(axes)).to_output();
  }
  const Output rank = OpBuilder("Rank", {}).input(x).build();
  return OpBuilder("Range", {}).input(0).input(rank).input(1).build();
}

Output shape_of(const Output& x, DType out_type) {
  if (const auto shape = x.shape().to_shape()) {
    return out_type == DType::kInt64 ? int64_vector(shape->to_vector()) : int32_vector(shape->to_vector());
  }
  return OpBuilder("Shape", {}).input(x).attr("out_type", out_type).build();
}

}  // namespace caudal::inline v0
