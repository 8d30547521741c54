#include "caudal/ops/summary_values.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/png.h"
#include "caudal/kernels/dispatch.h"

namespace caudal::inline v0::summary_values {
namespace {

template <class T>
double number(T value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
  return static_cast<double>(static_cast<float>(value));
}

// "tag/image" for the only one, "tag/image/2" among several.
std::string numbered(const std::string& tag, const char* kind, std::int64_t i, std::int64_t most) {
  return most == 1 ? tag + "/" + kind : internal::concat(tag, "/", kind, "/", i);
}

// One picture of numbers as bytes, by TensorFlow's rule: the largest magnitude of the finite pixels becomes 255 (or 1
// and 255 around 128, if there are negative ones).
Tensor picture_of(const std::vector<double>& pixels, const Shape& shape, const Tensor& bad_color) {
  const auto depth = static_cast<std::size_t>(shape[2]);
  const auto finite = [&](std::size_t at) {
    return std::all_of(pixels.begin() + static_cast<std::ptrdiff_t>(at),
                       pixels.begin() + static_cast<std::ptrdiff_t>(at + depth),
                       [](double x) { return std::isfinite(x); });
  };
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (std::size_t at = 0; at < pixels.size(); at += depth) {
    if (!finite(at)) continue;
    for (std::size_t k = at; k < at + depth; ++k) low = std::min(low, pixels[k]), high = std::max(high, pixels[k]);
  }
  constexpr double kFlat = 1e-6;
  const double largest = low < 0 ? std::max(std::abs(low), std::abs(high)) : high;
  const float scale =
      largest < kFlat ? 0.0F : static_cast<float>((low < 0 ? 127.0F : 255.0F) / static_cast<float>(largest));
  const float offset = low < 0 ? 128.0F : 0.0F;
  Tensor picture(uint8, shape);
  std::uint8_t* out = picture.data<std::uint8_t>();
  for (std::size_t at = 0; at < pixels.size(); at += depth) {
    const bool good = finite(at);
    for (std::size_t k = 0; k < depth; ++k) {
      out[at + k] = good ? static_cast<std::uint8_t>(static_cast<float>(pixels[at + k]) * scale + offset)
                         : bad_color.data<std::uint8_t>()[k];
    }
  }
  return picture;
}

// Microsoft's WAVE format: a header of 44 bytes and 16-bit samples.
std::string encode_wav(std::span<const float> samples, std::int64_t channels, std::uint32_t rate) {
  static constexpr std::uint32_t kHeaderAfterSize = 36, kFormatBytes = 16;
  static constexpr std::uint16_t kPcm = 1, kBits = 16;
  const auto bytes = static_cast<std::uint32_t>(2 * samples.size());
  const auto frame_bytes = static_cast<std::uint16_t>(2 * channels);
  std::string out = "RIFF";
  put_fixed(&out, kHeaderAfterSize + bytes);
  out += "WAVEfmt ";
  put_fixed(&out, kFormatBytes);
  put_fixed(&out, kPcm);
  put_fixed(&out, static_cast<std::uint16_t>(channels));
  put_fixed(&out, rate);
  put_fixed(&out, rate * frame_bytes);
  put_fixed(&out, frame_bytes);
  put_fixed(&out, kBits);
  out += "data";
  put_fixed(&out, bytes);
  for (const float sample : samples) {
    const float scaled = std::isnan(sample) ? 0.0F : std::clamp(sample * 32768.0F, -32768.0F, 32767.0F);
    put_fixed(&out, static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(scaled))));
  }
  return out;
}

}  // namespace

std::vector<double> numbers(const Tensor& values) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(values.num_elements()));
  if (values.dtype() == boolean) {
    for (const bool value : values.flat<bool>()) out.push_back(value ? 1 : 0);
    return out;
  }
  kernels::dispatch(kernels::RealTypes{}, values.dtype(), "a summary", [&]<class T>() {
    for (const T value : values.flat<T>()) out.push_back(number(value));
  });
  return out;
}

float scalar(const Tensor& value, const char* argument) {
  if (value.rank() != 0) throw invalid_argument(argument, " must be a scalar, not ", value.describe());
  return value.item<float>();
}

void add_histogram(const std::string& tag, const Tensor& values, SummaryBuilder* summary) {
  if (values.dtype() == float32) {
    summary->histogram(tag, values.flat<float>());
  } else {
    summary->histogram(tag, std::span<const double>(numbers(values)));
  }
}

void add_images(const std::string& tag, const Tensor& batch, const Tensor& bad_color, std::int64_t most,
                SummaryBuilder* summary) {
  if (batch.rank() != 4 || (batch.dim(3) != 1 && batch.dim(3) != 3 && batch.dim(3) != 4)) {
    throw invalid_argument("the pictures are ", batch.describe(), "; [batch, height, width, 1, 3 or 4] is wanted");
  }
  if (bad_color.dtype() != uint8 || bad_color.rank() != 1 || bad_color.dim(0) < batch.dim(3)) {
    throw invalid_argument("bad_color is ", bad_color.describe(), "; uint8[", batch.dim(3), "] is wanted");
  }
  const std::int64_t count = std::min(most, batch.dim(0));
  const Shape shape{batch.dim(1), batch.dim(2), batch.dim(3)};
  if (shape.num_elements() == 0) throw invalid_argument("the pictures ", batch.describe(), " are empty");
  for (std::int64_t i = 0; i < count; ++i) {
    Tensor picture = batch.rows(i, i + 1).reshape(shape);
    if (picture.dtype() != uint8) picture = picture_of(numbers(picture), shape, bad_color);
    summary->image(numbered(tag, "image", i, most), static_cast<int>(shape[0]), static_cast<int>(shape[1]),
                   static_cast<int>(shape[2]), encode_png(picture));
  }
}

void add_audio(const std::string& tag, const Tensor& batch, float sample_rate, std::int64_t most,
               SummaryBuilder* summary) {
  if (batch.rank() != 2 && batch.rank() != 3) {
    throw invalid_argument("the sounds are ", batch.describe(),
                           "; [batch, frames] or [batch, frames, channels] is wanted");
  }
  if (!(sample_rate > 0.0F && sample_rate < 1e9F)) {
    throw invalid_argument("sample_rate must be above 0, not ", sample_rate);
  }
  const std::int64_t frames = batch.dim(1), channels = batch.rank() == 3 ? batch.dim(2) : 1;
  if (channels < 1 || channels > 255) throw invalid_argument("the sounds have ", channels, " channels");
  if (frames * channels > INT32_MAX / 4) throw invalid_argument("the sounds ", batch.describe(), " are too long");
  const auto size = static_cast<std::size_t>(frames * channels);
  const std::span<const float> samples = batch.flat<float>();
  for (std::int64_t i = 0; i < std::min(most, batch.dim(0)); ++i) {
    const std::string wav = encode_wav(samples.subspan(static_cast<std::size_t>(i) * size, size), channels,
                                       static_cast<std::uint32_t>(std::lround(sample_rate)));
    summary->audio(numbered(tag, "audio", i, most), sample_rate, static_cast<int>(channels), frames, wav);
  }
}

}  // namespace caudal::inline v0::summary_values
