#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/formats/events.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/summary_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

class SummaryWriterOps : public testing::Test {
 protected:
  SummaryWriterOps() : directory_(default_env().make_temp_dir("summary_writer")) {
    writer_ = OpBuilder("SummaryWriter", {}).attr("shared_name", std::string("w")).build();
    create_ = OpBuilder("CreateSummaryFileWriter", {})
                  .input(writer_)
                  .input(Tensor(directory_))
                  .input(10)
                  .input(120000)
                  .input(Tensor(".v2"))
                  .build_operation();
  }
  ~SummaryWriterOps() override {
    for (const std::string& name : default_env().list(directory_)) default_env().remove(directory_ + "/" + name);
    default_env().remove(directory_);
  }

  OpBuilder write(const char* op) { return std::move(OpBuilder(op, {}).input(writer_).input(Tensor(std::int64_t{7}))); }
  void run(const char* op) { session_.run(OpBuilder(op, {}).input(writer_).build_operation()); }

  std::vector<Event> events() {
    std::vector<Event> out;
    for (const std::string& name : default_env().list(directory_)) {
      EventReader reader(default_env(), directory_ + "/" + name);
      for (Event event; reader.next(&event);) out.push_back(event);
    }
    return out;
  }

  Graph graph_;
  GraphScope scope_{graph_};
  std::string directory_;
  Output writer_;
  Operation create_;
  Session session_;
};

TEST_F(SummaryWriterOps, WriteEveryKind) {
  session_.run(create_);
  session_.run(write("WriteScalarSummary").input(Tensor("loss")).input(constant(0.5)).build_operation());
  session_.run(write("WriteHistogramSummary").input(Tensor("h")).input(constant({1.F, 2.F})).build_operation());
  session_.run(write("WriteImageSummary")
                   .input(Tensor("i"))
                   .input(constant(Tensor::zeros(float32, {2, 3, 4, 1})))
                   .input(constant(Tensor::zeros(uint8, {1})))
                   .attr("max_images", std::int64_t{1})
                   .build_operation());
  session_.run(write("WriteAudioSummary")
                   .input(Tensor("a"))
                   .input(constant(Tensor::zeros(float32, {1, 5})))
                   .input(8000.F)
                   .build_operation());
  session_.run(write("WriteSummary").input(constant({1, 2})).input(Tensor("t")).input(Tensor("")).build_operation());
  SummaryBuilder raw;
  raw.scalar("raw", 2.F);
  session_.run(write("WriteRawProtoSummary").input(Tensor(std::vector{raw.encode()})).build_operation());
  session_.run(write("WriteGraphSummary").input(Tensor("")).build_operation());
  Event imported;
  imported.step = 9;
  imported.what = Event::What::kSummary;
  imported.payload = raw.encode();
  session_.run(OpBuilder("ImportEvent", {}).input(writer_).input(Tensor(imported.encode())).build_operation());
  run("FlushSummaryWriter");

  const std::vector<Event> all = events();
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all[0].what, Event::What::kFileVersion);
  using Kind = SummaryValue::Kind;
  const std::pair<std::string, Kind> expected[] = {{"loss", Kind::kScalar},   {"h", Kind::kHistogram},
                                                   {"i/image", Kind::kImage}, {"a/audio/0", Kind::kAudio},
                                                   {"t", Kind::kTensor},      {"raw", Kind::kScalar}};
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    const std::vector<SummaryValue> values = all[i + 1].summary();
    ASSERT_EQ(values.size(), 1u);
    EXPECT_EQ(values[0].tag, expected[i].first);
    EXPECT_EQ(values[0].kind, expected[i].second);
    EXPECT_EQ(all[i + 1].step, 7);
  }
  EXPECT_EQ(all[1].summary()[0].scalar, 0.5F);
  EXPECT_EQ(all[7].what, Event::What::kGraphDef);
  EXPECT_EQ(all[8].step, 9);
}

TEST_F(SummaryWriterOps, AClosedWriterIsAnError) {
  const Operation scalar = write("WriteScalarSummary").input(Tensor("x")).input(constant(1.F)).build_operation();
  const auto code = [&](const Operation& operation) {
    try {
      session_.run(operation);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  };
  EXPECT_EQ(code(scalar), Code::kNotFound);
  session_.run(create_);
  EXPECT_EQ(code(scalar), Code::kOk);
  EXPECT_EQ(code(write("WriteScalarSummary").input(Tensor("x")).input(constant({1.F, 2.F})).build_operation()),
            Code::kInvalidArgument);
  EXPECT_EQ(code(write("WriteRawProtoSummary").input(Tensor("\xff\xff")).build_operation()), Code::kDataLoss);
  run("CloseSummaryWriter");
  EXPECT_EQ(code(scalar), Code::kNotFound);
  EXPECT_EQ(events().size(), 2u);
}

// Bytes that TensorFlow 2.21 gave for the same calls.
TEST(OtherSummaryOps, GiveTensorFlowsBytes) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Tensor sound = Tensor::from<float>({1, 4, 2}, {0, .5F, 1, -1, 2, -2, .25F, 1e-5F});
  const Output audio = summary::audio("a", constant(sound), 16000.F, {.max_outputs = 1});
  const auto bytes = session.run(audio).item<std::string>();
  const std::vector<SummaryValue> values = decode_summary(bytes);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].tag, "a/audio");
  EXPECT_NE(
      hex(bytes).find("524946463400000057415645666d74201000000001000200803e000000fa000004001000646174611000000000000"
                      "040ff7f0080ff7f008000200000"),
      std::string::npos);
  EXPECT_EQ(
      hex(session.run(summary::text("t", constant(Tensor(std::vector<std::string>{"x", "y"})))).item<std::string>()),
      "0a1d0a0174420e08071204120208024201784201794a080a060a0474657874");
  const Output tensor = OpBuilder("TensorSummaryV2", {})
                            .input(Tensor("q"))
                            .input(constant({1.F, 2.F}))
                            .input(Tensor("\x1a\x01"
                                          "d"))
                            .build();
  EXPECT_EQ(hex(session.run(tensor).item<std::string>()),
            "0a1c0a01714212080112041202080222080000803f000000404a031a0164");
  const Output old = OpBuilder("TensorSummary", {.name = "TensorSummary"}).input(constant({1.F, 2.F})).build();
  EXPECT_EQ(hex(session.run(old).item<std::string>()),
            "0a233a0d54656e736f7253756d6d6172794212080112041202080222080000803f00000040");
}

#define CAUDAL_COVERED(op) \
  CAUDAL_OP_SAMPLES(op) { samples.covered_by("SummaryWriterOps.WriteEveryKind"); }
CAUDAL_COVERED(SummaryWriter)
CAUDAL_COVERED(CreateSummaryFileWriter)
CAUDAL_COVERED(FlushSummaryWriter)
CAUDAL_COVERED(WriteSummary)
CAUDAL_COVERED(WriteRawProtoSummary)
CAUDAL_COVERED(WriteScalarSummary)
CAUDAL_COVERED(WriteHistogramSummary)
CAUDAL_COVERED(WriteImageSummary)
CAUDAL_COVERED(WriteAudioSummary)
CAUDAL_COVERED(WriteGraphSummary)
CAUDAL_COVERED(ImportEvent)
#undef CAUDAL_COVERED
CAUDAL_OP_SAMPLES(CloseSummaryWriter) { samples.covered_by("SummaryWriterOps.AClosedWriterIsAnError"); }
CAUDAL_OP_SAMPLES(AudioSummaryV2) { samples.covered_by("OtherSummaryOps.GiveTensorFlowsBytes"); }
CAUDAL_OP_SAMPLES(TensorSummary) { samples.covered_by("OtherSummaryOps.GiveTensorFlowsBytes"); }
CAUDAL_OP_SAMPLES(TensorSummaryV2) { samples.covered_by("OtherSummaryOps.GiveTensorFlowsBytes"); }
CAUDAL_OP_SAMPLES(AudioSummary) {
  samples.error({Tensor("a"), Tensor::zeros(float32, {3})}, Code::kInvalidArgument, {{"sample_rate", 8000.F}});
}

}  // namespace
}  // namespace caudal
