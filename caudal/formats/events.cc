#include "caudal/formats/events.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "caudal/formats/wire.h"

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kVersion = "brain.Event:2";

std::string this_host() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

}  // namespace

std::string Event::encode() const {
  WireWriter out;
  out.real_unless_default(1, wall_time);
  out.varint_unless_default(2, static_cast<uint64_t>(step));
  if (what != What::kNone) out.bytes(static_cast<int>(what), payload);
  return std::move(out).str();
}

Event Event::decode(std::string_view bytes) {
  Event out;
  for (WireReader reader(bytes, "event"); reader.next();) {
    switch (reader.field()) {
      case 1:
        out.wall_time = reader.float64();
        break;
      case 2:
        out.step = reader.int64();
        break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
        out.what = static_cast<What>(reader.field());
        out.payload = reader.bytes();
        break;
      default:
        break;
    }
  }
  return out;
}

EventWriter::EventWriter(Env& env, std::string directory, EventWriterOptions options)
    : env_(env), directory_(std::move(directory)), options_(std::move(options)) {}

EventWriter::~EventWriter() {
  try {
    close();
  } catch (const Error&) {
    // Documented: only close() reports.
  }
}

std::string EventWriter::path() const {
  const std::lock_guard lock(mutex_);
  return path_;
}

// A name that no other file has: two writers of one second must not share theirs.
void EventWriter::open() {
  env_.mkdirs(directory_);
  char seconds[24];
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(env_.now_micros() / 1'000'000));
  const std::string host = options_.hostname.empty() ? this_host() : options_.hostname;
  const std::string start = internal::concat("events.out.tfevents.", seconds, '.', host);
  path_ = join_path(directory_, start + options_.suffix);
  for (int number = 1; env_.exists(path_); ++number)
    path_ = join_path(directory_, internal::concat(start, '.', number, options_.suffix));
  records_ = std::make_unique<RecordWriter>(env_, path_);
  records_->write(Event{now(), 0, Event::What::kFileVersion, std::string(kVersion)}.encode());
}

void EventWriter::write(const Event& event) {
  const std::string bytes = event.encode();
  const std::lock_guard lock(mutex_);
  if (records_ == nullptr) open();
  records_->write(bytes);
}

void EventWriter::write_now(Event::What what, std::string_view payload, int64_t step) {
  write(Event{now(), step, what, std::string(payload)});
}

void EventWriter::write_summary(std::string_view summary, int64_t step) {
  write_now(Event::What::kSummary, summary, step);
}

void EventWriter::write_graph(std::string_view graph_def, int64_t step) {
  write_now(Event::What::kGraphDef, graph_def, step);
}

void EventWriter::write_meta_graph(std::string_view meta_graph_def, int64_t step) {
  write_now(Event::What::kMetaGraphDef, meta_graph_def, step);
}

void EventWriter::write_session_start(int64_t step) {
  constexpr uint64_t kStart = 1;
  WireWriter log;
  log.varint(1, kStart);
  write_now(Event::What::kSessionLog, log.str(), step);
}

void EventWriter::write_run_metadata(std::string_view tag, std::string_view run_metadata, int64_t step) {
  WireWriter tagged;
  tagged.bytes(1, tag);
  tagged.bytes(2, run_metadata);
  write_now(Event::What::kRunMetadata, tagged.str(), step);
}

void EventWriter::flush() {
  const std::lock_guard lock(mutex_);
  if (records_ != nullptr) records_->flush();
}

void EventWriter::close() {
  const std::lock_guard lock(mutex_);
  if (records_ == nullptr) return;
  const auto records = std::move(records_);
  records->close();
}

EventReader::EventReader(Env& env, const std::string& path) : records_(env, path, {.partial_header_is_end = true}) {}

bool EventReader::next(Event* event) {
  std::string record;
  if (!records_.next(&record)) return false;
  *event = Event::decode(record);
  return true;
}

}  // namespace caudal::inline v0
