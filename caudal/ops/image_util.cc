#include "caudal/ops/image_util.h"

#include "caudal/base/error.h"
#include "caudal/kernels/cast.h"

namespace caudal::inline v0 {

void set_sized_image(ShapeContext& c, int size_input, std::int64_t batch, std::int64_t channels) {
  const PartialShape size = c.with_rank(size_input, 1);
  ShapeContext::merge_dim(size.has_rank() ? size.dim(0) : PartialShape::kUnknown, 2, "the length of the size");
  std::int64_t height = PartialShape::kUnknown, width = PartialShape::kUnknown;
  if (const Tensor* value = c.constant_input(size_input)) {
    const auto sizes = value->to_int64s();
    for (const std::int64_t side : sizes) {
      if (side < PartialShape::kUnknown) throw invalid_argument("the size ", *value, " has a negative side");
    }
    height = sizes[0];
    width = sizes[1];
  }
  c.set_output(0, {batch, height, width, channels});
}

std::array<std::int64_t, 2> image_size_from(const Tensor& size, std::string_view what) {
  if (size.rank() != 1 || size.dim(0) != 2) {
    throw invalid_argument(what, " must be a vector of height and width, not ", size.describe());
  }
  const auto sides = size.to_int64s();
  if (sides[0] <= 0 || sides[1] <= 0) throw invalid_argument(what, " ", size, " must be positive");
  return {sides[0], sides[1]};
}

void check_rank(const Tensor& tensor, int rank, std::string_view what) {
  if (tensor.rank() != rank) throw invalid_argument(what, " must have ", rank, " dimensions, not ", tensor.describe());
}

Tensor as_float32(RunContext& c, const Tensor& image) {
  if (image.dtype() == DType::kFloat) return image;
  Tensor out = c.allocate_temporary(DType::kFloat, image.shape());
  kernels::cast(c.pool(), image.dtype(), image.raw(), DType::kFloat, out.raw(), image.num_elements());
  return out;
}

}  // namespace caudal::inline v0
