// Summaries: values of a step for TensorBoard, as encoded Summary messages that a FileWriter (io) writes.
//
//   tf::summary::scalar("loss", loss);
//   tf::summary::histogram("hidden/kernel", w);
//   auto all = tf::summary::merge_all();
//   writer.add_summary(sess.run(all), step);
//
// A summary's tag is its name with the name scopes in force. Each summary is added to the collection of summaries (or
// to those given). Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/collection.h"

namespace caudal::inline v0 {
namespace summary {

struct SummaryOptions {
  std::vector<std::string> collections = {std::string(graph_keys::kSummaries)};
  std::string family = {};  // put before the tag: groups charts
  std::source_location where = std::source_location::current();
};
// One number. `tensor`: a real scalar. Result: string scalar, as of all functions below.
CAUDAL_API Output scalar(std::string_view name, const Operand& tensor, const SummaryOptions& options = {});
// The distribution of the values, any shape, any real type. Run time error: INVALID_ARGUMENT "Nan in summary histogram
// for: TAG" if one is NaN or infinite.
CAUDAL_API Output histogram(std::string_view name, const Operand& values, const SummaryOptions& options = {});

struct ImageSummaryOptions {
  std::int64_t max_outputs = 3;
  std::vector<std::string> collections = {std::string(graph_keys::kSummaries)};
  std::string family = {};
  std::source_location where = std::source_location::current();
};
// The first pictures of a batch, [batch, height, width, channels] with 1 (gray), 3 (RGB) or 4 (RGBA) channels. uint8 as
// they are; half, float32 and float64 are scaled to 0..255, with 128 for zero if there are negative values; pixels that
// are not finite become red.
CAUDAL_API Output image(std::string_view name, const Operand& tensor, const ImageSummaryOptions& options = {});

struct AudioSummaryOptions {
  std::int64_t max_outputs = 3;
  std::vector<std::string> collections = {std::string(graph_keys::kSummaries)};
  std::string family = {};
  std::source_location where = std::source_location::current();
};
// The first sounds of a batch, float32 [batch, frames] or [batch, frames, channels] in -1 to 1, at `sample_rate` in
// Hertz.
CAUDAL_API Output audio(std::string_view name, const Operand& tensor, const Operand& sample_rate,
                        const AudioSummaryOptions& options = {});

struct TextSummaryOptions {
  std::vector<std::string> collections = {std::string(graph_keys::kSummaries)};
  std::source_location where = std::source_location::current();
};
// Markdown text: a string, or a table of them.
CAUDAL_API Output text(std::string_view name, const Operand& tensor, const TextSummaryOptions& options = {});

struct MergeOptions {
  std::vector<std::string> collections = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// All of them in one message. Run time error: INVALID_ARGUMENT if two have the same tag.
CAUDAL_API Output merge(const std::vector<Output>& inputs, const MergeOptions& options = {});

struct MergeAllOptions {
  std::string key = std::string(graph_keys::kSummaries);
  std::string scope = {};  // a regular expression that the beginning of the name must match
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// All summaries collected in the default graph; none if there are none.
CAUDAL_API Output merge_all(const MergeAllOptions& options = {});

}  // namespace summary

namespace raw_ops {
CAUDAL_API Output scalar_summary(const Operand& tags, const Operand& values, const OpOptions& options = {});
CAUDAL_API Output histogram_summary(const Operand& tag, const Operand& values, const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
