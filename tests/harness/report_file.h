// The harness's results as a file, from which `caudal ops --json` and the list of supported ops are made.
//
// Where the environment variable CAUDAL_HARNESS_REPORT names a file, it holds after the tests, one op a line:
//   [{"op":"Relu","ok":true,"samples":31,"golden_cases":6,"gradient":"yes",
//     "dtypes":{"T":["float32","float64"]},"checks":{"value":31,"isa":62,...},"failed":["in_place",...]},
//   ...]
// checks counts what passed, by the names of op_harness.h; failed names the checks that found something.
#pragma once

#include <string>
#include <vector>

#include "tests/harness/op_harness.h"

namespace caudal::inline v0::harness {

struct OpResult {
  OpReport report;
  int samples = 0;
  int golden_cases = 0;
};

// The file's content, sorted by op.
std::string report_json(std::vector<OpResult> results);

// Keeps the result for the file. The first call sees to it that the file is written after the last test.
void record(OpResult result);

}  // namespace caudal::inline v0::harness
