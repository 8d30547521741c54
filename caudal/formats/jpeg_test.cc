// Against pictures and decoded arrays of TensorFlow 2.21 (testdata/golden/records/codecs).
#include "caudal/formats/jpeg.h"

#include <gtest/gtest.h>

#include <string>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/npy.h"

namespace caudal {
namespace {

std::string codec_file(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/records/codecs/" + name;
}

template <class Fn>
Code code_of(const Fn& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}
Code decode_code(const std::string& bytes, const JpegDecodeOptions& options = {}) {
  return code_of([&] { decode_jpeg(bytes, options); });
}

// Slopes, which JPEG keeps well.
Tensor slopes(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Tensor picture(uint8, {height, width, channels});
  for (std::int64_t i = 0; i < picture.num_elements(); ++i) {
    const std::int64_t y = i / channels / width, x = i / channels % width;
    picture.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(40 + 2 * y + 3 * x + 20 * (i % channels));
  }
  return picture;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  int most = 0;
  for (std::int64_t i = 0; i < a.num_elements(); ++i) {
    most = std::max(most, std::abs(a.data<std::uint8_t>()[i] - b.data<std::uint8_t>()[i]));
  }
  return most;
}

TEST(Jpeg, DecodesAsTensorFlow) {
  const NamedTensors expected = read_npz(default_env(), codec_file("expected.npz"));
  int compared = 0;
  for (const auto& [name, value] : expected) {
    const std::size_t slash = name.find(".jpg/");
    if (slash == std::string::npos) continue;
    const std::string bytes = read_file(default_env(), codec_file(name.substr(0, slash + 4)));
    const std::string variant = name.substr(slash + 5);
    JpegDecodeOptions options;
    options.accurate_dct = variant != "INTEGER_FAST";
    options.fancy_upscaling = variant != "no_fancy";
    options.ratio = variant == "ratio2" ? 2 : 1;
    const Tensor got = decode_jpeg(bytes, options);
    EXPECT_TRUE(identical(got, value)) << name << " " << got.describe() << " " << value.describe();
    if (options.ratio == 1) {
      const JpegShape shape = jpeg_shape(bytes);
      EXPECT_EQ((Shape{shape.height, shape.width, shape.channels}), value.shape()) << name;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 16);
}

TEST(Jpeg, PicturesSurvive) {
  for (const int channels : {1, 3}) {
    const Tensor picture = slopes(20, 33, channels);
    for (const bool progressive : {false, true}) {
      const std::string bytes = encode_jpeg(
          picture, {.quality = 98, .progressive = progressive, .optimize_size = true, .chroma_downsampling = false});
      EXPECT_TRUE(is_jpeg(bytes));
      EXPECT_LE(largest_difference(decode_jpeg(bytes, {.accurate_dct = true}), picture), 3);
    }
  }
}

TEST(Jpeg, CutsAWindow) {
  const std::string bytes = encode_jpeg(slopes(40, 50, 3), {.quality = 95, .chroma_downsampling = false});
  const Tensor whole = decode_jpeg(bytes);
  const Tensor window = decode_jpeg(bytes, {.crop = JpegCrop{7, 21, 20, 9}});
  ASSERT_EQ(window.shape(), (Shape{20, 9, 3}));
  for (std::int64_t y = 0; y < 20; ++y) {
    for (std::int64_t x = 0; x < 9; ++x) {
      EXPECT_EQ(window.at<std::uint8_t>(y, x, 1), whole.at<std::uint8_t>(y + 7, x + 21, 1)) << y << " " << x;
    }
  }
  for (const JpegCrop& bad :
       {JpegCrop{0, 0, 41, 1}, {-1, 0, 2, 2}, {0, 50, 1, 1}, {0, 0, 0, 3}, {INT64_MAX, 0, INT64_MAX, 1}}) {
    EXPECT_EQ(decode_code(bytes, {.crop = bad}), Code::kInvalidArgument);
  }
}

TEST(Jpeg, ShrinksWhileDecoding) {
  const std::string bytes = encode_jpeg(slopes(40, 50, 3));
  for (const int ratio : {1, 2, 4, 8}) {
    EXPECT_EQ(decode_jpeg(bytes, {.channels = 1, .ratio = ratio}).shape(),
              (Shape{(40 + ratio - 1) / ratio, (50 + ratio - 1) / ratio, 1}));
  }
  EXPECT_EQ(decode_code(bytes, {.ratio = 3}), Code::kInvalidArgument);
  EXPECT_EQ(decode_code(bytes, {.channels = 4}), Code::kInvalidArgument);
}

TEST(Jpeg, TakesWhatIsLeftOfACutFile) {
  const std::string bytes = encode_jpeg(slopes(200, 100, 3));
  const std::string cut = bytes.substr(0, bytes.size() * 2 / 3);
  EXPECT_EQ(decode_code(cut), Code::kDataLoss);
  EXPECT_EQ(decode_code(cut, {.acceptable_fraction = 0.95F}), Code::kDataLoss);
  const Tensor part = decode_jpeg(cut, {.acceptable_fraction = 0.3F});
  const Tensor whole = decode_jpeg(bytes);
  EXPECT_EQ(part.at<std::uint8_t>(10, 10, 0), whole.at<std::uint8_t>(10, 10, 0));
  EXPECT_EQ(part.at<std::uint8_t>(199, 10, 0), 0);
  EXPECT_NE(decode_jpeg(cut, {.try_recover_truncated = true}).at<std::uint8_t>(199, 10, 0), 0);
}

// TensorFlow hangs on some cut files: the bytes before the end are asked for again and again.
TEST(Jpeg, RecoveryComesToAnEnd) {
  for (const char* name : {"q95.jpg", "prog.jpg", "gray.jpg"}) {
    const std::string bytes = read_file(default_env(), codec_file(name));
    int recovered = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Code code = decode_code(bytes.substr(0, size), {.try_recover_truncated = true});
      EXPECT_TRUE(code == Code::kOk || code == Code::kDataLoss) << name << " " << size;
      recovered += code == Code::kOk ? 1 : 0;
    }
    EXPECT_GT(recovered, 10) << name;
  }
}

TEST(Jpeg, DamagedFilesAreErrors) {
  const std::string bytes = encode_jpeg(slopes(30, 40, 3));
  EXPECT_EQ(decode_code(""), Code::kDataLoss);
  EXPECT_EQ(decode_code("no picture"), Code::kDataLoss);
  EXPECT_EQ(code_of([] { jpeg_shape("\xff\xd8\xff"); }), Code::kDataLoss);
  for (std::size_t size = 0; size < bytes.size() - 1; size += 7) {
    EXPECT_EQ(decode_code(bytes.substr(0, size)), Code::kDataLoss) << size;
  }
  // A header that promises more pixels than the bytes can hold.
  std::string huge = bytes;
  const std::size_t sizes = huge.find("\xff\xc0") + 5;
  huge.replace(sizes, 4, std::string("\xff\xdc\xff\xdc", 4));
  EXPECT_EQ(decode_code(huge), Code::kDataLoss);
}

TEST(Jpeg, RefusesWhatIsNoPicture) {
  const auto code = [](const Tensor& picture, const JpegEncodeOptions& options = {}) {
    return code_of([&] { encode_jpeg(picture, options); });
  };
  EXPECT_EQ(code(slopes(2, 2, 2)), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor(uint8, {0, 2, 3})), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor::zeros(uint8, {1, 70000, 1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor::zeros(uint16, {2, 2, 1})), Code::kInvalidArgument);
  EXPECT_EQ(code(slopes(2, 2, 1), {.quality = 101}), Code::kInvalidArgument);
  EXPECT_EQ(code(slopes(2, 2, 1), {.xmp_metadata = std::string(70000, 'x')}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal
