// Examples written as JSON.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::io {

// Each string, an Example in protobuf's JSON form ({"features": {"feature": {"a": {"int64List": {"value": [1]}}}}}), as
// the bytes of the Example. Same shape. INVALID_ARGUMENT, at run time, naming the element and what is wrong in it.
CAUDAL_API Output decode_json_example(const Operand& json_examples, const OpOptions& options = {});

}  // namespace caudal::inline v0::io
