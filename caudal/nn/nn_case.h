// The recorded cases of this layer, for its tests.
#pragma once

#include "tests/harness/tensor_cases.h"

namespace caudal {

struct NnCase : harness::RecordedCase {
  explicit NnCase(const std::string& name) : harness::RecordedCase(CAUDAL_SOURCE_DIR "/testdata/nn/cases.tsv", name) {}
};

}  // namespace caudal
