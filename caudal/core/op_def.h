// What an op looks like from outside: its arguments and attributes, parsed from TensorFlow's definition mini-language.
//
// Arguments, separated by ';':   "a: T"  "values: N * T"  "data: dtypes" (a list(type) attribute)  "ref: Ref(T)"
// Attributes, separated by ';':  "T: {float, double} = DT_FLOAT"  "N: int >= 1"  "padding: {'SAME', 'VALID'}"
//                                "strides: list(int)"  "shape: shape = ?"  "bad_color: tensor = uint8[255, 0]"
// Type sets: numbertype, realnumbertype, quantizedtype, type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/attr.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0 {

struct ArgDef {
  std::string name;
  DType type = DType::kInvalid;  // set for a fixed type, else one of the attributes below tells
  std::string type_attr;         // "T"
  std::string number_attr;       // "N": that many tensors of one type
  std::string type_list_attr;    // "dtypes": one tensor for each type of the list
  bool is_ref = false;
};

struct AttrDef {
  std::string name;
  std::string kind;  // "int", "list(type)", ...
  std::optional<AttrValue> default_value;
  std::optional<std::int64_t> minimum;       // of the value, or of the list's length
  std::vector<DType> allowed_types;          // empty = all
  std::vector<std::string> allowed_strings;  // empty = all
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;  // in the order of the definition
  bool stateful = false;
  bool commutative = false;
  bool aggregate = false;
  bool allows_uninitialized_input = false;
  int deprecated_version = 0;  // GraphDef version from which the op is refused in new graphs; 0 = never

  const AttrDef* find_attr(std::string_view name) const;
};

// Throws INTERNAL with the offending piece if a text is not in the language: a definition is our own source code.
CAUDAL_API OpDef parse_op_def(std::string_view name, std::string_view inputs, std::string_view outputs,
                              std::string_view attrs);

// Fills in defaults, checks kinds, allowed values, minima. Unknown attributes starting with '_' pass; others are
// INVALID_ARGUMENT. The attributes that `inputs` determine (T, N, dtypes) must be there already.
CAUDAL_API void complete_attrs(const OpDef& def, AttrMap& attrs);

// The types of all inputs or outputs, one entry per tensor; ref tells for each whether it is a reference.
struct ArgTypes {
  std::vector<DType> types;
  std::vector<bool> refs;
};
CAUDAL_API ArgTypes expand_args(const std::vector<ArgDef>& args, const AttrMap& attrs);

// Positions [begin, end) that argument `name` takes among the expanded ones.
struct ArgRange {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};
CAUDAL_API ArgRange arg_range(const std::vector<ArgDef>& args, const AttrMap& attrs, std::string_view name);

}  // namespace caudal::inline v0
