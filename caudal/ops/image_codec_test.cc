#include "caudal/ops/image_codec.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/formats/gif.h"
#include "caudal/formats/jpeg.h"
#include "caudal/formats/png.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

std::string file(const std::string& name) {
  return read_file(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/records/codecs/" + name);
}

TEST(ImageCodec, PicturesSurvive) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor batch = harness::random_tensor(uint8, {2, 5, 4, 3}, 1, {.low = 0, .high = 255});
  const Output files = image::encode_png(constant(batch), {.compression = 9});
  EXPECT_EQ(files.shape(), PartialShape{2});
  const Output bytes = placeholder(string, PartialShape::scalar());
  const Output picture = image::decode_png(bytes, {.channels = 3});
  EXPECT_EQ(picture.shape(), (PartialShape{-1, -1, 3}));
  Session session;
  const Tensor encoded = session.run(files);
  for (int i = 0; i < 2; ++i) {
    const Tensor decoded = session.run(picture, {{bytes, Tensor(encoded.data<std::string>()[i])}});
    EXPECT_TRUE(identical(decoded, batch.rows(i, i + 1).reshape({5, 4, 3})));
  }
}

CAUDAL_OP_SAMPLES(EncodePng) {
  for (const DType type : {uint8, uint16}) {
    for (const Shape& shape : {Shape{2, 3, 1}, Shape{1, 1, 2}, Shape{5, 4, 3}, Shape{2, 3, 4, 4}, Shape{0, 3, 4, 4}}) {
      samples.add({.inputs = {samples.random(type, shape, {.low = 0, .high = 200})}});
    }
  }
  samples.error({samples.random(uint8, {2, 3, 5})}, Code::kInvalidArgument);
  samples.error({samples.random(uint8, {2, 3})}, Code::kInvalidArgument);
  samples.error({samples.random(uint8, {0, 3, 3})}, Code::kInvalidArgument);
  samples.error({samples.random(uint8, {2, 3, 3})}, Code::kInvalidArgument, {{"compression", 10}});
}
CAUDAL_OP_SAMPLES(DecodePng) {
  for (const char* name : {"rgb.png", "rgba.png", "gray.png", "gray16.png"}) {
    const Tensor bytes(file(name));
    for (const int channels : {0, 1, 3, 4}) {
      for (const DType type : {uint8, uint16}) {
        samples.add({.inputs = {bytes},
                     .attrs = {{"channels", channels}, {"dtype", type}},
                     .expected = {decode_png(bytes.item<std::string>(), channels, type)},
                     .shape_unknown = true});
      }
    }
  }
  samples.add(
      {.inputs = {Tensor(file("gray.jpg"))}, .expected = {decode_jpeg(file("gray.jpg"))}, .shape_unknown = true});
  samples.error({Tensor("no picture")}, Code::kInvalidArgument);
  samples.error({Tensor(file("rgb.png").substr(0, 60))}, Code::kInvalidArgument);
  samples.error({Tensor("")}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<std::string>{"a", "b"})}, Code::kInvalidArgument);
  samples.error({Tensor(file("rgb.png"))}, Code::kInvalidArgument, {{"channels", 2}});
}

// Two frames of two pixels.
std::string animation(int frames = 2) {
  GifWriter writer(2, 1, 10);
  std::string bytes = writer.add(Tensor::from<std::uint8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  if (frames == 2) bytes += writer.add(Tensor::from<std::uint8_t>({1, 2, 3}, {7, 8, 9, 4, 5, 6}));
  return bytes + writer.finish();
}

// One pixel of three bytes.
const std::string kBitmap = std::string("BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0", 30) +
                            std::string(24, '\0') + std::string("\1\2\3\0", 4);
const Tensor kBitmapPixel = Tensor::from<std::uint8_t>({1, 1, 3}, {3, 2, 1});

CAUDAL_OP_SAMPLES(DecodeJpeg) {
  for (const char* name : {"gray.jpg", "q95.jpg", "prog.jpg"}) {
    const std::string bytes = file(name);
    for (const int channels : {0, 1, 3}) {
      for (const int ratio : {1, 2, 8}) {
        samples.add({.inputs = {Tensor(bytes)},
                     .attrs = {{"channels", channels}, {"ratio", ratio}, {"dct_method", "INTEGER_ACCURATE"}},
                     .expected = {decode_jpeg(bytes, {.channels = channels, .ratio = ratio, .accurate_dct = true})},
                     .shape_unknown = true});
      }
    }
  }
  const std::string cut = file("q95.jpg").substr(0, 900);
  samples.add({.inputs = {Tensor(cut)}, .attrs = {{"acceptable_fraction", 0.1F}}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(cut)}, .attrs = {{"try_recover_truncated", true}}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(file("rgb.png"))}, .expected = {decode_png(file("rgb.png"))}, .shape_unknown = true});
  const auto error = [&](const std::string& bytes, const AttrMap& attrs = {}) {
    samples.error({Tensor(bytes)}, Code::kInvalidArgument, attrs);
  };
  error(cut);
  error("");
  error("no picture");
  error(animation());
  error(kBitmap);
  error(file("q95.jpg"), {{"channels", 4}});
  error(file("q95.jpg"), {{"channels", -1}});
  error(file("q95.jpg"), {{"ratio", 3}});
  error(file("q95.jpg"), {{"dct_method", "FLOAT"}});
  samples.error({Tensor(std::vector<std::string>{"a"})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(DecodeAndCropJpeg) {
  const std::string bytes = file("q95.jpg");
  const auto window = [](int y, int x, int height, int width) { return Tensor(std::vector<int>{y, x, height, width}); };
  for (const int channels : {0, 1, 3}) {
    samples.add({.inputs = {Tensor(bytes), window(2, 3, 5, 4)},
                 .attrs = {{"channels", channels}},
                 .expected = {decode_jpeg(bytes, {.channels = channels, .crop = JpegCrop{2, 3, 5, 4}})},
                 .shape_unknown = channels == 0});
  }
  samples.error({Tensor(bytes), window(0, 0, 500, 1)}, Code::kInvalidArgument);
  samples.error({Tensor(bytes), window(-1, 0, 1, 1)}, Code::kInvalidArgument);
  samples.error({Tensor(bytes), Tensor(std::vector<int>{1, 2})}, Code::kInvalidArgument);
  samples.error({Tensor(file("rgb.png")), window(0, 0, 1, 1)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(ExtractJpegShape) {
  const JpegShape shape = jpeg_shape(file("q95.jpg"));
  const std::vector<std::int64_t> sizes = {shape.height, shape.width, shape.channels};
  samples.add({.inputs = {Tensor(file("q95.jpg"))}, .attrs = {{"output_type", int64}}, .expected = {Tensor(sizes)}});
  samples.add({.inputs = {Tensor(file("q95.jpg"))},
               .attrs = {{"output_type", int32}},
               .expected = {Tensor(std::vector<int>(sizes.begin(), sizes.end()))}});
  samples.error({Tensor("no picture")}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(EncodeJpeg) {
  for (const Shape& shape : {Shape{5, 9, 3}, Shape{4, 3, 1}}) {
    for (const bool flag : {false, true}) {
      samples.add({.inputs = {samples.random(uint8, shape, {.low = 0, .high = 255})},
                   .attrs = {{"format", shape[2] == 3 ? "rgb" : "grayscale"},
                             {"quality", 70},
                             {"progressive", flag},
                             {"optimize_size", flag},
                             {"chroma_downsampling", !flag},
                             {"density_unit", "cm"},
                             {"xmp_metadata", "<x/>"}}});
    }
  }
  samples.error({samples.random(uint8, {5, 4, 2})}, Code::kInvalidArgument);
  samples.error({samples.random(uint8, {5, 4, 3})}, Code::kInvalidArgument, {{"format", "grayscale"}});
  samples.error({samples.random(uint8, {5, 4, 3})}, Code::kInvalidArgument, {{"quality", 101}});
  samples.error({samples.random(uint8, {5, 4})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(EncodeJpegVariableQuality) {
  samples.add({.inputs = {samples.random(uint8, {5, 9, 3}, {.low = 0, .high = 255}), Tensor(30)}});
  samples.error({samples.random(uint8, {5, 4, 3}), Tensor(-1)}, Code::kInvalidArgument);
  samples.error({samples.random(uint8, {5, 4, 3}), Tensor(std::vector<int>{3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(DecodeGif) {
  samples.add({.inputs = {Tensor(animation())},
               .expected = {Tensor::from<std::uint8_t>({2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5, 6})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(file("rgb.png"))}, .shape_unknown = true});
  samples.error({Tensor("GIF89a")}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(DecodeBmp) {
  samples.add({.inputs = {Tensor(kBitmap)}, .expected = {kBitmapPixel}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(kBitmap)}, .attrs = {{"channels", 4}}, .shape_unknown = true});
  samples.error({Tensor(kBitmap)}, Code::kInvalidArgument, {{"channels", 1}});
  samples.error({Tensor(kBitmap.substr(0, 50))}, Code::kInvalidArgument);
  samples.error({Tensor(file("rgb.png"))}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(DecodeImage) {
  for (const std::string& bytes :
       {animation(), animation(1), kBitmap, file("rgb.png"), file("gray16.png"), file("q95.jpg")}) {
    for (const DType type : {uint8, uint16, float32}) {
      for (const bool expand : {true, false}) {
        samples.add({.inputs = {Tensor(bytes)},
                     .attrs = {{"dtype", type}, {"expand_animations", expand}},
                     .shape_unknown = true});
      }
    }
  }
  samples.add({.inputs = {Tensor(kBitmap)},
               .attrs = {{"dtype", uint16}},
               .expected = {Tensor::from<std::uint16_t>({1, 1, 3}, {768, 512, 256})},
               .shape_unknown = true});
  samples.error({Tensor("no picture")}, Code::kInvalidArgument);
  samples.error({Tensor(animation())}, Code::kInvalidArgument, {{"channels", 1}});
}

}  // namespace
}  // namespace caudal
