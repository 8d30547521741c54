// Golden vectors: calls of ops by a real TensorFlow 2.21 (testdata/golden/ops), against ours.
//
// Every case of a registered op runs in op_harness_test.cc, without any further test. More cases of an op: lines in a
// file <family>_more.jsonl beside the others (their shapes in ops_shapes/), with ids of their own ("StringJoin/more0"),
// in the form of json_data.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/harness/op_harness.h"

namespace caudal::inline v0::harness {

class GoldenVectors {
 public:
  // Reads ops/*.jsonl and ops_shapes/*.jsonl in `folder`, lines only; throws NOT_FOUND if there are none.
  explicit GoldenVectors(const std::string& folder);

  std::vector<std::string> ops() const;
  // Number of cases of an op.
  int count(const std::string& op) const;
  // Runs every case of the op: outputs or error code (fed and constant), gradients, inferred shapes. Checks "golden",
  // "golden_gradient", "golden_shape" in the report; findings name case, output, index, expected and got. A case in
  // `exceptions` must not agree.
  void check(const std::string& op, const std::vector<std::string>& exceptions, OpReport& report) const;

 private:
  std::map<std::string, std::vector<std::string>> cases_;  // lines by op
  std::map<std::string, std::string> shapes_;              // line by case id
};

}  // namespace caudal::inline v0::harness
