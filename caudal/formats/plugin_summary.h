// Summaries in the form of TensorFlow 2: a tensor, and which part of TensorBoard shows it. Each function gives a
// Summary message of one value for EventWriter::write_summary; messages one after another are one with all the values.
//
//   events.write_summary(plugin_summary::scalar("loss", 0.3F) + plugin_summary::histogram("w", weights), step);
//
// What tf.summary.scalar, histogram, image, audio and text write, and TensorBoard's pr_curves. The older form of
// formats/summary.h is shown as well. Thread safety: functions of their arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// SummaryMetadata of tensorflow/core/framework/summary.proto.
struct SummaryMetadata {
  enum class DataClass { kUnknown = 0, kScalar = 1, kTensor = 2, kBlobSequence = 3 };
  std::string plugin;
  std::string content = {};  // what the plugin wants to know, often nothing
  std::string display_name = {}, description = {};
  DataClass data_class = DataClass::kUnknown;

  CAUDAL_API std::string encode() const;
};

namespace plugin_summary {

// Any tensor. UNIMPLEMENTED for resources and variants.
CAUDAL_API std::string tensor(std::string_view tag, const Tensor& value, const SummaryMetadata& metadata);
// A point of a curve.
CAUDAL_API std::string scalar(std::string_view tag, float value);
// How many of the values lie in each of `buckets` equal parts between least and greatest: rows of left end, right end,
// count. All in the last one if all are equal. INVALID_ARGUMENT for NaN and infinities, and for less than one bucket.
CAUDAL_API std::string histogram(std::string_view tag, std::span<const float> values, int buckets = 30);
CAUDAL_API std::string histogram(std::string_view tag, std::span<const double> values, int buckets = 30);
// Encoded pictures of one size, usually PNG.
CAUDAL_API std::string images(std::string_view tag, int width, int height, const std::vector<std::string>& encoded);
// WAV files, each with a text in Markdown if `labels` are given. INVALID_ARGUMENT unless there are as many.
CAUDAL_API std::string audio(std::string_view tag, const std::vector<std::string>& wavs,
                             const std::vector<std::string>& labels = {});
// Markdown; a vector or matrix is shown as a table. `texts`: strings of any shape.
CAUDAL_API std::string text(std::string_view tag, const Tensor& texts);
// Precision and recall of a classifier at `thresholds` thresholds between 0 and 1: what TensorBoard's
// summary.v1.pr_curve computes. INVALID_ARGUMENT unless the lists are as long as each other, the predictions lie in
// 0..1, and there are two thresholds or more.
CAUDAL_API std::string pr_curve(std::string_view tag, const std::vector<bool>& labels,
                                std::span<const float> predictions, int thresholds = 201);

}  // namespace plugin_summary
}  // namespace caudal::inline v0
