#include "caudal/ops/image_codec.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/formats/bmp.h"
#include "caudal/formats/gif_reader.h"
#include "caudal/formats/jpeg.h"
#include "caudal/formats/png.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

std::int64_t channels_dim(ShapeContext& c) {
  const std::int64_t channels = c.attr<std::int64_t>("channels");
  if (channels < 0) throw invalid_argument("channels is ", channels, "; it must not be negative");
  return channels == 0 ? PartialShape::kUnknown : channels;
}

void encode_png_shape(ShapeContext& c) {
  const PartialShape image = c.with_rank_at_least(0, 3);
  if (!image.has_rank()) return c.set_output(0, PartialShape::unknown());
  c.set_output(0, PartialShape(std::vector<std::int64_t>(image.dims().begin(), image.dims().end() - 3)));
}

void encode_jpeg_shape(ShapeContext& c) {
  c.with_rank(0, 3);
  c.set_output(0, PartialShape::scalar());
}

void decode_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.set_output(0, {-1, -1, channels_dim(c)});
}

void decode_gif_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.set_output(0, {-1, -1, -1, 3});
}

void decode_image_shape(ShapeContext& c) {
  if (!c.attr<bool>("expand_animations")) return decode_shape(c);
  c.with_rank(0, 0);
  channels_dim(c);
  c.set_output(0, PartialShape::unknown());
}

void decode_crop_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  ShapeContext::merge_dim(c.with_rank(1, 1).dim(0), 4, "the length of crop_window");
  std::int64_t height = PartialShape::kUnknown, width = PartialShape::kUnknown;
  if (const Tensor* window = c.constant_input(1)) {
    const auto sides = window->to_int64s();
    if (sides[2] < -1 || sides[3] < -1) throw invalid_argument("crop_window ", *window, " has a negative side");
    height = sides[2];
    width = sides[3];
  }
  c.set_output(0, {height, width, channels_dim(c)});
}

void jpeg_shape_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.set_output(0, {3});
}

// ---- Decoding

const std::string& contents_of(RunContext& c) {
  const Tensor& contents = c.input(0);
  if (contents.rank() != 0) throw invalid_argument("contents must be one string, not ", contents.describe());
  return contents.item<std::string>();
}

// The bytes are an argument of the op, whatever file they came from.
template <class Fn>
auto as_argument(const Fn& fn) {
  try {
    return fn();
  } catch (const Error& error) {
    if (error.code() == Code::kDataLoss) throw Error(Code::kInvalidArgument, error.detail()).hint(error.advice());
    throw;
  }
}

JpegDecodeOptions jpeg_options(RunContext& c) {
  JpegDecodeOptions options;
  if (c.node().op->def.find_attr("ratio") == nullptr) return options;
  const std::int64_t ratio = c.node().attr<std::int64_t>("ratio");
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    throw invalid_argument("ratio is ", ratio, "; 1, 2, 4 or 8 is wanted");
  }
  options.ratio = static_cast<int>(ratio);
  options.fancy_upscaling = c.node().attr<bool>("fancy_upscaling");
  options.try_recover_truncated = c.node().attr<bool>("try_recover_truncated");
  options.acceptable_fraction = c.node().attr<float>("acceptable_fraction");
  const auto& method = c.node().attr<std::string>("dct_method");
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    throw invalid_argument("dct_method '", method, "' is unknown; INTEGER_FAST or INTEGER_ACCURATE is wanted");
  }
  options.accurate_dct = method == "INTEGER_ACCURATE";
  return options;
}

int channels_of(RunContext& c) {
  const std::int64_t channels = c.node().attr<std::int64_t>("channels");
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    throw invalid_argument("channels is ", channels, "; 0, 1, 3 or 4 is wanted");
  }
  return static_cast<int>(channels);
}

// uint8 as another type: of the wider range, or floats up to 1.
Tensor converted(const Tensor& picture, DType dtype) {
  if (dtype == DType::kUint8) return picture;
  Tensor out(dtype, picture.shape());
  const auto bytes = picture.flat<std::uint8_t>();
  if (dtype == DType::kUint16) {
    std::ranges::transform(bytes, out.data<std::uint16_t>(), [](int value) { return value * 256; });
  } else {
    constexpr auto kScale = static_cast<float>(1.0 / 255);
    std::ranges::transform(bytes, out.data<float>(), [](std::uint8_t value) { return value * kScale; });
  }
  return out;
}

Tensor decode_png_as(std::string_view bytes, int channels, DType dtype) {
  if (dtype != DType::kFloat) return decode_png(bytes, channels, dtype);
  const Tensor wide = decode_png(bytes, channels, DType::kUint16);
  Tensor out(dtype, wide.shape());
  constexpr auto kScale = static_cast<float>(1.0 / 65535);
  std::ranges::transform(wide.flat<std::uint16_t>(), out.data<float>(),
                         [](std::uint16_t value) { return static_cast<float>(value) * kScale; });
  return out;
}

// What an op makes of a picture that is no animation, and of one that is.
enum class Frames { kNone, kOne, kAll };

struct Request {
  int channels;
  DType dtype;
  Frames frames;
};

Tensor decode_still(std::string_view bytes, const Request& request, RunContext& c) {
  if (is_png(bytes)) return decode_png_as(bytes, request.channels, request.dtype);
  JpegDecodeOptions options = jpeg_options(c);
  options.channels = request.channels;
  return converted(decode_jpeg(bytes, options), request.dtype);
}

Tensor decode_animation(std::string_view bytes, const Request& request) {
  if (request.channels != 0 && request.channels != 3) {
    throw invalid_argument("a GIF picture has 3 channels, not ", request.channels);
  }
  Tensor frames = decode_gif(bytes, request.frames != Frames::kOne);
  if (request.frames == Frames::kNone && frames.dim(0) != 1) {
    throw invalid_argument("the GIF picture has ", frames.dim(0), " frames")
        .hint("Use decode_gif or decode_image for animations.");
  }
  if (request.frames != Frames::kAll) frames = frames.reshape(frames.shape().remove(0));
  return converted(frames, request.dtype);
}

// DecodeJpeg, DecodePng, DecodeGif, DecodeImage.
template <bool any_format>
void run_decode(RunContext& c) {
  const std::string& bytes = contents_of(c);
  const bool gif_op = c.node().op->def.find_attr("channels") == nullptr;
  Request request{gif_op ? 3 : channels_of(c), c.node().output_types[0], gif_op ? Frames::kAll : Frames::kNone};
  if constexpr (any_format) request.frames = c.node().attr<bool>("expand_animations") ? Frames::kAll : Frames::kOne;
  c.set_output(0, as_argument([&] {
                 if (is_gif(bytes)) return decode_animation(bytes, request);
                 if (any_format && is_bmp(bytes)) return converted(decode_bmp(bytes, request.channels), request.dtype);
                 if (!is_png(bytes) && !is_jpeg(bytes)) {
                   throw invalid_argument("these ", bytes.size(),
                                          " bytes are no picture of a known format: JPEG, PNG, GIF",
                                          any_format ? ", BMP" : "");
                 }
                 const Tensor picture = decode_still(bytes, request, c);
                 return gif_op ? picture.reshape(picture.shape().insert(0, 1)) : picture;
               }));
}

void run_decode_bmp(RunContext& c) {
  const std::string& bytes = contents_of(c);
  const int channels = channels_of(c);
  c.set_output(0, as_argument([&] { return decode_bmp(bytes, channels); }));
}

void run_decode_crop(RunContext& c) {
  const std::string& bytes = contents_of(c);
  const Tensor& window = c.input(1);
  if (window.rank() != 1 || window.dim(0) != 4) {
    throw invalid_argument("crop_window must be (y, x, height, width), not ", window.describe());
  }
  JpegDecodeOptions options = jpeg_options(c);
  options.channels = channels_of(c);
  const auto sides = window.to_int64s();
  options.crop = JpegCrop{sides[0], sides[1], sides[2], sides[3]};
  c.set_output(0, as_argument([&] { return decode_jpeg(bytes, options); }));
}

void run_jpeg_shape(RunContext& c) {
  const std::string& bytes = contents_of(c);
  const JpegShape shape = as_argument([&] { return jpeg_shape(bytes); });
  Tensor& out = c.allocate_output(0, Shape{3});
  const std::int64_t sizes[] = {shape.height, shape.width, shape.channels};
  for (int i = 0; i < 3; ++i) {
    if (out.dtype() == DType::kInt64) {
      out.data<std::int64_t>()[i] = sizes[i];
    } else {
      out.data<std::int32_t>()[i] = static_cast<std::int32_t>(sizes[i]);
    }
  }
}

// ---- Encoding

void run_encode_png(RunContext& c) {
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

int quality_from(std::int64_t quality) {
  if (quality < 0 || quality > 100) throw invalid_argument("quality is ", quality, "; 0 to 100 is wanted");
  return static_cast<int>(quality);
}

void run_encode_jpeg(RunContext& c) {
  JpegEncodeOptions options;
  const NodeInfo& node = c.node();
  options.quality = quality_from(node.attr<std::int64_t>("quality"));
  options.progressive = node.attr<bool>("progressive");
  options.optimize_size = node.attr<bool>("optimize_size");
  options.chroma_downsampling = node.attr<bool>("chroma_downsampling");
  options.density_in_cm = node.attr<std::string>("density_unit") == "cm";
  options.x_density = static_cast<int>(node.attr<std::int64_t>("x_density"));
  options.y_density = static_cast<int>(node.attr<std::int64_t>("y_density"));
  options.xmp_metadata = node.attr<std::string>("xmp_metadata");
  const auto& format = node.attr<std::string>("format");
  const Tensor& image = c.input(0);
  if (!format.empty() && image.rank() == 3 && image.dim(2) != (format == "rgb" ? 3 : 1)) {
    throw invalid_argument("format ", format, " does not fit the channels of ", image.describe());
  }
  c.set_output(0, Tensor(caudal::encode_jpeg(image, options)));
}

void run_encode_jpeg_quality(RunContext& c) {
  if (c.input(1).rank() != 0) throw invalid_argument("quality must be a scalar, not ", c.input(1).describe());
  JpegEncodeOptions options;
  options.quality = quality_from(c.input(1).item<std::int32_t>());
  c.set_output(0, Tensor(caudal::encode_jpeg(c.input(0), options)));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "EncodePng",
    .inputs = "image: T",
    .outputs = "contents: string",
    .attrs = "compression: int = -1; T: {uint8, uint16} = DT_UINT8",
    .shape = encode_png_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_encode_png>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodePng",
    .inputs = "contents: string",
    .outputs = "image: dtype",
    .attrs = "channels: int = 0; dtype: {uint8, uint16} = DT_UINT8",
    .shape = decode_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_decode<false>>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodeJpeg",
    .inputs = "contents: string",
    .outputs = "image: uint8",
    .attrs = "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false;"
             "acceptable_fraction: float = 1.0; dct_method: string = ''",
    .shape = decode_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_decode<false>>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodeAndCropJpeg",
    .inputs = "contents: string; crop_window: int32",
    .outputs = "image: uint8",
    .attrs = "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false;"
             "acceptable_fraction: float = 1.0; dct_method: string = ''",
    .shape = decode_crop_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_decode_crop>,
});
CAUDAL_REGISTER_OP({
    .name = "ExtractJpegShape",
    .inputs = "contents: string",
    .outputs = "image_shape: output_type",
    .attrs = "output_type: {int32, int64} = DT_INT32",
    .shape = jpeg_shape_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_jpeg_shape>,
});
CAUDAL_REGISTER_OP({
    .name = "EncodeJpeg",
    .inputs = "image: uint8",
    .outputs = "contents: string",
    .attrs = "format: {'', 'grayscale', 'rgb'} = ''; quality: int = 95; progressive: bool = false;"
             "optimize_size: bool = false; chroma_downsampling: bool = true; density_unit: {'in', 'cm'} = 'in';"
             "x_density: int = 300; y_density: int = 300; xmp_metadata: string = ''",
    .shape = encode_jpeg_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_encode_jpeg>,
});
CAUDAL_REGISTER_OP({
    .name = "EncodeJpegVariableQuality",
    .inputs = "images: uint8; quality: int32",
    .outputs = "contents: string",
    .shape = encode_jpeg_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_encode_jpeg_quality>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodeGif",
    .inputs = "contents: string",
    .outputs = "image: uint8",
    .shape = decode_gif_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_decode<false>>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodeBmp",
    .inputs = "contents: string",
    .outputs = "image: uint8",
    .attrs = "channels: int = 0",
    .shape = decode_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_decode_bmp>,
});
CAUDAL_REGISTER_OP({
    .name = "DecodeImage",
    .inputs = "contents: string",
    .outputs = "image: dtype",
    .attrs = "channels: int = 0; dtype: {uint8, uint16, float} = DT_UINT8; expand_animations: bool = true",
    .shape = decode_image_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_decode<true>>,
});

OpBuilder& with_jpeg_options(OpBuilder& builder, const image::DecodeJpegOptions& options) {
  return builder.attr("channels", options.channels)
      .attr("ratio", options.ratio)
      .attr("fancy_upscaling", options.fancy_upscaling)
      .attr("try_recover_truncated", options.try_recover_truncated)
      .attr("acceptable_fraction", options.acceptable_fraction)
      .attr("dct_method", options.dct_method);
}

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

Output decode_jpeg(const Operand& contents, const DecodeJpegOptions& options) {
  OpBuilder builder("DecodeJpeg", {.name = options.name, .where = options.where});
  return with_jpeg_options(builder.input(contents), options).build();
}

Output decode_and_crop_jpeg(const Operand& contents, const Operand& crop_window, const DecodeJpegOptions& options) {
  OpBuilder builder("DecodeAndCropJpeg", {.name = options.name, .where = options.where});
  return with_jpeg_options(builder.input(contents).input(crop_window, DType::kInt32), options).build();
}

Output extract_jpeg_shape(const Operand& contents, const ExtractJpegShapeOptions& options) {
  return OpBuilder("ExtractJpegShape", {.name = options.name, .where = options.where})
      .input(contents)
      .attr("output_type", options.output_type)
      .build();
}

Output encode_jpeg(const Operand& image, const EncodeJpegOptions& options) {
  return OpBuilder("EncodeJpeg", {.name = options.name, .where = options.where})
      .input(image)
      .attr("format", options.format)
      .attr("quality", options.quality)
      .attr("progressive", options.progressive)
      .attr("optimize_size", options.optimize_size)
      .attr("chroma_downsampling", options.chroma_downsampling)
      .attr("density_unit", options.density_unit)
      .attr("x_density", options.x_density)
      .attr("y_density", options.y_density)
      .attr("xmp_metadata", options.xmp_metadata)
      .build();
}

Output encode_jpeg_variable_quality(const Operand& images, const Operand& quality, const OpOptions& options) {
  return OpBuilder("EncodeJpegVariableQuality", options).input(images).input(quality, DType::kInt32).build();
}

Output decode_gif(const Operand& contents, const OpOptions& options) {
  return OpBuilder("DecodeGif", options).input(contents).build();
}

Output decode_bmp(const Operand& contents, const DecodeBmpOptions& options) {
  return OpBuilder("DecodeBmp", {.name = options.name, .where = options.where})
      .input(contents)
      .attr("channels", options.channels)
      .build();
}

Output decode_image(const Operand& contents, const DecodeImageOptions& options) {
  return OpBuilder("DecodeImage", {.name = options.name, .where = options.where})
      .input(contents)
      .attr("channels", options.channels)
      .attr("dtype", options.dtype)
      .attr("expand_animations", options.expand_animations)
      .build();
}

}  // namespace image
}  // namespace caudal::inline v0
