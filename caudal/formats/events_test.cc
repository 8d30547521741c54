// Against event files written by TensorFlow 2.21 (testdata/golden/records).
#include "caudal/formats/events.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace caudal {
namespace {

std::vector<Event> read_events(const std::string& path) {
  EventReader reader(default_env(), path);
  std::vector<Event> out;
  for (Event event; reader.next(&event);) out.push_back(event);
  return out;
}

std::vector<Event> golden(const std::string& name) {
  return read_events(std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/records/" + name +
                     "/events.out.tfevents.1700000000.host");
}

const SummaryValue& value_of(const std::vector<SummaryValue>& values, const std::string& tag) {
  for (const SummaryValue& value : values)
    if (value.tag == tag) return value;
  throw not_found("no tag ", tag);
}

TEST(Events, ReadsTensorFlowsFiles) {
  const std::vector<Event> v1 = golden("events_v1");
  EXPECT_EQ(v1[0].what, Event::What::kFileVersion);
  EXPECT_EQ(v1[0].payload, "brain.Event:2");
  EXPECT_EQ(v1[0].wall_time, 1700000000.0);
  EXPECT_EQ(v1[1].what, Event::What::kGraphDef);
  ASSERT_EQ(v1[3].what, Event::What::kSummary);
  const std::vector<SummaryValue> values = v1[3].summary();
  EXPECT_EQ(value_of(values, "loss").scalar, 1.0f);
  EXPECT_EQ(value_of(values, "hist").kind, SummaryValue::Kind::kHistogram);
  EXPECT_EQ(value_of(values, "image/image/0").kind, SummaryValue::Kind::kImage);
  EXPECT_EQ(value_of(values, "text").plugin, "text");
  EXPECT_EQ(v1[4].step, 10);
  const std::vector<Event> v2 = golden("events_v2");
  EXPECT_EQ(v2[1].summary().at(0).plugin, "scalars");
}

// Histograms of the same values must be the same bytes: ramp values are rebuilt from the buckets' content.
TEST(Events, HistogramHasTensorFlowsBuckets) {
  const std::string expected = value_of(golden("events_v1")[3].summary(), "hist").message;
  std::vector<double> limits, counts;
  double min = 0, max = 0;
  for (WireReader reader(expected, "histogram"); reader.next();) {
    if (reader.field() == 1) min = reader.float64();
    if (reader.field() == 2) max = reader.float64();
    if (reader.field() == 6) reader.append_reals(&limits);
    if (reader.field() == 7) reader.append_reals(&counts);
  }
  Histogram histogram;
  histogram.add(min);
  histogram.add(max);
  for (size_t i = 0; i < counts.size(); ++i)
    for (int k = (limits[i] > max ? 1 : 0) + (i > 0 && limits[i - 1] <= min && min < limits[i] ? 1 : 0);
         k < counts[i] - (max < limits[i] && max >= limits[i - 1] ? 1 : 0); ++k)
      histogram.add(limits[i - 1]);
  std::vector<double> own_limits, own_counts;
  const std::string encoded = histogram.encode();
  for (WireReader reader(encoded, "histogram"); reader.next();) {
    if (reader.field() == 6) reader.append_reals(&own_limits);
    if (reader.field() == 7) reader.append_reals(&own_counts);
  }
  EXPECT_EQ(own_limits, limits);
  EXPECT_EQ(own_counts, counts);
}

TEST(Histogram, CountsAndSumsInDouble) {
  Histogram histogram;
  const double n = 16'777'226;  // float counting stops at 2^24
  for (int i = 0; i < 16'777'226; ++i) histogram.add(1.0);
  EXPECT_EQ(histogram.count(), n);
  EXPECT_EQ(histogram.sum(), n);
  EXPECT_EQ(histogram.min(), 1.0);
  EXPECT_EQ(histogram.max(), 1.0);
}

TEST(Histogram, RefusesNonFiniteValues) {
  SummaryBuilder summary;
  const float inf = std::numeric_limits<float>::infinity();
  const struct {
    float bad;
    const char* message;
  } kCases[] = {{std::nanf(""), "INVALID_ARGUMENT: Nan in summary histogram for: w"},
                {-inf, "INVALID_ARGUMENT: Infinity in summary histogram for: w"}};
  for (const auto& item : kCases) {
    try {
      summary.histogram("w", std::vector<float>{1, item.bad, 2});
      FAIL() << item.message;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), item.message);
    }
  }
  EXPECT_TRUE(summary.empty()) << "the failed values leave no trace";
  summary.histogram("empty", std::vector<float>{});
  summary.histogram("extremes", std::vector<double>{DBL_MAX, -DBL_MAX, 0.0});
  EXPECT_EQ(decode_summary(summary.encode()).size(), 2u);
}

TEST(EventWriter, WritesWhatItReads) {
  const TempDir dir;
  EventWriter writer(default_env(), dir.file("logs/run"), {.suffix = ".test", .hostname = "host"});
  EXPECT_EQ(writer.path(), "") << "no file without events";
  SummaryBuilder summary;
  summary.scalar("loss", 0.5f);
  summary.text("note", "**bold**");
  writer.write_summary(summary.encode(), 7);
  writer.write_session_start(3);
  writer.flush();
  const std::string name = base_name(writer.path());
  EXPECT_EQ(name.substr(0, 20), "events.out.tfevents.");
  EXPECT_EQ(name.substr(30), ".host.test") << name;
  std::vector<Event> events = read_events(writer.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].payload, "brain.Event:2");
  EXPECT_EQ(events[1].step, 7);
  EXPECT_EQ(value_of(events[1].summary(), "loss").scalar, 0.5f);
  EXPECT_EQ(value_of(events[1].summary(), "note").plugin, "text");
  EXPECT_EQ(events[2].what, Event::What::kSessionLog);
  EventWriter second(default_env(), dir.file("logs/run"), {.suffix = ".test", .hostname = "host"});
  second.write_session_start(0);
  EXPECT_NE(second.path(), writer.path());
  writer.close();
}

TEST(Events, MalformedMessagesAreDataLoss) {
  for (const std::string& bad : {std::string("\x09\x01"), std::string("\x0a\x01x"), std::string("\x2a\x7f")}) {
    try {
      Event::decode(bad);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDataLoss);
    }
  }
}

}  // namespace
}  // namespace caudal
