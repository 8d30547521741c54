// Every kind of event. tests/python/events_test.py runs this with CAUDAL_INTEROP_DIR set and reads the run with
// TensorBoard.
#include "caudal/io/file_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/events.h"
#include "caudal/formats/plugin_summary.h"
#include "caudal/formats/png.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/runtime/session.h"

namespace caudal::io {
namespace {

namespace plugin = plugin_summary;

class EventsInterop : public ::testing::Test {
 protected:
  EventsInterop() : scope_(graph_) {}
  std::string run() const {
    const char* directory = std::getenv("CAUDAL_INTEROP_DIR");
    return join_path(directory != nullptr ? std::string(directory) : scratch_.path(), "run");
  }
  // Events by what they are, in all files of the run.
  std::map<Event::What, int> counts() const {
    std::map<Event::What, int> found;
    for (const std::string& name : default_env().list(run())) {
      EventReader reader(default_env(), join_path(run(), name));
      for (Event event; reader.next(&event);) ++found[event.what];
    }
    return found;
  }

  const TempDir scratch_;
  Graph graph_;
  const GraphScope scope_;
};

Tensor picture(std::uint8_t first) {
  Tensor pixels = Tensor::zeros(uint8, {4, 6, 3});
  pixels.data<std::uint8_t>()[0] = first;
  return pixels;
}

// Two frames of silence and sound, 16 bits, one channel.
std::string wav() {
  const std::uint8_t bytes[] = {'R', 'I', 'F', 'F', 40,  0,   0,   0,   'W', 'A', 'V', 'E', 'f', 'm', 't', ' ',
                                16,  0,   0,   0,   1,   0,   1,   0,   64,  31,  0,   0,   128, 62,  0,   0,
                                2,   0,   16,  0,   'd', 'a', 't', 'a', 4,   0,   0,   0,   0,   0,   255, 63};
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

Tensor plugin_values(std::int64_t step) {
  const float x = static_cast<float>(step);
  std::string all = plugin::scalar("new/scalar", 0.5F * x);
  all += plugin::histogram("new/histogram", std::vector<float>{0, 1, 2, 3, x + 4}, 5);
  all += plugin::histogram("new/equal", std::vector<double>{2, 2, 2});
  all += plugin::images("new/image", 6, 4, {encode_png(picture(200)), encode_png(picture(100))});
  all += plugin::audio("new/audio", {wav()}, {"a *click*"});
  all += plugin::text("new/text", Tensor::from<std::string>({2, 1}, {"first", "**second**"}));
  all +=
      plugin::pr_curve("new/curve", {true, false, true, false, true}, std::vector<float>{0.9F, 0.8F, 0.4F, 0.1F, 1}, 5);
  return Tensor(all);
}

TEST_F(EventsInterop, WritesEveryKind) {
  const Output one = placeholder(float32, PartialShape::scalar(), {.name = "one"});
  const Output sum = add(one, constant(2.0F, {.name = "two"}), {.name = "sum"});
  {
    FileWriter writer(run(), graph_);
    writer.add_meta_graph(graph_);
    for (std::int64_t step = 0; step < 4; ++step) {
      writer.add_scalar("old/scalar", 1.0 / static_cast<double>(step + 1), step);
      writer.add_histogram("old/histogram", Tensor::from<float>({4}, {-1, 0, 0.5F, static_cast<float>(step)}), step);
    }
    writer.add_image("old/image", picture(255), 0);
    writer.add_text("old/text", "# Title", 0);
    for (std::int64_t step = 0; step < 2; ++step) writer.add_summary(plugin_values(step), step);
    TimelineTracer trace;
    Session session;
    EXPECT_EQ(session.run(Fetches{sum}, {{one, Tensor(1.0F)}}, {.tracer = &trace})[0].item<float>(), 3);
    writer.add_run_metadata(trace, "step 3", 3);
    EXPECT_THROW(writer.add_run_metadata(trace, "step 3", 3), Error);
    EXPECT_THROW(writer.add_histogram("h", Tensor(1), 0), Error);
    EXPECT_THROW(writer.add_summary(Tensor(1), 0), Error);
    writer.close();
  }
  // A second process goes on at step 2: a file of its own, and what the first wrote from there on counts no more.
  FileWriter again(run());
  again.add_session_start(2);
  for (std::int64_t step = 2; step < 5; ++step) again.add_scalar("old/scalar", 10.0 + static_cast<double>(step), step);
  again.close();
  EXPECT_EQ(default_env().list(run()).size(), 2U);
  using What = Event::What;
  EXPECT_EQ(counts(), (std::map<What, int>{{What::kFileVersion, 2},
                                           {What::kGraphDef, 1},
                                           {What::kMetaGraphDef, 1},
                                           {What::kSummary, 15},
                                           {What::kRunMetadata, 1},
                                           {What::kSessionLog, 1}}));
}

TEST(PluginSummary, RefusesWhatCannotBeShown) {
  EXPECT_THROW(plugin::histogram("h", std::vector<float>{NAN}), Error);
  EXPECT_THROW(plugin::histogram("h", std::vector<float>{1}, 0), Error);
  EXPECT_THROW(plugin::audio("a", {wav()}, {"one", "two"}), Error);
  EXPECT_THROW(plugin::text("t", Tensor(1)), Error);
  EXPECT_THROW(plugin::pr_curve("p", {true}, std::vector<float>{0.5F, 0.1F}), Error);
  EXPECT_THROW(plugin::pr_curve("p", {true}, std::vector<float>{1.5F}), Error);
  EXPECT_THROW(plugin::pr_curve("p", {true}, std::vector<float>{0.5F}, 1), Error);
}

}  // namespace
}  // namespace caudal::io
