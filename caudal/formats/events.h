// Event files, which TensorBoard reads: TFRecords of Event messages, the first of which states the version.
//
//   EventWriter events(env, "/tmp/logs");                      // events.out.tfevents.1700000000.hostname
//   events.write_graph(graph_def_bytes);
//   events.write_summary(summary.encode(), step);
//   events.flush();                                            // TensorBoard sees it now
//
// The file is made at the first write, so that a run without events leaves none.
// Ownership: the Env must outlive writer and reader. Thread safety: an EventWriter may be shared; a reader belongs to
// one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/formats/summary.h"
#include "caudal/formats/tfrecord.h"

namespace caudal::inline v0 {

struct Event {
  enum class What {
    kNone = 0,
    kFileVersion = 3,
    kGraphDef = 4,
    kSummary = 5,
    kLogMessage = 6,
    kSessionLog = 7,
    kRunMetadata = 8,
    kMetaGraphDef = 9,
  };
  double wall_time = 0;  // seconds since 1970
  int64_t step = 0;
  What what = What::kNone;
  std::string payload;  // text or message, by `what`

  std::vector<SummaryValue> summary() const { return decode_summary(payload); }
  CAUDAL_API std::string encode() const;
  // DATA_LOSS if malformed.
  CAUDAL_API static Event decode(std::string_view bytes);
};

struct EventWriterOptions {
  std::string suffix;    // put behind the file name
  std::string hostname;  // this machine's if empty
};

class CAUDAL_API EventWriter {
 public:
  EventWriter(Env& env, std::string directory, EventWriterOptions options = {});
  // Closes; a failure then goes unnoticed, so call close() first.
  ~EventWriter();

  // Where the events go; empty before the first write.
  std::string path() const;

  void write(const Event& event);
  // A Summary message at the time of the call.
  void write_summary(std::string_view summary, int64_t step);
  // A GraphDef message.
  void write_graph(std::string_view graph_def, int64_t step = 0);
  // A MetaGraphDef message.
  void write_meta_graph(std::string_view meta_graph_def, int64_t step = 0);
  // Says that the run starts (again) at this step: TensorBoard drops what it had from there on.
  void write_session_start(int64_t step);
  // A named RunMetadata message: the trace of one step.
  void write_run_metadata(std::string_view tag, std::string_view run_metadata, int64_t step);

  void flush();
  void close();

 private:
  void write_now(Event::What what, std::string_view payload, int64_t step);
  void open();
  double now() { return static_cast<double>(env_.now_micros()) / 1e6; }

  Env& env_;
  std::string directory_;
  EventWriterOptions options_;
  mutable std::mutex mutex_;
  std::string path_;
  std::unique_ptr<RecordWriter> records_;
};

class CAUDAL_API EventReader {
 public:
  EventReader(Env& env, const std::string& path);
  // The next event; false at the present end, where a file that is being written may go on later. DATA_LOSS if damaged.
  bool next(Event* event);

 private:
  RecordReader records_;
};

}  // namespace caudal::inline v0
