#include "caudal/formats/plugin_summary.h"

#include <algorithm>
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/formats/summary.h"
#include "caudal/formats/wire.h"

namespace caudal::inline v0 {

using DataClass = SummaryMetadata::DataClass;

std::string SummaryMetadata::encode() const {
  WireWriter data;
  data.bytes(1, plugin);
  data.bytes_unless_default(2, content);
  WireWriter out;
  out.message(1, data);
  out.bytes_unless_default(2, display_name);
  out.bytes_unless_default(3, description);
  out.varint_unless_default(4, static_cast<uint64_t>(data_class));
  return std::move(out).str();
}

namespace plugin_summary {

std::string tensor(std::string_view tag, const Tensor& value, const SummaryMetadata& metadata) {
  SummaryBuilder summary;
  summary.tensor(tag, "", value, metadata.encode());
  return summary.encode();
}

std::string scalar(std::string_view tag, float value) {
  return tensor(tag, Tensor(value), {.plugin = "scalars", .data_class = DataClass::kScalar});
}

std::string histogram(std::string_view tag, std::span<const float> values, int buckets) {
  const std::vector<double> wide(values.begin(), values.end());
  return histogram(tag, std::span<const double>(wide), buckets);
}

std::string histogram(std::string_view tag, std::span<const double> values, int buckets) {
  if (buckets < 1) throw invalid_argument("a histogram needs a bucket or more, not ", buckets, ", for: ", tag);
  for (const double value : values) {
    if (std::isfinite(value)) continue;
    throw invalid_argument(std::isnan(value) ? "Nan" : "Infinity", " in summary histogram for: ", tag);
  }
  Tensor rows = Tensor::zeros(float64, {buckets, 3});
  if (!values.empty()) {
    const auto [least, most] = std::ranges::minmax(values);
    const double width = (most - least) / buckets;
    double* row = rows.data<double>();
    for (int i = 0; i < buckets; ++i) {
      row[3 * i] = least + i * width;
      row[3 * i + 1] = i + 1 < buckets ? least + (i + 1) * width : most;
    }
    for (const double value : values) {
      const double at = width > 0 ? std::floor((value - least) / width) : buckets - 1;
      row[3 * static_cast<int>(std::min<double>(at, buckets - 1)) + 2] += 1;
    }
  }
  return tensor(tag, rows, {.plugin = "histograms", .data_class = DataClass::kTensor});
}

std::string images(std::string_view tag, int width, int height, const std::vector<std::string>& encoded) {
  std::vector<std::string> parts = {std::to_string(width), std::to_string(height)};
  parts.insert(parts.end(), encoded.begin(), encoded.end());
  return tensor(tag, Tensor(parts), {.plugin = "images", .data_class = DataClass::kBlobSequence});
}

std::string audio(std::string_view tag, const std::vector<std::string>& wavs, const std::vector<std::string>& labels) {
  if (!labels.empty() && labels.size() != wavs.size()) {
    throw invalid_argument(wavs.size(), " sounds with ", labels.size(), " labels for: ", tag);
  }
  constexpr uint64_t kWav = 11;
  WireWriter content;
  content.varint(2, kWav);
  Tensor rows(string, {static_cast<int64_t>(wavs.size()), 2});
  for (size_t i = 0; i < wavs.size(); ++i) {
    rows.data<std::string>()[2 * i] = wavs[i];
    if (!labels.empty()) rows.data<std::string>()[2 * i + 1] = labels[i];
  }
  return tensor(tag, rows, {.plugin = "audio", .content = content.str(), .data_class = DataClass::kBlobSequence});
}

std::string text(std::string_view tag, const Tensor& texts) {
  if (texts.dtype() != string) throw invalid_argument("a text is strings, not ", texts.describe(), ", for: ", tag);
  return tensor(tag, texts, {.plugin = "text", .data_class = DataClass::kTensor});
}

std::string pr_curve(std::string_view tag, const std::vector<bool>& labels, std::span<const float> predictions,
                     int thresholds) {
  if (labels.size() != predictions.size()) {
    throw invalid_argument(labels.size(), " labels with ", predictions.size(), " predictions for: ", tag);
  }
  if (thresholds < 2) throw invalid_argument("a curve needs two thresholds or more, not ", thresholds, ", for: ", tag);
  // Counts of what lies at a threshold or above, positives and negatives.
  std::vector<double> positives(thresholds), negatives(thresholds);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!(predictions[i] >= 0 && predictions[i] <= 1)) {
      throw invalid_argument("a prediction is ", predictions[i], ", not in 0..1, for: ", tag);
    }
    (labels[i] ? positives : negatives)[static_cast<int>(std::floor(predictions[i] * (thresholds - 1)))] += 1;
  }
  for (std::vector<double>* counts : {&positives, &negatives}) {
    for (int i = thresholds - 2; i >= 0; --i) (*counts)[i] += (*counts)[i + 1];
  }
  constexpr double kLeast = 1e-7;  // instead of no count at all
  Tensor rows(float32, {6, thresholds});
  for (int i = 0; i < thresholds; ++i) {
    const double tp = positives[i], fp = negatives[i], tn = negatives[0] - fp, fn = positives[0] - tp;
    const double column[] = {tp, fp, tn, fn, tp / std::max(kLeast, tp + fp), tp / std::max(kLeast, tp + fn)};
    for (int row = 0; row < 6; ++row) rows.data<float>()[row * thresholds + i] = static_cast<float>(column[row]);
  }
  WireWriter content;
  content.varint(2, static_cast<uint64_t>(thresholds));
  return tensor(tag, rows, {.plugin = "pr_curves", .content = content.str(), .data_class = DataClass::kTensor});
}

}  // namespace plugin_summary
}  // namespace caudal::inline v0
