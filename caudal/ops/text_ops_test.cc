#include "caudal/ops/text_ops.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;
using Strings = std::vector<std::string>;
using namespace std::string_literals;

const AttrMap kCharacters = {{"unit", "UTF8_CHAR"}};

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(StringLength) {
  const Tensor texts(Strings{"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                             "\xff\xfe\x80"
                             "ab",
                             "\xe2\x82", ""});
  samples.add({.inputs = {texts}, .expected = {ints({10, 5, 2, 0})}});
  samples.add({.inputs = {texts}, .attrs = kCharacters, .expected = {ints({4, 4, 1, 0})}});
  samples.add({.inputs = {samples.random(string, {2, 700})}});
  samples.add({.inputs = {Tensor(string, {0, 2})}});
  samples.error({Tensor("a")}, Code::kInvalidArgument, {{"unit", "WORD"}});
}
CAUDAL_OP_SAMPLES(Substr) {
  const Tensor pair(Strings{"abc", "hello"});
  const std::string mixed = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  samples.add({.inputs = {pair, ints({1, -2}), ints({20, 1})}, .expected = {Tensor(Strings{"bc", "l"})}});
  samples.add({.inputs = {pair, longs({3, 2}), longs({1, -2})}, .expected = {Tensor(Strings{"", "llo"})}});
  samples.add({.inputs = {Tensor(Strings{mixed, mixed}), ints({1, -2}), ints({2, 1})},
               .attrs = kCharacters,
               .expected = {Tensor(Strings{"\xc3\xa9\xe2\x82\xac", "\xe2\x82\xac"})}});
  samples.add({.inputs = {Tensor("a\xff\xe2\x82"
                                 "b"),
                          Tensor(1), Tensor(2)},
               .attrs = kCharacters,
               .expected = {Tensor("\xff\xe2\x82")}});
  samples.add({.inputs = {Tensor::from<std::string>({2, 2}, {"abc", "defg", "xyz", "uvw"}), ints({0, 1}), ints({1, 2})},
               .expected = {Tensor::from<std::string>({2, 2}, {"a", "ef", "x", "vw"})}});
  samples.add({.inputs = {Tensor("abc"), ints({0, 1}), ints({1, 2})}, .expected = {Tensor(Strings{"a", "bc"})}});
  samples.add({.inputs = {Tensor::from<std::string>({2, 1}, {"abc", "xyz"}), ints({1, 0}), ints({1, 1})},
               .expected = {Tensor::from<std::string>({2, 2}, {"b", "a", "y", "x"})}});
  samples.add({.inputs = {Tensor(string, {0}), Tensor(1), Tensor(2)}});
  for (const AttrMap& unit : {AttrMap{}, kCharacters}) {
    samples.error({Tensor("abc"), Tensor(4), Tensor(1)}, Code::kInvalidArgument, unit, "out of range");
    samples.error({Tensor("abc"), Tensor(-4), Tensor(1)}, Code::kInvalidArgument, unit, "out of range");
  }
  samples.error({pair, ints({1}), Tensor(1)}, Code::kInvalidArgument);
  samples.error({Tensor(Strings{"a", "b", "c"}), ints({0, 0}), ints({1, 1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StringLower) {
  samples.add({.inputs = {Tensor(Strings{"\xc3\x80 AbZ[@", ""})}, .expected = {Tensor(Strings{"\xc3\x80 abz[@", ""})}});
  samples.add({.inputs = {Tensor(Strings{"\xc3\x80 ABC \xce\x91\xce\xa3",
                                         "\xff"
                                         "A"})},
               .attrs = {{"encoding", "utf-8"}},
               .expected = {Tensor(Strings{"\xc3\xa0 abc \xce\xb1\xcf\x82",
                                           "\xef\xbf\xbd"
                                           "a"})}});
  samples.add({.inputs = {samples.random(string, {3, 500})}});
  samples.error({Tensor("A")}, Code::kInvalidArgument, {{"encoding", "latin1"}});
}
CAUDAL_OP_SAMPLES(StringUpper) {
  samples.add({.inputs = {Tensor(Strings{"stra\xc3\x9f"
                                         "e az{`",
                                         ""})},
               .expected = {Tensor(Strings{"STRA\xc3\x9f"
                                           "E AZ{`",
                                           ""})}});
  samples.add({.inputs = {Tensor("stra\xc3\x9f"
                                 "e \xc3\xa9"
                                 "a \xef\xac\x81")},
               .attrs = {{"encoding", "utf-8"}},
               .expected = {Tensor("STRASSE \xc3\x89"
                                   "A FI")}});
  samples.add({.inputs = {Tensor(string, {0})}});
  samples.error({Tensor("A")}, Code::kInvalidArgument, {{"encoding", "UTF-8"}});
}
CAUDAL_OP_SAMPLES(StringStrip) {
  samples.add({.inputs = {Tensor(Strings{" \t\n\x0b\x0c\r a b \0 "s, "\xc2\xa0x\xc2\xa0", "   ", ""})},
               .expected = {Tensor(Strings{"a b \0"s, "\xc2\xa0x\xc2\xa0", "", ""})}});
  samples.add({.inputs = {Tensor(string, {2, 0})}});
}
CAUDAL_OP_SAMPLES(EncodeBase64) {
  const Tensor bytes(Strings{"", "a", "ab", "abc", "\xfb\xff\xfe"});
  samples.add({.inputs = {bytes}, .expected = {Tensor(Strings{"", "YQ", "YWI", "YWJj", "-__-"})}});
  samples.add(
      {.inputs = {bytes}, .attrs = {{"pad", true}}, .expected = {Tensor(Strings{"", "YQ==", "YWI=", "YWJj", "-__-"})}});
  samples.add({.inputs = {Tensor(string, {0})}});
}
CAUDAL_OP_SAMPLES(DecodeBase64) {
  samples.add({.inputs = {Tensor(Strings{"", "YQ", "YQ==", "YWI", "YWI=", "YWJj", "-__-", "YR"})},
               .expected = {Tensor(Strings{"", "a", "a", "ab", "ab", "abc", "\xfb\xff\xfe", "a"})}});
  samples.add({.inputs = {Tensor(string, {0})}});
  for (const std::string& bad : Strings{"YQ=", "+//+", "Y", "YQ=a", "Y Q", "====", "YWJjZ==="}) {
    samples.error({Tensor(bad)}, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace caudal::inline v0
