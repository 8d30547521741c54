#include "caudal/io/file_writer.h"

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/events.h"
#include "caudal/formats/png.h"
#include "caudal/proto/graph_io.h"

namespace caudal::inline v0::io {

FileWriter::FileWriter(const std::string& directory)
    : events_(std::make_unique<EventWriter>(default_env(), directory)) {
  default_env().mkdirs(directory);
}

FileWriter::FileWriter(const std::string& directory, const Graph& graph) : FileWriter(directory) { add_graph(graph); }

FileWriter::~FileWriter() = default;

void FileWriter::add_summary(const Tensor& summary, std::int64_t step) {
  if (summary.dtype() != string || summary.num_elements() != 1) {
    throw invalid_argument("add_summary() takes what a summary op gives, a string scalar, not ", summary.describe());
  }
  events_->write_summary(summary.item<std::string>(), step);
}

void FileWriter::add_scalar(std::string_view tag, double value, std::int64_t step) {
  SummaryBuilder summary;
  summary.scalar(tag, static_cast<float>(value));
  events_->write_summary(summary.encode(), step);
}

void FileWriter::add_image(std::string_view tag, const Tensor& picture, std::int64_t step) {
  SummaryBuilder summary;
  const std::string png = encode_png(picture);  // checks type and rank
  summary.image(tag, static_cast<int>(picture.dim(0)), static_cast<int>(picture.dim(1)),
                static_cast<int>(picture.dim(2)), png);
  events_->write_summary(summary.encode(), step);
}

void FileWriter::add_graph(const Graph& graph) { events_->write_graph(graph_to_bytes(graph)); }
void FileWriter::add_session_start(std::int64_t step) { events_->write_session_start(step); }
void FileWriter::flush() { events_->flush(); }
void FileWriter::close() { events_->close(); }
std::string FileWriter::path() const { return events_->path(); }

}  // namespace caudal::inline v0::io
