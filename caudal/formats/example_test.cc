// Against records written by TensorFlow 2.21 (testdata/golden/records) and the exact bytes of the format.
#include "caudal/formats/example.h"

#include <gtest/gtest.h>

#include <limits>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/tfrecord.h"

namespace caudal {
namespace {

using namespace std::string_literals;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

std::string golden(const std::string& name) {
  return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/records/" + name;
}

Texts records(const std::string& name) {
  Texts all;
  RecordReader reader(default_env(), golden(name));
  for (std::string record; reader.next(&record);) all.push_back(record);
  return all;
}

TEST(Example, ReadsTensorFlowsRecords) {
  const Texts all = records("examples_plain.tfrecord");
  ASSERT_EQ(all.size(), 6U);
  const Features first = parse_example(all[0]).features;
  EXPECT_EQ(first.at("id"), Feature(Ints{0}));
  EXPECT_EQ(first.at("x"), Feature(Floats{0.5F, -1.25F, 3}));
  EXPECT_EQ(first.at("name"), Feature(Texts{"zero"}));
  const Features second = parse_example(all[1]).features;
  EXPECT_EQ(second.at("x"), Feature(Floats{}));
  EXPECT_EQ(second.at("name"), Feature(Texts{"", "\0\xff"s}));
  const Features third = parse_example(all[2]).features;
  EXPECT_EQ(third.at("id"),
            Feature(Ints{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}));
  EXPECT_TRUE(parse_example(all[3]).features.empty());
  EXPECT_EQ(std::get<Ints>(parse_example(all[4]).features.at("id")).size(), 200U);
  EXPECT_TRUE(parse_example(all[5]).features.empty());
}

TEST(Example, WritesWhatTensorFlowWrites) {
  // Its maps come in any order, so only lengths agree where there are several features.
  for (const std::string& record : records("examples_plain.tfrecord")) {
    const std::string written = example_bytes(parse_example(record));
    if (!record.empty()) {
      EXPECT_EQ(written.size(), record.size());
    }
    EXPECT_EQ(parse_example(written).features, parse_example(record).features);
  }
  EXPECT_EQ(example_bytes({{{"a", Ints{1, 300}}}}), "\n\x0e\n\x0c\n\x01"s + "a\x12\x07\x1a\x05\n\x03\x01\xac\x02"s);
}

TEST(Example, ReadsSequences) {
  const Texts all = records("sequence.tfrecord");
  ASSERT_EQ(all.size(), 1U);
  const SequenceExample example = parse_sequence_example(all[0]);
  EXPECT_EQ(example.context.at("len"), Feature(Ints{3}));
  EXPECT_EQ(example.feature_lists.at("tok"), (std::vector<Feature>{Texts{"a"}, Texts{"b", "c"}, Texts{"d"}}));
  EXPECT_EQ(example.feature_lists.at("val").size(), 3U);
  EXPECT_EQ(example.feature_lists.at("val")[2], Feature(Floats{3.5F}));
  const SequenceExample again = parse_sequence_example(sequence_example_bytes(example));
  EXPECT_EQ(again.context, example.context);
  EXPECT_EQ(again.feature_lists, example.feature_lists);
}

TEST(Example, ReadsUnpackedNumbers) {
  std::string bytes = read_file(default_env(), golden("unpacked_example.bin"));
  EXPECT_EQ(parse_example(bytes).features.at("x"), Feature(Floats{1, 2}));
  // Field 1 of an int64 list three times, unpacked.
  const std::string unpacked = "\n\x0f\n\r\n\x01"s + "a\x12\x08\x1a\x06\x08\x05\x08\x06\x08\x07";
  EXPECT_EQ(parse_example(unpacked).features.at("a"), Feature(Ints{5, 6, 7}));
}

TEST(Example, TheLastOfSeveralCounts) {
  const std::string a1 = example_bytes({{{"a", Ints{1}}}}), a2 = example_bytes({{{"a", Floats{2}}}});
  EXPECT_EQ(parse_example(a1 + a2).features.at("a"), Feature(Floats{2}));
  // One feature with lists of two kinds and two lists of the last.
  const std::string lists =
      "\x1a\x03\n\x01\x05\x0a\x03\n\x01"
      "x"
      "\x1a\x03\n\x01\x06\x1a\x03\n\x01\x07"s;
  FeatureField field(lists);
  ASSERT_EQ(field.kind(), FeatureKind::kInt64);
  Ints values;
  field.append_to(&values);
  EXPECT_EQ(values, (Ints{6, 7}));
}

TEST(Example, RefusesMalformedBytes) {
  const std::string good = records("examples_plain.tfrecord")[0];
  for (std::size_t length = 1; length < good.size(); ++length) {
    try {
      parse_example(good.substr(0, length));
      ADD_FAILURE() << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDataLoss) << error.what();
    }
  }
  EXPECT_THROW(parse_example("abc"), Error);
  EXPECT_THROW(parse_sequence_example("\x12\x7f"), Error);
}

}  // namespace
}  // namespace caudal
