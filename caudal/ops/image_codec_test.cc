#include "caudal/ops/image_codec.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
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
    for (const int channels : {0, 1, 2, 3, 4}) {
      for (const DType type : {uint8, uint16}) {
        samples.add({.inputs = {bytes},
                     .attrs = {{"channels", channels}, {"dtype", type}},
                     .expected = {decode_png(bytes.item<std::string>(), channels, type)},
                     .shape_unknown = true});
      }
    }
  }
  samples.error({Tensor("no picture")}, Code::kInvalidArgument);
  samples.error({Tensor(file("rgb.png").substr(0, 60))}, Code::kInvalidArgument);
  samples.error({Tensor("")}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<std::string>{"a", "b"})}, Code::kInvalidArgument);
  samples.error({Tensor(file("rgb.png"))}, Code::kInvalidArgument, {{"channels", 5}});
}

}  // namespace
}  // namespace caudal
