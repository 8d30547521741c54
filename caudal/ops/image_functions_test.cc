// The functions of image_geometry.h, image_adjust.h and image_metrics.h against TensorFlow 2.21
// (testdata/image/functions.npz, written by make_functions.py there).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/npy.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/image_adjust.h"
#include "caudal/ops/image_geometry.h"
#include "caudal/ops/image_metrics.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0 {
namespace {

using image::ResizeMethod;
using Make = std::function<Output()>;

class ImageFunctions : public ::testing::Test {
 protected:
  // The value of `make`, built once from constants and once from pictures whose sizes are not known.
  void expect(const std::string& name, const std::function<Output(const std::function<Output(const char*)>&)>& make,
              double tolerance = 1e-5) {
    ASSERT_TRUE(data_.contains(name)) << name;
    for (const bool known : {true, false}) {
      Graph graph;
      const GraphScope scope(graph);
      Feeds feeds;
      const auto input = [&](const char* key) {
        const Tensor& value = data_.at(key);
        const PartialShape shape =
            known ? PartialShape(value.shape())
                  : PartialShape::unknown_of_rank(value.rank()).with_dim(value.rank() - 1, value.shape()[-1]);
        const Output fed = placeholder(value.dtype(), shape);
        feeds.push_back({fed, value});
        return fed;
      };
      const Output made = make(input);
      Session session;
      check(name + (known ? "" : ", sizes unknown"), session.run(made, feeds), data_.at(name), tolerance);
    }
  }

  static void check(const std::string& name, const Tensor& got, const Tensor& want, double tolerance) {
    ASSERT_EQ(got.dtype(), want.dtype()) << name;
    ASSERT_EQ(got.shape(), want.shape()) << name;
    if (is_integer(got.dtype())) {
      EXPECT_TRUE(identical(got, want)) << name;
      return;
    }
    for (std::int64_t i = 0; i < got.num_elements(); ++i) {
      const double a = got.dtype() == float32 ? got.data<float>()[i] : got.data<double>()[i];
      const double b = got.dtype() == float32 ? want.data<float>()[i] : want.data<double>()[i];
      ASSERT_NEAR(a, b, tolerance * (1 + std::abs(b))) << name << " at " << i;
    }
  }

  const NamedTensors data_ = read_npz(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/image/functions.npz");
};

TEST_F(ImageFunctions, Resize) {
  const std::vector<std::pair<const char*, ResizeMethod>> methods = {
      {"bilinear", ResizeMethod::kBilinear}, {"nearest", ResizeMethod::kNearestNeighbor},
      {"bicubic", ResizeMethod::kBicubic},   {"area", ResizeMethod::kArea},
      {"lanczos3", ResizeMethod::kLanczos3}, {"lanczos5", ResizeMethod::kLanczos5},
      {"gaussian", ResizeMethod::kGaussian}, {"mitchellcubic", ResizeMethod::kMitchellCubic}};
  for (const auto& [name, method] : methods) {
    for (const bool antialias : {false, true}) {
      expect(std::string("resize/") + name + (antialias ? "/1" : "/0"), [&, m = method](const auto& input) {
        return image::resize(input("one"), {4, 9}, {.method = m, .antialias = antialias});
      });
    }
  }
  expect("resize/ratio", [](const auto& input) {
    return image::resize(input("two"), {9, 9}, {.preserve_aspect_ratio = true});
  });
  expect("resize_with_pad", [](const auto& input) { return image::resize_with_pad(input("one"), 9, 5); });
  expect("resize_with_pad/two", [](const auto& input) { return image::resize_with_pad(input("two"), 4, 12); });
}

TEST_F(ImageFunctions, CropsAndPads) {
  expect("resize_with_crop_or_pad",
         [](const auto& input) { return image::resize_with_crop_or_pad(input("one"), 9, 4); });
  expect("resize_with_crop_or_pad/two",
         [](const auto& input) { return image::resize_with_crop_or_pad(input("two"), 2, 11); });
  expect("central_crop", [](const auto& input) { return image::central_crop(input("one"), 0.4); });
  expect("crop_to_bounding_box",
         [](const auto& input) { return image::crop_to_bounding_box(input("two"), 1, 2, 3, 4); });
  expect("pad_to_bounding_box",
         [](const auto& input) { return image::pad_to_bounding_box(input("one"), 1, 2, 9, 10); });
}

TEST_F(ImageFunctions, WaysRound) {
  expect("flip_left_right", [](const auto& input) { return image::flip_left_right(input("one")); });
  expect("flip_up_down", [](const auto& input) { return image::flip_up_down(input("two")); });
  expect("transpose", [](const auto& input) { return image::transpose(input("one")); });
  for (int k = -1; k < 4; ++k) {
    expect("rot90/" + std::to_string(k), [k](const auto& input) { return image::rot90(input("one"), k); });
    expect("rot90/two/" + std::to_string(k), [k](const auto& input) { return image::rot90(input("two"), k); });
  }
  expect("rotate", [](const auto& input) { return image::rotate(input("one"), 0.4F, {.interpolation = "BILINEAR"}); });
  expect("translate", [](const auto& input) {
    return image::translate(input("one"), std::vector<float>{2, -1}, {.fill_value = 0.5F});
  });
}

TEST_F(ImageFunctions, Adjusts) {
  for (const char* key : {"one", "byte"}) {
    const std::string suffix = std::string("/") + key;
    expect("adjust_brightness" + suffix, [&](const auto& input) { return image::adjust_brightness(input(key), 0.3F); });
    expect("adjust_contrast" + suffix, [&](const auto& input) { return image::adjust_contrast(input(key), 1.7F); });
    expect("adjust_gamma" + suffix, [&](const auto& input) { return image::adjust_gamma(input(key), 0.8F, 0.9F); });
    expect("adjust_hue" + suffix, [&](const auto& input) { return image::adjust_hue(input(key), 0.3F); });
    expect("adjust_saturation" + suffix, [&](const auto& input) { return image::adjust_saturation(input(key), 0.4F); });
    expect("adjust_jpeg_quality" + suffix,
           [&](const auto& input) { return image::adjust_jpeg_quality(input(key), 60); });
    expect("per_image_standardization" + suffix,
           [&](const auto& input) { return image::per_image_standardization(input(key)); });
    expect("rgb_to_grayscale" + suffix, [&](const auto& input) { return image::rgb_to_grayscale(input(key)); });
  }
  expect("rgb_to_yiq", [](const auto& input) { return image::rgb_to_yiq(input("one")); });
  expect("yiq_to_rgb", [](const auto& input) { return image::yiq_to_rgb(input("one")); });
  expect("rgb_to_yuv", [](const auto& input) { return image::rgb_to_yuv(input("one")); });
  expect("yuv_to_rgb", [](const auto& input) { return image::yuv_to_rgb(input("one")); });
}

TEST_F(ImageFunctions, ConvertsTypes) {
  for (const bool saturate : {false, true}) {
    const std::string end = saturate ? "/1" : "/0";
    const auto convert = [&](const std::string& name, const char* key, DType dtype) {
      expect("convert/" + name + end,
             [&](const auto& input) { return image::convert_image_dtype(input(key), dtype, {.saturate = saturate}); });
    };
    convert("uint8", saturate ? "scaled" : "one", uint8);
    convert("int16", saturate ? "scaled" : "one", int16);
    convert("byte/uint16", "byte", uint16);
    convert("byte/int8", "byte", int8);
    convert("byte/int32", "byte", int32);
  }
  expect("convert/int32/1",
         [](const auto& input) { return image::convert_image_dtype(input("scaled"), int32, {.saturate = true}); });
  expect(
      "convert/byte/double", [](const auto& input) { return image::convert_image_dtype(input("byte"), float64); },
      1e-12);
}

TEST_F(ImageFunctions, Measures) {
  expect("psnr", [](const auto& input) { return image::psnr(input("x"), input("y"), 1.0F); });
  expect("psnr/byte", [](const auto& input) { return image::psnr(input("bx"), input("by"), 255); });
  expect("ssim", [](const auto& input) { return image::ssim(input("x"), input("y"), 1.0F); });
  expect("ssim_multiscale", [](const auto& input) {
    return image::ssim_multiscale(input("x"), input("y"), 1.0F,
                                  {.power_factors = {0.3F, 0.4F, 0.3F}, .filter_size = 5});
  });
  expect("total_variation", [](const auto& input) { return image::total_variation(input("x")); });
  expect("total_variation/one", [](const auto& input) { return image::total_variation(input("one")); });
  expect("image_gradients/dy", [](const auto& input) { return image::image_gradients(input("x")).dy; });
  expect("image_gradients/dx", [](const auto& input) { return image::image_gradients(input("x")).dx; });
  expect("sobel_edges", [](const auto& input) { return image::sobel_edges(input("x")); });
}

// The same seeds draw what TensorFlow draws, run after run.
TEST_F(ImageFunctions, SeedsAreTensorFlows) {
  const auto seeded = [&](const std::string& name, const std::function<Output()>& make) {
    Graph graph;
    const GraphScope scope(graph);
    const Output made = make();
    Session session;
    for (int run = 0; run < 2; ++run) {
      const std::string key = "seeded/" + name + "/" + std::to_string(run);
      check(key, session.run(made), data_.at(key), 1e-5);
    }
  };
  const auto value = [&](const char* key) { return constant(data_.at(key)); };
  seeded("random_flip_left_right", [&] { return image::random_flip_left_right(value("one"), {.seed = 11}); });
  seeded("random_flip_left_right/two", [&] { return image::random_flip_left_right(value("two"), {.seed = 12}); });
  seeded("random_crop", [&] { return image::random_crop(value("one"), {3, 4, 3}, {.seed = 13}); });
  seeded("random_flip_up_down", [&] { return image::random_flip_up_down(value("one"), {.seed = 14}); });
  seeded("random_brightness", [&] { return image::random_brightness(value("one"), 0.3F, {.seed = 15}); });
  seeded("random_contrast", [&] { return image::random_contrast(value("byte"), 0.3F, 1.8F, {.seed = 16}); });
  seeded("random_hue", [&] { return image::random_hue(value("one"), 0.2F, {.seed = 17}); });
  seeded("random_saturation", [&] { return image::random_saturation(value("byte"), 0.3F, 1.8F, {.seed = 18}); });
  seeded("random_jpeg_quality", [&] { return image::random_jpeg_quality(value("one"), 20, 70, {.seed = 19}); });
}

TEST_F(ImageFunctions, StatelessSeedsAreTensorFlows) {
  const std::vector<int> seed = {7, 11};
  expect("stateless_random_flip_left_right",
         [&](const auto& input) { return image::stateless_random_flip_left_right(input("two"), seed); });
  expect("stateless_random_flip_up_down",
         [&](const auto& input) { return image::stateless_random_flip_up_down(input("two"), seed); });
  expect("stateless_random_crop", [&](const auto& input) {
    return image::stateless_random_crop(input("one"), {3, 4, 3}, seed);
  });
  expect("stateless_random_brightness",
         [&](const auto& input) { return image::stateless_random_brightness(input("one"), 0.3F, seed); });
  expect("stateless_random_contrast",
         [&](const auto& input) { return image::stateless_random_contrast(input("byte"), 0.3F, 1.8F, seed); });
  expect("stateless_random_hue",
         [&](const auto& input) { return image::stateless_random_hue(input("one"), 0.2F, seed); });
  expect("stateless_random_saturation",
         [&](const auto& input) { return image::stateless_random_saturation(input("byte"), 0.3F, 1.8F, seed); });
  expect("stateless_random_jpeg_quality",
         [&](const auto& input) { return image::stateless_random_jpeg_quality(input("one"), 20, 70, seed); });
}

TEST_F(ImageFunctions, NoiseHasItsDeviation) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Tensor noisy =
      session.run(image::gaussian_noise(constant(Tensor::zeros(float32, {50, 50, 3})), 0.5F, {.seed = 1}));
  double sum = 0, squares = 0;
  for (const float x : noisy.flat<float>()) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  EXPECT_NEAR(sum / 7500, 0, 0.03);
  EXPECT_NEAR(squares / 7500, 0.25, 0.02);
}

TEST_F(ImageFunctions, RefusesWhatCannotBe) {
  Graph graph;
  const GraphScope scope(graph);
  const Output one = constant(data_.at("one")), flat = constant(Tensor::zeros(float32, {4, 4}));
  const auto refused = [](const Make& make) {
    try {
      make();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
      return;
    }
    ADD_FAILURE() << "no error";
  };
  refused([&] { return image::flip_left_right(flat); });
  refused([&] { return image::resize(placeholder(float32), {2, 2}); });
  refused([&] { return image::central_crop(one, 0); });
  refused([&] { return image::central_crop(one, 1.5); });
  refused([&] { return image::crop_to_bounding_box(one, 3, 0, 4, 4); });
  refused([&] { return image::crop_to_bounding_box(one, -1, 0, 4, 4); });
  refused([&] { return image::pad_to_bounding_box(one, 0, 0, 4, 40); });
  refused([&] { return image::resize_with_crop_or_pad(one, 0, 4); });
  refused([&] { return image::random_brightness(one, -1); });
  refused([&] { return image::random_contrast(one, 0.5F, 0.5F); });
  refused([&] { return image::random_hue(one, 0.6F); });
  refused([&] { return image::random_jpeg_quality(one, 50, 101); });
  refused([&] { return image::adjust_gamma(one, -1); });
  refused([&] { return image::grayscale_to_rgb(one); });
  refused([&] { return image::psnr(one, flat, 1); });
  refused([&] { return image::ssim(one, one, 1); });  // smaller than the window
  refused([&] { return image::total_variation(flat); });
  refused([&] { return image::sobel_edges(one); });
}

}  // namespace
}  // namespace caudal::inline v0
