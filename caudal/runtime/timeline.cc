#include "caudal/runtime/timeline.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace caudal::inline v0 {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 32 || byte == 127) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Nanoseconds as microseconds with three decimals.
std::string micros(std::int64_t nanos) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(nanos / 1000),
                static_cast<long long>(nanos % 1000));
  return text;
}

std::string thread_name(int row) {
  const std::string number = std::to_string(row);
  return R"({"ph":"M","pid":0,"tid":)" + number + R"(,"name":"thread_name","args":{"name":"thread )" + number + "\"}}";
}

std::string event_json(const TimelineTracer::Event& event, std::int64_t origin) {
  return R"({"ph":"X","pid":0,"tid":)" + std::to_string(event.row) + R"(,"name":)" + quoted(event.op) +
         R"(,"cat":"op","ts":)" + micros(event.start - origin) + R"(,"dur":)" + micros(event.end - event.start) +
         R"(,"args":{"node":)" + quoted(event.node) + "}}";
}

}  // namespace

void TimelineTracer::record(std::string_view node, std::string_view op, std::int64_t start, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  const int row = rows_.emplace(std::this_thread::get_id(), static_cast<int>(rows_.size())).first->second;
  events_.push_back({std::string(node), std::string(op), start, std::max(start, end), row});
}

std::vector<TimelineTracer::Event> TimelineTracer::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::string TimelineTracer::json() const {
  const std::lock_guard lock(mutex_);
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const Event& event : events_) origin = std::min(origin, event.start);
  std::string text = R"({"displayTimeUnit":"ns","traceEvents":[)";
  text +=
      "\n"
      R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"caudal"}})";
  for (int row = 0; row < static_cast<int>(rows_.size()); ++row) text += ",\n" + thread_name(row);
  for (const Event& event : events_) text += ",\n" + event_json(event, origin);
  return text + "\n]}\n";
}

}  // namespace caudal::inline v0
