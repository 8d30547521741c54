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
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"
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
  void add_graph(const Graph& graph);
  // Says that the run (re)starts at `step`: what TensorBoard has from there on is dropped.
  void add_session_start(std::int64_t step);
  void flush();
  void close();
  // The event file; empty before the first write.
  std::string path() const;

 private:
  std::unique_ptr<EventWriter> events_;
};

}  // namespace io
}  // namespace caudal::inline v0
