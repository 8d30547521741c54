// Summary messages: what TensorBoard shows, as the values of one step.
//
//   SummaryBuilder summary;
//   summary.scalar("loss", 0.3f);
//   summary.histogram("hidden/kernel", weights);
//   events.write_summary(summary.encode(), step);
//
// Message Summary of tensorflow/core/framework/summary.proto, encoded by hand.
// Thread safety: one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/formats/histogram.h"
#include "caudal/formats/wire.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API SummaryBuilder {
 public:
  // Shown as a curve (simple_value).
  void scalar(std::string_view tag, float value);
  // INVALID_ARGUMENT "Nan in summary histogram for: TAG" (or "Infinity in ...") as TensorFlow words it; nothing is
  // added then.
  void histogram(std::string_view tag, std::span<const float> values);
  void histogram(std::string_view tag, std::span<const double> values);
  void histogram(std::string_view tag, const Histogram& histogram);
  // An encoded picture, usually PNG. channels: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA.
  void image(std::string_view tag, int height, int width, int channels, std::string_view encoded);
  // A WAV file.
  void audio(std::string_view tag, float sample_rate, int channels, int64_t frames, std::string_view wav);
  // Markdown text.
  void text(std::string_view tag, std::string_view markdown);

  // Any tensor (tensor_messages.h), with SummaryMetadata; tag or name of a node may be empty.
  void tensor(std::string_view tag, std::string_view node_name, const Tensor& value,
              std::optional<std::string_view> metadata = {});

  bool empty() const { return out_.str().empty(); }
  // The Summary message of all values so far.
  const std::string& encode() const { return out_.str(); }

 private:
  template <class T>
  void add_histogram(std::string_view tag, std::span<const T> values);
  void add(std::string_view tag, int field, std::string_view message);

  WireWriter out_;
};

// One value of a Summary, as far as its kind is known here.
struct SummaryValue {
  enum class Kind { kNone, kScalar, kHistogram, kImage, kAudio, kTensor };
  std::string tag;
  std::string plugin;  // for tensors: "scalars", "text", ...; often on the first value of a tag only
  Kind kind = Kind::kNone;
  float scalar = 0;
  std::string message;  // HistogramProto, Image, Audio or TensorProto
};

// DATA_LOSS if malformed.
CAUDAL_API std::vector<SummaryValue> decode_summary(std::string_view bytes);

}  // namespace caudal::inline v0
