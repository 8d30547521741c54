// Writes one file of every format and reads it back. tests/python/formats_test.py runs this with CAUDAL_INTEROP_DIR set
// and reads the same files with TensorFlow, TensorBoard and NumPy.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/bundle_writer.h"
#include "caudal/formats/events.h"
#include "caudal/formats/npy.h"
#include "caudal/formats/png.h"

namespace caudal {
namespace {

class Interop : public testing::Test {
 protected:
  std::string file(const std::string& name) const {
    const char* directory = std::getenv("CAUDAL_INTEROP_DIR");
    return join_path(directory != nullptr ? std::string(directory) : scratch_.path(), name);
  }
  Env& env_ = default_env();
  TempDir scratch_;
};

Tensor ramp(const Shape& shape) {
  Tensor out(float32, shape);
  for (int64_t i = 0; i < out.num_elements(); ++i) out.data<float>()[i] = static_cast<float>(i) / 8;
  return out;
}

TEST_F(Interop, Checkpoint) {
  const Tensor table = ramp({10, 4});
  Tensor half = Tensor::zeros(float16, {2});
  half.data<Half>()[1] = Half(1.5f);
  for (int round = 0; round < 2; ++round) {  // the second replaces the first, in files of another name
    BundleWriter writer(env_, file("model.ckpt-1"));
    for (const int start : {0, 4})
      writer.add_slice("embedding", {10, 4}, TensorSlice({{start, start == 0 ? 4 : 6}, {}}),
                       table.rows(start, start == 0 ? 4 : 10));
    writer.add("flag", Tensor(true));
    writer.add("half", half);
    writer.add("step", Tensor(int64_t{round}));
    writer.add("words", Tensor::from<std::string>({2, 1}, {"", std::string("a\0b", 3)}));
    writer.finish();
  }
  const BundleReader reader(env_, file("model.ckpt-1"));
  EXPECT_TRUE(identical(reader.read("embedding"), table));
  EXPECT_EQ(reader.read("step").item<int64_t>(), 1);
}

TEST_F(Interop, Records) {
  const std::vector<std::string> records = {"first", "", std::string(300'000, 'x')};
  for (const auto& [name, compression] :
       {std::pair("plain", Compression::kNone), {"gzip", Compression::kGzip}, {"zlib", Compression::kZlib}}) {
    const std::string path = file(std::string(name) + ".tfrecord");
    RecordWriter writer(env_, path, compression);
    for (const std::string& record : records) writer.write(record);
    writer.close();
    RecordReader reader(env_, path, {.compression = compression});
    std::string record;
    for (const std::string& expected : records) {
      ASSERT_TRUE(reader.next(&record));
      EXPECT_TRUE(record == expected) << name;
    }
    EXPECT_FALSE(reader.next(&record));
    // What TensorFlow wrote, if it did.
    const std::string theirs = file(std::string("theirs_") + name + ".tfrecord");
    if (std::getenv("CAUDAL_INTEROP_DIR") == nullptr) continue;
    RecordReader their_reader(env_, theirs, {.compression = compression});
    for (const std::string& expected : records) {
      ASSERT_TRUE(their_reader.next(&record));
      EXPECT_TRUE(record == expected) << theirs;
    }
    EXPECT_FALSE(their_reader.next(&record));
  }
}

// A file of three records, every byte of it changed and every end cut off: what is read, and where the error is.
TEST_F(Interop, DamagedRecords) {
  const std::string whole = framed_record("first") + framed_record("") + framed_record("third record");
  write_file_atomically(env_, file("whole.tfrecord"), whole);
  std::string outcomes;
  int errors = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    for (const std::string& damaged : {changed, whole.substr(0, i)}) {
      write_file_atomically(env_, file("damaged.tfrecord"), damaged);
      RecordReader reader(env_, file("damaged.tfrecord"), {.partial_header_is_end = true});
      std::string record, error = "OK";
      int count = 0;
      try {
        while (reader.next(&record)) ++count;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::kDataLoss);
        const std::string text = e.what();
        error = text.substr(0, text.find(": ", text.find("record at ")));
        error = error.substr(error.rfind(": ") + 2);
        EXPECT_NE(text.find(internal::concat("(record ", count + 1, ")")), std::string::npos) << text;
        ++errors;
      }
      outcomes += internal::concat(count, " ", error, "\n");
    }
  }
  EXPECT_EQ(errors, 65 + 65 - 3 * 12) << "cuts inside headers count as ends";
  write_file_atomically(env_, file("outcomes.txt"), outcomes);
}

TEST_F(Interop, Events) {
  Tensor picture = Tensor::zeros(uint8, {4, 6, 3});
  picture.data<uint8_t>()[0] = 255;
  EventWriter writer(env_, file("events"));
  for (int step = 0; step < 3; ++step) {
    SummaryBuilder summary;
    summary.scalar("loss", 1.0f / static_cast<float>(step + 1));
    summary.histogram("weights", std::vector<float>{-1, 0, 0.5f, static_cast<float>(step)});
    if (step == 0) summary.image("picture", 4, 6, 3, encode_png(picture));
    if (step == 0) summary.text("note", "**bold**");
    writer.write_summary(summary.encode(), step);
  }
  writer.close();
  EventReader reader(env_, writer.path());
  int events = 0;
  for (Event event; reader.next(&event);) ++events;
  EXPECT_EQ(events, 4);
}

TEST_F(Interop, Arrays) {
  const NamedTensors tensors = {
      {"ramp", ramp({2, 3})}, {"scalar", Tensor(7)}, {"words", Tensor::from<std::string>({2}, {"a", "bc"})}};
  write_npz(env_, file("arrays.npz"), tensors);
  write_npy(env_, file("vector.npy"), ramp({100'000}));
  write_file_atomically(env_, file("picture.png"), encode_png(Tensor::from<uint16_t>({1, 2, 1}, {0x1234, 0xffff})));
  EXPECT_TRUE(identical(read_npz(env_, file("arrays.npz")).at("ramp"), tensors.at("ramp")));
  EXPECT_TRUE(identical(read_npy(env_, file("vector.npy")), ramp({100'000})));
}

}  // namespace
}  // namespace caudal
