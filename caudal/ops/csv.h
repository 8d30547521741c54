// Lines of comma-separated values as columns (tf.io.decode_csv; RFC 4180 with TensorFlow's rules).
//
//   auto columns = decode_csv(lines, {Tensor(std::vector<float>{-1}), Tensor(std::vector<int>{})});
//
// Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct DecodeCsvOptions {
  std::string field_delim = ",";               // one character
  bool use_quote_delim = true;                 // fields may stand in double quotes, which are doubled inside
  std::string na_value = {};                   // what else counts as missing, besides nothing
  std::vector<std::int64_t> select_cols = {};  // columns to give, ascending; default: all
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// One output per default, of its type (float32, float64, int32, int64, string) and the shape of `records` (strings, a
// line each). A default has one element, or none where the field is required. Run time errors: INVALID_ARGUMENT for a
// line with another number of fields, a field that is no number of its type, a required field that is missing, quotes
// in the wrong place.
CAUDAL_API std::vector<Output> decode_csv(const Operand& records, const std::vector<Operand>& record_defaults,
                                          const DecodeCsvOptions& options = {});

}  // namespace caudal::inline v0
