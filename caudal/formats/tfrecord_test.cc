// Against files written by TensorFlow 2.21 (testdata/golden/records) and the exact bytes of the format.
#include "caudal/formats/tfrecord.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caudal/base/crc32c.h"
#include "caudal/formats/coding.h"

namespace caudal {
namespace {

using namespace std::string_literals;

std::string golden(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/records/" + name;
}

struct Outcome {
  std::vector<std::string> records;
  Code code = Code::kOk;
  std::string message;
};

Outcome read(const std::string& path, const RecordReaderOptions& options = {}) {
  Outcome out;
  try {
    RecordReader reader(default_env(), path, options);
    for (std::string record; reader.next(&record);) out.records.push_back(record);
  } catch (const Error& error) {
    out.code = error.code();
    out.message = error.what();
  }
  return out;
}

Outcome read_bytes(const std::string& bytes, const RecordReaderOptions& options = {}) {
  const TempDir dir;
  write_file_atomically(default_env(), dir.file("r"), bytes);
  return read(dir.file("r"), options);
}

TEST(TFRecord, ExactBytes) {
  EXPECT_EQ(framed_record("abc"),
            "\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
            "abc\x6e\x57\xf1\x21"s);
  EXPECT_EQ(framed_record(""), "\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2"s);
}

TEST(TFRecord, ReadsTensorFlowsFiles) {
  const Outcome plain = read(golden("examples_plain.tfrecord"));
  std::vector<size_t> lengths;
  for (const std::string& record : plain.records) lengths.push_back(record.size());
  EXPECT_EQ(lengths, (std::vector<size_t>{56, 51, 71, 2, 1224, 0}));
  EXPECT_EQ(read(golden("examples_gzip.tfrecord"), {.compression = Compression::kGzip}).records, plain.records);
  EXPECT_EQ(read(golden("examples_zlib.tfrecord"), {.compression = Compression::kZlib}).records, plain.records);
}

TEST(TFRecord, DamagedFilesGiveTensorFlowsOutcome) {
  const struct {
    const char* file;
    size_t records;
    Code code;
  } kCases[] = {{"truncated_in_data", 2, Code::kDataLoss},   {"truncated_in_header", 3, Code::kOk},
                {"truncated_in_footer", 2, Code::kDataLoss}, {"flipped_data", 1, Code::kDataLoss},
                {"flipped_length", 1, Code::kDataLoss},      {"flipped_length_crc", 1, Code::kDataLoss}};
  for (const auto& item : kCases) {
    const Outcome out = read(golden(item.file + ".tfrecord"s), {.partial_header_is_end = true});
    EXPECT_EQ(out.records.size(), item.records) << item.file;
    EXPECT_EQ(out.code, item.code) << item.file << ": " << out.message;
  }
  EXPECT_EQ(read(golden("truncated_in_header.tfrecord")).code, Code::kDataLoss) << "the default is strict";
}

TEST(TFRecord, MessagesNameTheOffset) {
  std::string flipped = framed_record("abc");
  flipped[13] ^= 1;
  EXPECT_NE(read_bytes(flipped).message.find("corrupted record at 12:"), std::string::npos);
  std::string second = framed_record("abc") + framed_record("de");
  second[19] ^= 1;
  EXPECT_NE(read_bytes(second).message.find("corrupted record at 19:"), std::string::npos);
  const std::string cut = framed_record("abc").substr(0, 17);
  EXPECT_NE(read_bytes(cut).message.find("truncated record at 0:"), std::string::npos);
  EXPECT_NE(read_bytes(second).message.find("(record 2)"), std::string::npos) << read_bytes(second).message;
  EXPECT_NE(read_bytes(cut).message.find("(record 1)"), std::string::npos);
  const Outcome zeros = read_bytes(framed_record("abc") + std::string(64, '\0'));
  EXPECT_EQ(zeros.records.size(), 1u);
  EXPECT_EQ(zeros.code, Code::kDataLoss) << "zeros after a crash are no empty records";
}

TEST(TFRecord, AbsurdLengthsAllocateNothing) {
  for (const uint64_t length : {uint64_t{1} << 60, UINT64_MAX, uint64_t{1} << 31}) {
    std::string bytes;
    put_fixed(&bytes, length);
    put_fixed(&bytes, masked_crc32c(bytes));
    const Code code = read_bytes(bytes + "some data").code;
    EXPECT_EQ(code, length > uint64_t{1} << 31 ? Code::kResourceExhausted : Code::kDataLoss);
  }
}

TEST(TFRecord, RoundTripsAllSizesAndCompressions) {
  std::vector<std::string> records;
  for (const size_t size : {0, 1, 11, 262'000, 262'128, 262'129, 300'000, 3'000'000, 5})
    records.push_back(std::string(size, static_cast<char>('a' + size % 26)));
  const TempDir dir;
  for (const Compression compression : {Compression::kNone, Compression::kZlib, Compression::kGzip}) {
    RecordWriter writer(default_env(), dir.file("r"), compression);
    for (const std::string& record : records) writer.write(record);
    writer.flush();
    writer.close();
    const Outcome out = read(dir.file("r"), {.compression = compression});
    EXPECT_EQ(out.message, "");
    EXPECT_TRUE(out.records == records);
    // Cut anywhere: the records before, then DATA_LOSS.
    const std::string bytes = read_file(default_env(), dir.file("r"));
    const Outcome cut = read_bytes(bytes.substr(0, bytes.size() - 3), {.compression = compression});
    EXPECT_EQ(cut.code, Code::kDataLoss);
  }
}

TEST(TFRecord, StartsAtAnOffsetAndFollowsAGrowingFile) {
  const TempDir dir;
  RecordWriter writer(default_env(), dir.file("r"));
  writer.write("first");
  writer.flush();
  RecordReader reader(default_env(), dir.file("r"), {.partial_header_is_end = true});
  std::string record;
  ASSERT_TRUE(reader.next(&record));
  const uint64_t second = reader.offset();
  EXPECT_FALSE(reader.next(&record));
  writer.write("second");
  writer.close();
  ASSERT_TRUE(reader.next(&record));
  EXPECT_EQ(record, "second");
  RecordReader later(default_env(), dir.file("r"), {.offset = second});
  ASSERT_TRUE(later.next(&record));
  EXPECT_EQ(record, "second");
  EXPECT_THROW(RecordReader(default_env(), dir.file("r"), {.offset = 1000}), Error);
}

TEST(TFRecord, GzipMembersOneAfterAnother) {
  const TempDir dir;
  std::string both;
  for (const char* text : {"one", "two"}) {
    RecordWriter writer(default_env(), dir.file("r"), Compression::kGzip);
    writer.write(text);
    writer.close();
    both += read_file(default_env(), dir.file("r"));
  }
  EXPECT_EQ(read_bytes(both, {.compression = Compression::kGzip}).records, (std::vector<std::string>{"one", "two"}));
}

TEST(Compression, NamesOfTensorFlow) {
  EXPECT_EQ(compression_from_name(""), Compression::kNone);
  EXPECT_EQ(compression_from_name("GZIP"), Compression::kGzip);
  EXPECT_THROW(compression_from_name("SNAPPY"), Error);
  EXPECT_THROW(compression_from_name("zip"), Error);
}

}  // namespace
}  // namespace caudal
