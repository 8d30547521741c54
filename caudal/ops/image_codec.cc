#include "caudal/ops/image_codec.h"

#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/formats/png.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void encode_shape(ShapeContext& c) {
  const PartialShape image = c.with_rank_at_least(0, 3);
  if (!image.has_rank()) return c.set_output(0, PartialShape::unknown());
  c.set_output(0, PartialShape(std::vector<std::int64_t>(image.dims().begin(), image.dims().end() - 3)));
}

void decode_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  const std::int64_t channels = c.attr<std::int64_t>("channels");
  if (channels < 0 || channels > 4) throw invalid_argument("channels is ", channels, "; 0 to 4 is wanted");
  c.set_output(0, {-1, -1, channels == 0 ? -1 : channels});
}

// ---- Kernels

void run_encode(RunContext& c) {
  const Tensor& images = c.input(0);
  if (images.rank() < 3) throw invalid_argument("the picture is ", images.describe(), "; 3 dimensions are wanted");
  const std::int64_t compression = c.node().attr<std::int64_t>("compression");
  if (compression < -1 || compression > 9) {
    throw invalid_argument("compression is ", compression, "; -1 to 9 is wanted");
  }
  const auto dims = images.shape().dims();
  const Shape picture(dims.subspan(dims.size() - 3)), outer(dims.first(dims.size() - 3));
  if (picture.num_elements() == 0) throw invalid_argument("the picture ", images.describe(), " is empty");
  const Tensor list = images.reshape(picture.insert(0, outer.num_elements()));
  Tensor& out = c.allocate_output(0, outer);
  for (std::int64_t i = 0; i < outer.num_elements(); ++i) {
    out.data<std::string>()[i] =
        caudal::encode_png(list.rows(i, i + 1).reshape(picture), static_cast<int>(compression));
  }
}

void run_decode(RunContext& c) {
  const Tensor& contents = c.input(0);
  if (contents.rank() != 0) throw invalid_argument("contents must be one string, not ", contents.describe());
  try {
    c.set_output(
        0, caudal::decode_png(contents.item<std::string>(), static_cast<int>(c.node().attr<std::int64_t>("channels")),
                              c.node().output_types[0]));
  } catch (const Error& error) {
    // The bytes are an argument of the op, whatever file they came from.
    if (error.code() == Code::kDataLoss) throw Error(Code::kInvalidArgument, error.detail()).hint(error.advice());
    throw;
  }
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "EncodePng",
    .inputs = "image: T",
    .outputs = "contents: string",
    .attrs = "compression: int = -1; T: {uint8, uint16} = DT_UINT8",
    .shape = encode_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_encode>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodePng",
    .inputs = "contents: string",
    .outputs = "image: dtype",
    .attrs = "channels: int = 0; dtype: {uint8, uint16} = DT_UINT8",
    .shape = decode_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_decode>,
});

}  // namespace

// ---- Public functions

namespace image {

Output encode_png(const Operand& image, const EncodePngOptions& options) {
  return OpBuilder("EncodePng", {.name = options.name, .where = options.where})
      .input(image)
      .attr("compression", options.compression)
      .build();
}

Output decode_png(const Operand& contents, const DecodePngOptions& options) {
  return OpBuilder("DecodePng", {.name = options.name, .where = options.where})
      .input(contents)
      .attr("channels", options.channels)
      .attr("dtype", options.dtype)
      .build();
}

}  // namespace image
}  // namespace caudal::inline v0
