#include "caudal/io/file_writer.h"

#include <chrono>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/events.h"
#include "caudal/formats/png.h"
#include "caudal/proto/graph_io.h"
#include "caudal/proto/master_messages.h"
#include "caudal/proto/meta_graph.h"

namespace caudal::inline v0::io {
namespace {

constexpr char kDevice[] = "/job:localhost/replica:0/task:0/device:CPU:0";

template <class Clock>
std::int64_t nanos_of() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

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

void FileWriter::add_histogram(std::string_view tag, const Tensor& values, std::int64_t step) {
  SummaryBuilder summary;
  if (values.dtype() == float32) {
    summary.histogram(tag, values.flat<float>());
  } else if (values.dtype() == float64) {
    summary.histogram(tag, values.flat<double>());
  } else {
    throw invalid_argument("add_histogram() takes float32 or float64, not ", values.describe())
        .hint("tf::summary::histogram takes all real types.");
  }
  events_->write_summary(summary.encode(), step);
}

void FileWriter::add_text(std::string_view tag, std::string_view markdown, std::int64_t step) {
  SummaryBuilder summary;
  summary.text(tag, markdown);
  events_->write_summary(summary.encode(), step);
}

void FileWriter::add_run_metadata(const TimelineTracer& trace, std::string_view tag, std::int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    if (!traced_.emplace(tag).second) throw invalid_argument("the tag '", tag, "' has a traced step already");
  }
  const std::int64_t offset = nanos_of<std::chrono::system_clock>() - nanos_of<std::chrono::steady_clock>();
  StepMetadata metadata{.device = kDevice, .nodes = {}, .has_times = true, .partition_graphs = {}};
  for (const TimelineTracer::Event& event : trace.events()) {
    metadata.nodes.push_back({event.node, event.op, event.start + offset, event.end + offset});
  }
  events_->write_run_metadata(tag, encode_run_metadata(metadata), step);
}

void FileWriter::add_meta_graph(const Graph& graph) { events_->write_meta_graph(meta_graph_to_bytes(graph)); }
void FileWriter::add_graph(const Graph& graph) { events_->write_graph(graph_to_bytes(graph)); }
void FileWriter::add_session_start(std::int64_t step) { events_->write_session_start(step); }
void FileWriter::flush() { events_->flush(); }
void FileWriter::close() { events_->close(); }
std::string FileWriter::path() const { return events_->path(); }

}  // namespace caudal::inline v0::io
