#include "caudal/ops/string_list_ops.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;
using Strings = std::vector<std::string>;
using Ints = std::vector<std::int64_t>;

Tensor indices(const Ints& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / 2, 2}, values);
}

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(StringSplit) {
  samples.add({.inputs = {Tensor(Strings{"a,b;c,;d", ""}), Tensor(",;")},
               .expected = {indices({0, 0, 0, 1, 0, 2, 0, 3}), Tensor(Strings{"a", "b", "c", "d"}), longs({2, 4})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(Strings{"a  b ", ""}), Tensor(" ")},
               .attrs = {{"skip_empty", false}},
               .expected = {indices({0, 0, 0, 1, 0, 2, 0, 3}), Tensor(Strings{"a", "", "b", ""}), longs({2, 4})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(Strings{"abc", ""}), Tensor("")},
               .expected = {indices({0, 0, 0, 1, 0, 2}), Tensor(Strings{"a", "b", "c"}), longs({2, 3})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(string, {0}), Tensor(" ")}, .shape_unknown = true});
  samples.error({Tensor("a"), Tensor(" ")}, Code::kInvalidArgument);
  samples.error({Tensor(Strings{"a"}), Tensor(Strings{" "})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StringSplitV2) {
  samples.add(
      {.inputs = {Tensor(Strings{"hello  world", " a  b ", ""}), Tensor("")},
       .expected = {indices({0, 0, 0, 1, 1, 0, 1, 1}), Tensor(Strings{"hello", "world", "a", "b"}), longs({3, 2})},
       .shape_unknown = true});
  samples.add(
      {.inputs = {Tensor(Strings{"a<>b<>c", "<>"}), Tensor("<>")},
       .expected = {indices({0, 0, 0, 1, 0, 2, 1, 0, 1, 1}), Tensor(Strings{"a", "b", "c", "", ""}), longs({2, 3})},
       .shape_unknown = true});
  samples.add({.inputs = {Tensor(Strings{" a  b c ", "a "}), Tensor("")},
               .attrs = {{"maxsplit", 1}},
               .expected = {indices({0, 0, 0, 1, 1, 0, 1, 1}), Tensor(Strings{"a", "b c ", "a", ""}), longs({2, 2})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(Strings{"a,b,c"}), Tensor(",")},
               .attrs = {{"maxsplit", 0}},
               .expected = {indices({0, 0}), Tensor(Strings{"a,b,c"}), longs({1, 1})},
               .shape_unknown = true});
  samples.error({Tensor("a"), Tensor(" ")}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ReduceJoin) {
  const Tensor grid = Tensor::from<std::string>({3, 2}, {"a", "b", "c", "d", "e", "f"});
  samples.add({.inputs = {grid, Tensor(0)}, .expected = {Tensor(Strings{"ace", "bdf"})}});
  samples.add({.inputs = {grid, ints({0, 1})}, .expected = {Tensor("acebdf")}});
  samples.add({.inputs = {grid, ints({1, 0})}, .expected = {Tensor("abcdef")}});
  samples.add({.inputs = {grid, ints({})}, .attrs = {{"separator", "."}}, .expected = {grid}});
  samples.add({.inputs = {grid, ints({-1})},
               .attrs = {{"keep_dims", true}, {"separator", "-"}},
               .expected = {Tensor::from<std::string>({3, 1}, {"a-b", "c-d", "e-f"})}});
  samples.add({.inputs = {Tensor(string, {0, 2}), Tensor(0)}, .expected = {Tensor(Strings{"", ""})}});
  samples.add({.inputs = {Tensor(string, {0, 2}), Tensor(1)}});
  samples.add({.inputs = {Tensor("a"), ints({})}, .expected = {Tensor("a")}});
  samples.add({.inputs = {samples.random(string, {2, 3, 4}), ints({2, 0})}});
  samples.error({grid, Tensor(2)}, Code::kOutOfRange);
  samples.error({grid, ints({0, -2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(UnsortedSegmentJoin) {
  const AttrMap comma = {{"separator", ","}};
  const Tensor grid = Tensor::from<std::string>({3, 2}, {"a", "b", "c", "d", "e", "f"});
  samples.add({.inputs = {Tensor(Strings{"a", "b", "c"}), ints({1, 0, 1}), Tensor(3)},
               .attrs = comma,
               .expected = {Tensor(Strings{"b", "a,c", ""})}});
  samples.add({.inputs = {grid, longs({1, 0, 1}), Tensor(std::int64_t{2})},
               .attrs = comma,
               .expected = {Tensor::from<std::string>({2, 2}, {"c", "d", "a,e", "b,f"})}});
  samples.add({.inputs = {grid, Tensor::from<int>({3, 2}, {0, 1, 1, 0, 2, 2}), Tensor(std::int64_t{3})},
               .attrs = comma,
               .expected = {Tensor(Strings{"a,d", "b,c", "e,f"})}});
  samples.add({.inputs = {Tensor(string, {0}), longs({}), Tensor(2)}, .expected = {Tensor(Strings{"", ""})}});
  samples.error({Tensor(Strings{"a", "b"}), ints({-1, 0}), Tensor(1)}, Code::kInvalidArgument);
  samples.error({Tensor(Strings{"a", "b"}), ints({0, 2}), Tensor(2)}, Code::kInvalidArgument);
  samples.error({Tensor(Strings{"a", "b"}), ints({0, 1}), Tensor(-1)}, Code::kInvalidArgument);
  samples.error({Tensor(Strings{"a", "b"}), ints({0}), Tensor(2)}, Code::kInvalidArgument);
  samples.error({Tensor("a"), Tensor(0), Tensor(1)}, Code::kInvalidArgument);
}

AttrMap ngrams(const Ints& widths, std::int64_t pad_width = 0, bool keeps_short = false) {
  return {{"separator", " "}, {"ngram_widths", widths}, {"left_pad", "L"},
          {"right_pad", "R"}, {"pad_width", pad_width}, {"preserve_short_sequences", keeps_short}};
}

CAUDAL_OP_SAMPLES(StringNGrams) {
  const Tensor data(Strings{"a", "b", "c", "d", "e"});
  samples.add({.inputs = {data, longs({0, 3, 5})},
               .attrs = ngrams({1, 3}),
               .expected = {Tensor(Strings{"a", "b", "c", "a b c", "d", "e"}), longs({0, 4, 6})},
               .shape_unknown = true});
  samples.add(
      {.inputs = {data, ints({0, 3, 5})},
       .attrs = ngrams({3}, -1),
       .expected = {Tensor(Strings{"L L a", "L a b", "a b c", "b c R", "c R R", "L L d", "L d e", "d e R", "e R R"}),
                    ints({0, 5, 9})},
       .shape_unknown = true});
  samples.add({.inputs = {data, ints({0, 3, 3, 5})},
               .attrs = ngrams({4, 2}, 1, true),
               .expected = {Tensor(Strings{"L a b c", "a b c R", "L a", "a b", "b c", "c R", "L R", "L d e R", "L d",
                                           "d e", "e R"}),
                            ints({0, 6, 7, 11})},
               .shape_unknown = true});
  samples.add({.inputs = {data, longs({0, 3, 5})},
               .attrs = ngrams({4}, 0, true),
               .expected = {Tensor(Strings{"a b c", "d e"}), longs({0, 1, 2})},
               .shape_unknown = true});
  samples.add({.inputs = {data, longs({0, 3, 5})},
               .attrs = ngrams({}, 0, true),
               .expected = {Tensor(Strings{"a b c", "d e"}), longs({0, 1, 2})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor(string, {0}), longs({0, 0})},
               .attrs = ngrams({2}, 1),
               .expected = {Tensor(string, {0}), longs({0, 0})},
               .shape_unknown = true});
  samples.error({data, longs({0, 5})}, Code::kInvalidArgument, ngrams({}, -1, true));
  for (const Tensor& splits : {longs({0, 6}), longs({1, 5}), longs({0, 4, 3, 5}), longs({0, 3})}) {
    samples.error({data, splits}, Code::kInvalidArgument, ngrams({2}));
  }
  samples.error({data, longs({0, 5})}, Code::kInvalidArgument, ngrams({0}));
  samples.error({data, longs({0, 5})}, Code::kResourceExhausted, ngrams({1 << 30}, -1));
}

}  // namespace
}  // namespace caudal::inline v0
