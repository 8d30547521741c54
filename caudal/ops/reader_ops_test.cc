#include "caudal/ops/reader_ops.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "caudal/base/env.h"
#include "caudal/formats/compression.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Words = std::vector<std::string>;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class ReaderOps : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = folder_.path() + "/" + name;
    auto out = default_env().create(path);
    out->append(content);
    out->close();
    return path;
  }
  // The queue holds the names, and no more come.
  void offer(const Words& names) {
    session_.run(names_.enqueue_many({Tensor(names)}));
    session_.run(names_.close());
  }
  // "key=value" of the next record, or the error. Keys without the folder.
  std::string next(const std::pair<Output, Output>& read) {
    try {
      const auto record = session_.run({read.first, read.second});
      return record[0].item<std::string>().substr(folder_.path().size() + 1) + "=" + record[1].item<std::string>();
    } catch (const Error& error) {
      return code_name(error.code());
    }
  }

  TempDir folder_;
  Graph graph_;
  GraphScope scope_{graph_};
  FIFOQueue names_{99, {string}, {.shapes = {PartialShape::scalar()}}};
  Session session_;
};

TEST_F(ReaderOps, GiveLines) {
  const TextLineReader reader({.skip_header_lines = 1});
  const auto read = reader.read(names_);
  offer({file("a", "head\none\r\n\ntwo"), file("empty", ""), file("b", "head\nlast\n")});
  EXPECT_EQ(next(read), "a:2=one");
  EXPECT_EQ(next(read), "a:3=");
  EXPECT_EQ(next(read), "a:4=two");
  EXPECT_EQ(next(read), "b:2=last");
  EXPECT_EQ(session_.run(reader.num_records_produced()).item<std::int64_t>(), 4);
  EXPECT_EQ(session_.run(reader.num_work_units_completed()).item<std::int64_t>(), 2);
  EXPECT_EQ(next(read), "OUT_OF_RANGE");
  EXPECT_EQ(session_.run(reader.num_work_units_completed()).item<std::int64_t>(), 3);
  EXPECT_NE(error_of([&] { session_.run(reader.serialize_state()); }).find("Reader SerializeState"), std::string::npos);
  session_.run(reader.reset());
  EXPECT_EQ(session_.run(reader.num_records_produced()).item<std::int64_t>(), 0);
}

TEST_F(ReaderOps, GiveLinesLongerThanABlock) {
  const TextLineReader reader({});
  const auto read = reader.read(names_);
  const std::string line(600'000, 'x');
  offer({file("a", line + "\n" + line)});
  EXPECT_EQ(next(read), "a:1=" + line);
  EXPECT_EQ(next(read), "a:2=" + line);
}

TEST_F(ReaderOps, GiveSeveralAtOnce) {
  const TextLineReader reader({});
  const auto read = reader.read_up_to(names_, 3);
  offer({file("a", "1\n2\n3\n4"), file("b", "5\n6")});
  const auto values = [&] { return session_.run(read.second).to_vector<std::string>(); };
  EXPECT_EQ(values(), (Words{"1", "2", "3"}));
  EXPECT_EQ(values(), (Words{"4"}));  // never from two files
  EXPECT_EQ(values(), (Words{"5", "6"}));
  EXPECT_NE(error_of([&] { values(); }).find("OUT_OF_RANGE"), std::string::npos);
  EXPECT_NE(error_of([&] { session_.run(reader.read_up_to(names_, -1).first); }).find("must be >= 0"),
            std::string::npos);
}

TEST_F(ReaderOps, GiveWholeFilesAndSaveTheirState) {
  const WholeFileReader reader;
  const auto read = reader.read(names_);
  offer({file("a", "AAA"), file("b", ""), file("c", "C")});
  EXPECT_EQ(next(read), "a=AAA");
  const Tensor state = session_.run(reader.serialize_state());
  EXPECT_EQ(state.item<std::string>().substr(0, 6), std::string("\x08\x01\x10\x01\x18\x01"));
  EXPECT_EQ(next(read), "b=");
  session_.run(reader.restore_state(state));
  EXPECT_EQ(session_.run(reader.num_records_produced()).item<std::int64_t>(), 1);
  EXPECT_EQ(next(read), "c=C");
  for (const std::string bad : {std::string("\x08"), std::string("\x08\x02\x10\x01"),
                                std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}) {
    EXPECT_NE(error_of([&] { session_.run(reader.restore_state(Tensor(bad))); }).find("INVALID_ARGUMENT"),
              std::string::npos);
  }
  EXPECT_NE(error_of([&] {
              session_.run(reader.restore_state(Tensor(Words{"a", "b"})));
            }).find("INVALID_ARGUMENT"),
            std::string::npos);
}

TEST_F(ReaderOps, GiveNamesAsTheyAre) {
  const IdentityReader reader;
  const auto read = reader.read(names_);
  offer({"x", "y"});
  EXPECT_EQ(session_.run(read.second).item<std::string>(), "x");
  EXPECT_EQ(session_.run(read.first).item<std::string>(), "y");
}

TEST_F(ReaderOps, GiveRecordsOfFixedLength) {
  const std::string a = file("a", "HHabcdefghijF"), short_file = file("short", "H");
  const FixedLengthRecordReader plain(3, {.header_bytes = 2, .footer_bytes = 1});
  const FixedLengthRecordReader overlapping(4, {.header_bytes = 2, .hop_bytes = 2});
  const FixedLengthRecordReader apart(2, {.header_bytes = 2, .hop_bytes = 5});
  offer({a, a, a, short_file});
  const auto all = [&](const ReaderBase& reader, int count) {
    std::string records;
    const auto read = reader.read(names_);
    for (int i = 0; i < count; ++i) records += next(read) + " ";
    return records;
  };
  EXPECT_EQ(all(plain, 3), "a:0=abc a:1=def a:2=ghi ");
  EXPECT_EQ(all(overlapping, 4), "a:0=abcd a:1=cdef a:2=efgh a:3=ghij ");
  EXPECT_EQ(all(apart, 3), "a:0=ab a:1=fg OUT_OF_RANGE ");
  EXPECT_NE(error_of([&] {
              session_.run(FixedLengthRecordReader(-1, {}).num_records_produced());
            }).find("record_bytes must be >= 0 not -1"),
            std::string::npos);
}

TEST_F(ReaderOps, GiveCompressedRecords) {
  const std::string path = folder_.path() + "/z";
  auto out = deflate_file(default_env().create(path), Compression::kZlib);
  out->append("abcdef");
  out->close();
  const FixedLengthRecordReader reader(3, {.encoding = "ZLIB"});
  const auto read = reader.read(names_);
  offer({path});
  EXPECT_EQ(next(read), "z:0=abc");
  EXPECT_EQ(next(read), "z:1=def");
  EXPECT_EQ(next(read), "OUT_OF_RANGE");
}

TEST_F(ReaderOps, GiveRecordsOfTfRecordFiles) {
  const std::string path = folder_.path() + "/r";
  RecordWriter writer(default_env().create(path));
  writer.write("one");
  writer.write("two");
  writer.close();
  const TFRecordReader reader({});
  const auto read = reader.read(names_);
  offer({path});
  EXPECT_EQ(next(read), "r:0=one");
  EXPECT_EQ(next(read), "r:19=two");
  EXPECT_EQ(next(read), "OUT_OF_RANGE");
}

TEST_F(ReaderOps, SayWhichFileIsMissing) {
  const WholeFileReader reader;
  const auto read = reader.read(names_);
  offer({folder_.path() + "/none", file("there", "T")});
  EXPECT_NE(error_of([&] { session_.run(read.first); }).find("/none"), std::string::npos);
  EXPECT_EQ(next(read), "there=T");
}

TEST_F(ReaderOps, WaitForNamesAndMayBeCancelled) {
  const IdentityReader reader;
  const auto read = reader.read(names_);
  const Operation put = names_.enqueue({"x"});
  CancellationToken token;
  std::thread canceller([&] { token.cancel(cancelled("enough")); });
  EXPECT_NE(error_of([&] { session_.run(read.first, {}, {.cancellation = &token}); }).find("CANCELLED"),
            std::string::npos);
  canceller.join();
  std::thread producer([&] { session_.run(put); });
  EXPECT_EQ(session_.run(read.first).item<std::string>(), "x");
  producer.join();
}

// A million names of files without records must not be a million nested calls.
TEST_F(ReaderOps, PassOverManyEmptyFiles) {
  const TextLineReader reader({});
  const FIFOQueue many(-1, {string}, {.shapes = {PartialShape::scalar()}});
  const auto far = reader.read(many);
  const std::string empty = file("empty", "");
  session_.run(many.enqueue_many({Tensor(Words(20'000, empty))}));
  session_.run(many.enqueue({Tensor(file("full", "end"))}));
  EXPECT_EQ(next(far), "full:1=end");
}

// The older ops, whose handles are references.
TEST_F(ReaderOps, WorkByReference) {
  const Output queue = OpBuilder("FIFOQueue", {}).attr("component_types", std::vector<DType>{string}).build();
  const QueueBase names(queue, {string});
  const Output reader = OpBuilder("WholeFileReader", {}).build();
  Node& read = OpBuilder("ReaderRead", {}).input(reader).input(queue).build_node();
  Node& up_to = OpBuilder("ReaderReadUpTo", {}).input(reader).input(queue).input(Tensor(std::int64_t{5})).build_node();
  const Output produced = OpBuilder("ReaderNumRecordsProduced", {}).input(reader).build();
  const Output finished = OpBuilder("ReaderNumWorkUnitsCompleted", {}).input(reader).build();
  const Output state = OpBuilder("ReaderSerializeState", {}).input(reader).build();
  const Output saved = placeholder(string);
  const Operation restore = OpBuilder("ReaderRestoreState", {}).input(reader).input(saved).build_operation();
  const Operation reset = OpBuilder("ReaderReset", {}).input(reader).build_operation();
  session_.run(names.enqueue({Tensor(file("a", "A"))}));
  session_.run(names.enqueue({Tensor(file("b", "B"))}));
  EXPECT_EQ(session_.run(read.output(1)).item<std::string>(), "A");
  const Tensor after_one = session_.run(state);
  EXPECT_EQ(session_.run(up_to.output(1)).to_vector<std::string>(), Words{"B"});
  EXPECT_EQ(session_.run(produced).item<std::int64_t>(), 2);
  session_.run(restore, {{saved, after_one}});
  EXPECT_EQ(session_.run(finished).item<std::int64_t>(), 1);
  session_.run(reset);
  EXPECT_EQ(session_.run(finished).item<std::int64_t>(), 0);
}

CAUDAL_OP_SAMPLES(WholeFileReader) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ReaderRead) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ReaderReadUpTo) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ReaderNumRecordsProduced) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ReaderNumWorkUnitsCompleted) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ReaderSerializeState) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ReaderRestoreState) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ReaderReset) { samples.covered_by("ReaderOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(WholeFileReaderV2) { samples.covered_by("ReaderOps.GiveWholeFilesAndSaveTheirState"); }
CAUDAL_OP_SAMPLES(IdentityReaderV2) { samples.covered_by("ReaderOps.GiveNamesAsTheyAre"); }
CAUDAL_OP_SAMPLES(TextLineReaderV2) { samples.covered_by("ReaderOps.GiveLines"); }
CAUDAL_OP_SAMPLES(FixedLengthRecordReaderV2) { samples.covered_by("ReaderOps.GiveRecordsOfFixedLength"); }
CAUDAL_OP_SAMPLES(TFRecordReaderV2) { samples.covered_by("ReaderOps.GiveRecordsOfTfRecordFiles"); }
// The older forms share all code with the newer ones and are refused in new graphs.
CAUDAL_OP_SAMPLES(IdentityReader) { samples.covered_by("ReaderOps.GiveNamesAsTheyAre"); }
CAUDAL_OP_SAMPLES(TextLineReader) { samples.covered_by("ReaderOps.GiveLines"); }
CAUDAL_OP_SAMPLES(FixedLengthRecordReader) { samples.covered_by("ReaderOps.GiveRecordsOfFixedLength"); }
CAUDAL_OP_SAMPLES(TFRecordReader) { samples.covered_by("ReaderOps.GiveRecordsOfTfRecordFiles"); }
CAUDAL_OP_SAMPLES(ReaderReadV2) { samples.covered_by("ReaderOps.GiveLines"); }
CAUDAL_OP_SAMPLES(ReaderReadUpToV2) { samples.covered_by("ReaderOps.GiveSeveralAtOnce"); }
CAUDAL_OP_SAMPLES(ReaderNumRecordsProducedV2) { samples.covered_by("ReaderOps.GiveLines"); }
CAUDAL_OP_SAMPLES(ReaderNumWorkUnitsCompletedV2) { samples.covered_by("ReaderOps.GiveLines"); }
CAUDAL_OP_SAMPLES(ReaderSerializeStateV2) { samples.covered_by("ReaderOps.GiveWholeFilesAndSaveTheirState"); }
CAUDAL_OP_SAMPLES(ReaderRestoreStateV2) { samples.covered_by("ReaderOps.GiveWholeFilesAndSaveTheirState"); }
CAUDAL_OP_SAMPLES(ReaderResetV2) { samples.covered_by("ReaderOps.GiveLines"); }

}  // namespace
}  // namespace caudal
