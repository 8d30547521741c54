#include "caudal/ops/unicode_ops.h"

#include <gtest/gtest.h>

#include "caudal/ops/utf8.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;
using Strings = std::vector<std::string>;
using namespace std::string_literals;

TEST(Utf8, RoundTripsEveryCodePoint) {
  for (std::int32_t code = 0; code <= 0x10ffff; ++code) {
    if (!is_code_point(code)) continue;
    std::string bytes;
    append_utf8(code, &bytes);
    const Utf8Character character = first_utf8_character(bytes);
    ASSERT_EQ(character.code, code);
    ASSERT_FALSE(character.malformed);
    ASSERT_EQ(character.bytes, bytes.size());
  }
}

// Values of TensorFlow 2.21, whose decoder is ICU's.
CAUDAL_OP_SAMPLES(UnicodeDecode) {
  const AttrMap utf8 = {{"input_encoding", "UTF-8"}};
  const auto malformed = [&](const std::string& bytes, const std::vector<int>& codes) {
    samples.add({.inputs = {Tensor(bytes)},
                 .attrs = utf8,
                 .expected = {longs({0, static_cast<std::int64_t>(codes.size())}), ints(codes)},
                 .shape_unknown = true});
  };
  constexpr int kBad = 0xfffd;
  malformed(
      "a\xff"
      "b",
      {'a', kBad, 'b'});
  malformed(
      "\xe2\x82"
      "a",
      {kBad, 'a'});
  malformed("\xf0\x9f\x98\x80", {0x1f600});
  malformed("\xc0\x80", {kBad, kBad});
  malformed("\xed\xa0\x80", {kBad, kBad, kBad});
  malformed("\xf4\x90\x80\x80", {kBad, kBad, kBad, kBad});
  malformed("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", {kBad, kBad, kBad, kBad, 'A'});
  malformed("\xef\xbb\xbfx", {0xfeff, 'x'});
  samples.add({.inputs = {Tensor::from<std::string>({2, 2}, {"ab", "", "c", "d\xc3\xa9"})},
               .attrs = {{"input_encoding", "UTF-8"}, {"Tsplits", int32}},
               .expected = {ints({0, 2, 2, 3, 5}), ints({97, 98, 99, 100, 233})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(string, {0})}, .attrs = utf8, .shape_unknown = true});
  samples.add({.inputs = {Tensor("\xe9\x41")},
               .attrs = {{"input_encoding", "latin1"}},
               .expected = {longs({0, 2}), ints({233, 65})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor("\xd8\0\0a"s)},
               .attrs = {{"input_encoding", "UTF-16-BE"}},
               .expected = {longs({0, 2}), ints({kBad, 97})},
               .shape_unknown = true});
  samples.error({Tensor("a\xff")}, Code::kInvalidArgument, {{"input_encoding", "UTF-8"}, {"errors", "strict"}});
  samples.error({Tensor("a")}, Code::kInvalidArgument, {{"input_encoding", "xyz"}}, "xyz");
  samples.error({Tensor("a")}, Code::kInvalidArgument, {{"input_encoding", "UTF-8"}, {"replacement_char", 0x110000}});
}
CAUDAL_OP_SAMPLES(UnicodeDecodeWithOffsets) {
  samples.add({.inputs = {Tensor(Strings{"a\xffh\xc3\xa9", ""})},
               .attrs = {{"input_encoding", "UTF-8"}, {"errors", "ignore"}},
               .expected = {longs({0, 3, 3}), ints({97, 104, 233}), longs({0, 2, 3})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor("a\0b\x1f\x7f\n"s)},
               .attrs = {{"input_encoding", "UTF-8"}, {"replace_control_characters", true}, {"Tsplits", int32}},
               .expected = {ints({0, 6}), ints({97, 65533, 98, 65533, 127, 65533}), longs({0, 1, 2, 3, 4, 5})},
               .shape_unknown = true});
  samples.error({Tensor("\xff")}, Code::kInvalidArgument, {{"input_encoding", "UTF-8"}, {"errors", "strict"}});
}
CAUDAL_OP_SAMPLES(UnicodeEncode) {
  const Tensor codes = ints({97, 233, 0x1f600, 0, 0x20ac});
  samples.add({.inputs = {codes, longs({0, 2, 5})},
               .attrs = {{"output_encoding", "UTF-8"}},
               .expected = {Tensor(Strings{"a\xc3\xa9", "\xf0\x9f\x98\x80\0\xe2\x82\xac"s})}});
  samples.add({.inputs = {codes, ints({0, 2, 5})},
               .attrs = {{"output_encoding", "UTF-16-BE"}},
               .expected = {Tensor(Strings{"\0a\0\xe9"s, "\xd8=\xde\0\0\0 \xac"s})}});
  samples.error({codes, longs({0, 1, 1})}, Code::kInvalidArgument, {{"output_encoding", "UTF-32-BE"}});
  samples.add({.inputs = {ints({0xd800, 0x110000, -1, 97}), longs({0, 4})},
               .attrs = {{"output_encoding", "UTF-32-BE"}, {"replacement_char", 63}},
               .expected = {Tensor(Strings{"\0\0\0?\0\0\0?\0\0\0?\0\0\0a"s})}});
  samples.add({.inputs = {ints({0xd800, 97}), longs({0, 2})},
               .attrs = {{"output_encoding", "UTF-8"}, {"errors", "ignore"}},
               .expected = {Tensor(Strings{"a"})}});
  samples.add({.inputs = {ints({}), longs({0})}, .attrs = {{"output_encoding", "UTF-8"}}});
  samples.error({ints({0xd800}), longs({0, 1})}, Code::kInvalidArgument,
                {{"output_encoding", "UTF-8"}, {"errors", "strict"}});
  samples.error({ints({97}), longs({0, 2})}, Code::kInvalidArgument, {{"output_encoding", "UTF-8"}});
  samples.error({ints({97, 98}), longs({0, -1, 2})}, Code::kInvalidArgument, {{"output_encoding", "UTF-8"}});
  samples.error({ints({97}), longs({1, 1})}, Code::kInvalidArgument, {{"output_encoding", "UTF-8"}});
}
CAUDAL_OP_SAMPLES(UnicodeTranscode) {
  samples.add({.inputs = {Tensor(Strings{"a\xff"
                                         "b\xc3\xa9",
                                         ""})},
               .attrs = {{"input_encoding", "UTF-8"}, {"output_encoding", "UTF-16-BE"}},
               .expected = {Tensor(Strings{"\0a\xff\xfd\0b\0\xe9"s, ""})}});
  samples.add({.inputs = {Tensor("\xe9")},
               .attrs = {{"input_encoding", "latin1"}, {"output_encoding", "UTF-8"}},
               .expected = {Tensor("\xc3\xa9")}});
  samples.add(
      {.inputs = {Tensor(string, {0, 2})}, .attrs = {{"input_encoding", "UTF-8"}, {"output_encoding", "UTF-8"}}});
  samples.error({Tensor("a\xff")}, Code::kInvalidArgument,
                {{"input_encoding", "UTF-8"}, {"output_encoding", "UTF-8"}, {"errors", "strict"}});
}
CAUDAL_OP_SAMPLES(UnicodeScript) {
  samples.add({.inputs = {ints({97, 0x4e00, 0x3b1, 0x430, -1, 0x110000, 0x10ffff, 0x300})},
               .expected = {ints({25, 17, 14, 8, -1, -1, 103, 1})}});
  samples.add({.inputs = {Tensor(int32, {0, 2})}});
}

}  // namespace
}  // namespace caudal::inline v0
