#include "caudal/formats/summary.h"

#include <cmath>

#include "caudal/base/error.h"
#include "caudal/formats/tensor_messages.h"

namespace caudal::inline v0 {
namespace {

// Fields of Summary.Value.
constexpr int kTag = 1, kSimpleValue = 2, kImage = 4, kHisto = 5, kAudio = 6, kNodeName = 7, kTensor = 8, kMetadata = 9;

std::string text_metadata() {
  WireWriter plugin;
  plugin.bytes(1, "text");
  WireWriter out;
  out.message(1, plugin);
  return std::move(out).str();
}

std::string decode_plugin(std::string_view metadata) {
  std::string name;
  for (WireReader reader(metadata, "summary metadata"); reader.next();) {
    if (reader.field() != 1) continue;
    for (WireReader plugin(reader.bytes(), "plugin data"); plugin.next();)
      if (plugin.field() == 1) name = plugin.bytes();
  }
  return name;
}

SummaryValue decode_value(std::string_view bytes) {
  using Kind = SummaryValue::Kind;
  SummaryValue out;
  for (WireReader reader(bytes, "summary value"); reader.next();) {
    switch (reader.field()) {
      case kTag:
        out.tag = reader.bytes();
        continue;
      case kMetadata:
        out.plugin = decode_plugin(reader.bytes());
        continue;
      case kSimpleValue:
        out.kind = Kind::kScalar;
        out.scalar = reader.float32();
        continue;
      case kImage:
        out.kind = Kind::kImage;
        break;
      case kHisto:
        out.kind = Kind::kHistogram;
        break;
      case kAudio:
        out.kind = Kind::kAudio;
        break;
      case kTensor:
        out.kind = Kind::kTensor;
        break;
      default:
        continue;
    }
    out.message = reader.bytes();
  }
  return out;
}

}  // namespace

void SummaryBuilder::add(std::string_view tag, int field, std::string_view message) {
  WireWriter value;
  value.bytes(kTag, tag);
  value.bytes(field, message);
  out_.message(1, value);
}

void SummaryBuilder::scalar(std::string_view tag, float value) {
  WireWriter message;
  message.bytes(kTag, tag);
  message.real(kSimpleValue, value);
  out_.message(1, message);
}

template <class T>
void SummaryBuilder::add_histogram(std::string_view tag, std::span<const T> values) {
  Histogram histogram;
  for (const T value : values) {
    if (!std::isfinite(value))
      throw invalid_argument(std::isnan(value) ? "Nan" : "Infinity", " in summary histogram for: ", tag);
    histogram.add(value);
  }
  this->histogram(tag, histogram);
}

void SummaryBuilder::histogram(std::string_view tag, std::span<const float> values) { add_histogram(tag, values); }
void SummaryBuilder::histogram(std::string_view tag, std::span<const double> values) { add_histogram(tag, values); }
void SummaryBuilder::histogram(std::string_view tag, const Histogram& histogram) {
  add(tag, kHisto, histogram.encode());
}

void SummaryBuilder::image(std::string_view tag, int height, int width, int channels, std::string_view encoded) {
  WireWriter image;
  image.varint(1, static_cast<uint64_t>(height));
  image.varint(2, static_cast<uint64_t>(width));
  image.varint(3, static_cast<uint64_t>(channels));
  image.bytes(4, encoded);
  add(tag, kImage, image.str());
}

void SummaryBuilder::audio(std::string_view tag, float sample_rate, int channels, int64_t frames,
                           std::string_view wav) {
  WireWriter audio;
  audio.real(1, sample_rate);
  audio.varint(2, static_cast<uint64_t>(channels));
  audio.varint(3, static_cast<uint64_t>(frames));
  audio.bytes(4, wav);
  audio.bytes(5, "audio/wav");
  add(tag, kAudio, audio.str());
}

void SummaryBuilder::text(std::string_view tag, std::string_view markdown) {
  tensor(tag, "", Tensor(std::string(markdown)), text_metadata());
}

void SummaryBuilder::tensor(std::string_view tag, std::string_view node_name, const Tensor& value,
                            std::optional<std::string_view> metadata) {
  WireWriter message;
  message.bytes_unless_default(kTag, tag);
  message.bytes_unless_default(kNodeName, node_name);
  message.message(kTensor, encode_tensor(value));
  if (metadata) message.bytes(kMetadata, *metadata);
  out_.message(1, message);
}

std::vector<SummaryValue> decode_summary(std::string_view bytes) {
  std::vector<SummaryValue> out;
  for (WireReader reader(bytes, "summary"); reader.next();)
    if (reader.field() == 1) out.push_back(decode_value(reader.bytes()));
  return out;
}

}  // namespace caudal::inline v0
