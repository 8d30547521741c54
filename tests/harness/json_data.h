// Reads the JSON files of testdata/ that the harness uses. The JSON library stays behind json_data.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/core/op_def.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::harness {

// TensorFlow's op definitions (testdata/interop/op_defs.json) by name.
std::map<std::string, OpDef> read_op_defs(const std::string& path);

// One case of testdata/golden/ops/*.jsonl: a call of an op by a real TensorFlow 2.21.
struct GoldenCall {
  std::string op, id;
  AttrMap attrs;
  std::vector<std::vector<Tensor>> inputs;      // by argument of the definition
  std::vector<Tensor> outputs;                  // invalid where TensorFlow leaves memory as it was (null in the file)
  std::vector<Tensor> second_outputs;           // of a second run in the same session, where that differs
  std::vector<std::optional<Tensor>> gradient;  // by flat input; empty: not recorded
  std::optional<Code> error;
  std::string why;
};
// `line` as the file has it. Attributes take the kinds of the op's definition. REQUIRES: the op is registered.
GoldenCall parse_golden_case(const std::string& line);

// Output shapes that TensorFlow infers for a golden case (testdata/golden/ops_shapes/shapes.jsonl).
struct GoldenShapes {
  using Shapes = std::optional<std::vector<PartialShape>>;  // none: TensorFlow refuses to build the node
  std::string id;
  // Flat positions of inputs that are Const nodes; not recorded where TensorFlow refused every form. They are the
  // int32 and int64 inputs up to rank 1 with up to 16 elements.
  std::optional<std::vector<int>> constants;
  Shapes known, first_dim_unknown, rank_unknown;
};
GoldenShapes parse_golden_shapes(const std::string& line);

// A tensor in the form of testdata/golden: {"t": type, "s": shape, "v": values}.
Tensor parse_tensor(const std::string& json);

// A JSON string literal.
std::string json_quoted(const std::string& text);

}  // namespace caudal::inline v0::harness
