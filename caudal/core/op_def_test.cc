#include "caudal/core/op_def.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/base/error.h"
#include "caudal/core/op_registry.h"

namespace caudal {
namespace {

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

OpDef with_attrs(std::string_view attrs) { return parse_op_def("Test", "", "", attrs); }

TEST(ParseOpDef, Arguments) {
  const OpDef def =
      parse_op_def("Test", "a: T; values: N * T; data: dtypes; ref: Ref(T); many: Ref(N * int32); i: string",
                   "out: float", "T: type; N: int >= 1; dtypes: list(type)");
  ASSERT_EQ(def.inputs.size(), 6U);
  EXPECT_EQ(def.inputs[0].type_attr, "T");
  EXPECT_EQ(def.inputs[1].number_attr, "N");
  EXPECT_EQ(def.inputs[1].type_attr, "T");
  EXPECT_EQ(def.inputs[2].type_list_attr, "dtypes");
  EXPECT_TRUE(def.inputs[3].is_ref);
  EXPECT_EQ(def.inputs[3].type_attr, "T");
  EXPECT_EQ(def.inputs[5].type, string);
  EXPECT_EQ(def.outputs[0].type, float32);
  EXPECT_EQ(parse_op_def("Test", "", "", "").attrs.size(), 0U);
}

TEST(ParseOpDef, AttributesOfEveryKind) {
  const OpDef def = with_attrs(
      "i: int >= -3 = 2; f: float = -1.5e-3; b: bool = true; s: string = 'a;b=c'; t: {float, DT_HALF} = DT_FLOAT;"
      "shape: shape = ?; known: shape = [2,-1,3]; c: tensor = uint8[255, 0]; fn: func; li: list(int) >= 2 = [1, 2];"
      "lf: list(float) = [0.5]; lb: list(bool) = [true, false]; ls: list(string) = ['x', 'y,z'];"
      "lt: list({int32, int64}) = [DT_INT32]; lsh: list(shape) = [[1], ?]; p: {'SAME', 'VALID'}; q: quantizedtype;"
      "inf: float = inf; empty: list(int) = []; none: string = ''");
  const auto value = [&](std::string_view name) { return def.find_attr(name)->default_value->to_string(); };
  EXPECT_EQ(def.find_attr("i")->minimum, -3);
  EXPECT_EQ(value("i"), "2");
  EXPECT_EQ(*def.find_attr("f")->default_value->get_if<float>(), -1.5e-3F);
  EXPECT_EQ(value("b"), "true");
  EXPECT_EQ(value("s"), "\"a;b=c\"");
  EXPECT_EQ(def.find_attr("t")->allowed_types, (std::vector<DType>{float32, float16}));
  EXPECT_EQ(value("shape"), "<unknown>");
  EXPECT_EQ(value("known"), "[2,?,3]");
  EXPECT_TRUE(
      identical(*def.find_attr("c")->default_value->get_if<Tensor>(), Tensor::from<std::uint8_t>({2}, {255, 0})));
  EXPECT_FALSE(def.find_attr("fn")->default_value);
  EXPECT_EQ(def.find_attr("li")->minimum, 2);
  EXPECT_EQ(value("li"), "[1, 2]");
  EXPECT_EQ(value("lb"), "[true, false]");
  EXPECT_EQ(value("ls"), "[\"x\", \"y,z\"]");
  EXPECT_EQ(def.find_attr("lt")->kind, "list(type)");
  EXPECT_EQ(def.find_attr("lt")->allowed_types, (std::vector<DType>{int32, int64}));
  EXPECT_EQ(value("lsh"), "[[1], <unknown>]");
  EXPECT_EQ(def.find_attr("p")->allowed_strings, (std::vector<std::string>{"SAME", "VALID"}));
  EXPECT_EQ(def.find_attr("q")->allowed_types.size(), 5U);
  EXPECT_TRUE(std::isinf(*def.find_attr("inf")->default_value->get_if<float>()));
  EXPECT_EQ(def.find_attr("empty")->default_value->kind(), "list(int)");
  EXPECT_EQ(value("none"), "\"\"");
  EXPECT_EQ(def.find_attr("missing"), nullptr);
}

TEST(ParseOpDef, BadTextIsRefusedWithThePiece) {
  const char* bad_attrs[] = {"T",
                             ": int",
                             "T: ",
                             "T: integer",
                             "T: {float, flaot}",
                             "T: {float",
                             "i: int = x",
                             "i: int >= y",
                             "i: int = 3x",
                             "b: bool = maybe",
                             "s: string = abc",
                             "s: string = 'abc",
                             "s: {'a', b}",
                             "f: float = ?",
                             "s: shape = 3",
                             "s: shape = [1,x]",
                             "s: shape = [1",
                             "c: tensor = int8[1]",
                             "l: list(int",
                             "l: list(int) = 1",
                             "l: list(tensor) = []",
                             "f: func = f",
                             "t: type = bogus",
                             "lb: list(bool) = [1]"};
  for (const char* text : bad_attrs) {
    const std::string message = error_of([&] { with_attrs(text); });
    EXPECT_TRUE(message.starts_with("INTERNAL: definition of op Test, at '")) << text << " -> " << message;
  }
  const char* bad_args[] = {"a", ": T", "a: U", "a: M * T", "a: T * T", "a: Ref(T", "a: i", "a: S"};
  for (const char* text : bad_args) {
    const std::string message = error_of([&] { parse_op_def("Test", text, "", "T: type; i: int; S: list(int)"); });
    EXPECT_TRUE(message.starts_with("INTERNAL: definition of op Test, at '")) << text << " -> " << message;
  }
}

TEST(CompleteAttrs, FillsInAndChecks) {
  const OpDef def =
      with_attrs("T: {float, int32}; n: int >= 1 = 3; mode: {'A', 'B'} = 'A'; l: list(string) >= 1 = ['x']");
  AttrMap attrs{{"T", float32}, {"_note", 1}};
  complete_attrs(def, attrs);
  EXPECT_EQ(*attrs["n"].get_if<std::int64_t>(), 3);
  EXPECT_EQ(*attrs["mode"].get_if<std::string>(), "A");
  const auto complaint = [&](AttrMap given) {
    given.emplace("T", float32);
    return error_of([&] { complete_attrs(def, given); });
  };
  EXPECT_EQ(complaint({{"T", float64}}), "INVALID_ARGUMENT: attribute 'T' may not be float64; allowed: float32, int32");
  EXPECT_EQ(complaint({{"mode", "C"}}), "INVALID_ARGUMENT: attribute 'mode' may not be \"C\"; allowed: \"A\", \"B\"");
  EXPECT_EQ(complaint({{"n", 0}}), "INVALID_ARGUMENT: attribute 'n' is 0; at least 1 is wanted");
  EXPECT_EQ(complaint({{"n", "x"}}), "INVALID_ARGUMENT: attribute 'n' is \"x\" of kind string; kind int is wanted");
  EXPECT_EQ(complaint({{"l", std::vector<std::string>{}}}),
            "INVALID_ARGUMENT: attribute 'l' has 0 entries; at least 1 are wanted");
  EXPECT_EQ(complaint({{"size", 1}}), "INVALID_ARGUMENT: op Test has no attribute 'size'");
  EXPECT_EQ(complaint({{"n", AttrPlaceholder{"N"}}}), "no error");  // a function's body: bound later
  EXPECT_EQ(error_of([&] {
              AttrMap none;
              complete_attrs(def, none);
            }),
            "INVALID_ARGUMENT: attribute 'T' of kind type is missing");
}

TEST(CompleteAttrs, AnEmptyListTakesTheKindWanted) {
  const OpDef def = with_attrs("a: list(type); b: list(shape); c: list(func); d: list(tensor); e: list(float)");
  AttrMap attrs;
  for (const AttrDef& attr : def.attrs) attrs.emplace(attr.name, std::vector<std::int64_t>{});
  complete_attrs(def, attrs);
  for (const AttrDef& attr : def.attrs) EXPECT_EQ(attrs[attr.name].kind(), attr.kind);
}

TEST(ExpandArgs, CountsTypesAndRanges) {
  const OpDef def =
      parse_op_def("Test", "a: T; b: Ref(N * T); c: dtypes; d: bool", "", "T: type; N: int; dtypes: list(type)");
  const AttrMap attrs{{"T", int32}, {"N", 2}, {"dtypes", std::vector<DType>{string, float32}}};
  const ArgTypes types = expand_args(def.inputs, attrs);
  EXPECT_EQ(types.types, (std::vector<DType>{int32, int32, int32, string, float32, boolean}));
  const ArgRange c = arg_range(def.inputs, attrs, "c");
  EXPECT_EQ(c.begin, 3);
  EXPECT_EQ(c.end, 5);
  EXPECT_EQ(arg_range(def.inputs, attrs, "d").begin, 5);
  for (const std::int64_t n : {std::int64_t{-1}, std::int64_t{1} << 40}) {
    AttrMap bad = attrs;
    bad["N"] = n;
    EXPECT_NE(error_of([&] { expand_args(def.inputs, bad); }), "no error");
  }
  EXPECT_EQ(error_of([&] { expand_args(def.inputs, {}); }), "INVALID_ARGUMENT: attribute 'T' of kind type is missing");
}

TEST(AttrValue, KindsTextsAndEquality) {
  EXPECT_EQ(AttrValue().kind(), "none");
  EXPECT_EQ(AttrValue(std::vector<PartialShape>{}).kind(), "list(shape)");
  EXPECT_EQ(AttrValue(make_function_attr("f")).kind(), "func");
  EXPECT_TRUE(AttrValue(Tensor(1.0F)) == AttrValue(Tensor(1.0F)));
  EXPECT_FALSE(AttrValue(Tensor(1.0F)) == AttrValue(Tensor(2.0F)));
  EXPECT_FALSE(AttrValue(1) == AttrValue(1.0F));
  EXPECT_TRUE(AttrValue(make_function_attr("f", {{"a", 1}})) == AttrValue(make_function_attr("f", {{"a", 1}})));
  EXPECT_FALSE(AttrValue(make_function_attr("f", {{"a", 1}})) == AttrValue(make_function_attr("f", {{"a", 2}})));
  EXPECT_EQ(AttrValue(std::vector<bool>{true, false}).to_string(), "[true, false]");
  const AttrMap attrs{{"n", 3}};
  EXPECT_EQ(attr_as<std::int64_t>(attrs, "n"), 3);
  EXPECT_EQ(error_of([&] { attr_as<float>(attrs, "n"); }),
            "INVALID_ARGUMENT: attribute 'n' is 3 of kind int; kind float is wanted");
}

TEST(OpRegistry, EveryDefinitionParses) {
  const auto names = registered_ops();
  EXPECT_GT(names.size(), 50U);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string_view name : names) {
    const Op& op = lookup_op(name);
    EXPECT_EQ(op.name(), name);
    EXPECT_EQ(&op, find_op(name));  // parsed once
    EXPECT_NE(find_kernel(op, "CPU"), nullptr) << name;
    EXPECT_EQ(find_kernel(op, "TPU"), nullptr) << name;
    for (const AttrDef& attr : op.def.attrs) {  // a default obeys its own limits
      if (!attr.default_value) continue;
      OpDef alone;
      alone.attrs = {attr};
      AttrMap attrs{{attr.name, *attr.default_value}};
      EXPECT_NO_THROW(complete_attrs(alone, attrs)) << name << ' ' << attr.name;
    }
  }
}

TEST(OpRegistry, AnUnknownOpIsNotFoundWithNearNames) {
  EXPECT_EQ(find_op("MatMull"), nullptr);
  const std::string message = error_of([] { lookup_op("MatMull"); });
  EXPECT_TRUE(message.starts_with("NOT_FOUND: op type 'MatMull' is not registered")) << message;
  EXPECT_NE(message.find("MatMul"), std::string::npos);
}

}  // namespace
}  // namespace caudal
