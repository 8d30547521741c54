// FileWriter: summaries and graphs into an event file (tf.compat.v1.summary.FileWriter).
//
//   io::FileWriter writer("logs/run1", graph);
//   writer.add_summary(sess.run(merged), step);
//   writer.add_scalar("loss", 0.3, step);
//
// Thread safety: may be shared.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"
#include "caudal/runtime/timeline.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class EventWriter;

namespace io {

class CAUDAL_API FileWriter {
 public:
  // The directory is made if need be; the file at the first write.
  explicit FileWriter(const std::string& directory);
  FileWriter(const std::string& directory, const Graph& graph);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // What a summary op gave: a string scalar. Throws INVALID_ARGUMENT for anything else.
  void add_summary(const Tensor& summary, std::int64_t step);
  void add_scalar(std::string_view tag, double value, std::int64_t step);
  // `picture`: uint8 [height, width, 1, 3 or 4].
  void add_image(std::string_view tag, const Tensor& picture, std::int64_t step);
  // The distribution of the values: float32 or float64, any shape. INVALID_ARGUMENT if one is NaN or infinite.
  void add_histogram(std::string_view tag, const Tensor& values, std::int64_t step);
  // Markdown.
  void add_text(std::string_view tag, std::string_view markdown, std::int64_t step);
  void add_graph(const Graph& graph);
  void add_meta_graph(const Graph& graph);
  // What a traced step took: TensorBoard's graph shows it under the tag.
  //   TimelineTracer trace;
  //   sess.run(train, feeds, {.tracer = &trace});
  //   writer.add_run_metadata(trace, "step 100", 100);
  // INVALID_ARGUMENT for a tag used before, as TensorFlow has it.
  void add_run_metadata(const TimelineTracer& trace, std::string_view tag, std::int64_t step);
  // Says that the run (re)starts at `step`: what TensorBoard has from there on is dropped.
  void add_session_start(std::int64_t step);
  void flush();
  void close();
  // The event file; empty before the first write.
  std::string path() const;

 private:
  std::unique_ptr<EventWriter> events_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> traced_;
};

}  // namespace io
}  // namespace caudal::inline v0
