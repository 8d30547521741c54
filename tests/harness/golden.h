// Vectors that a real TensorFlow 2.21 computed: testdata/ops/<family>.jsonl, one call of an op per line.
//
//   {"op", "id", "attrs", "in": [tensor or list of tensors], "out": [tensor] or "error": {"code"}, "grad",
//   "out_second_run"}
//
// A tensor is {"t": type, "s": shape, "v": values, "fill"}. `grad` holds, per input, d/d(input) of the sum over all
// floating outputs of sum(w * y), with w[k] = ((7k + 3) mod 11 - 5) / 4; null where there is none.
#pragma once

#include <string>
#include <vector>

#include "caudal/core/attr.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::harness {

struct GoldenCase {
  std::string op, id;
  AttrMap attrs;
  std::vector<std::vector<Tensor>> inputs;  // per argument of the definition
  std::vector<Tensor> outputs, second_outputs;
  int error_code = 0;
  bool has_gradients = false;
  std::vector<Tensor> gradients;  // per input; an invalid tensor where there is none
};

// Throws Error if the file is missing or not of the form.
std::vector<GoldenCase> read_golden(const std::string& path);

// Builds the case in a graph of its own and runs it twice in one session. Empty if all agrees, else what does not.
std::string check_golden(const GoldenCase& golden);

}  // namespace caudal::inline v0::harness
