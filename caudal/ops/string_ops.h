// Strings as tensors, and files as strings.
//
// Thread safety: as building a graph.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct StringJoinOptions {
  std::string separator = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
namespace strings {
// Element by element, the inputs one after another with the separator between them. All inputs have one shape or are
// scalars, else INVALID_ARGUMENT.
CAUDAL_API Output join(const std::vector<Operand>& inputs, const StringJoinOptions& options = {});
}  // namespace strings

struct AsStringOptions {
  std::int64_t precision = -1;  // digits after the point; default 6
  bool scientific = false;      // "1.5e+00"
  bool shortest = false;        // the shorter of both forms
  std::int64_t width = -1;      // at least so many characters
  std::string fill = {};        // what comes before: " " by default, or "0", "-" (fills behind), "+"
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Numbers, bools and strings as printf writes them ("%f", "%d"); complex numbers as "(1.0,2.0)".
CAUDAL_API Output as_string(const Operand& input, const AsStringOptions& options = {});

// The bytes of the file `filename`, a string scalar. Run time errors: NOT_FOUND and what else the file system says.
CAUDAL_API Output read_file(const Operand& filename, const OpOptions& options = {});
// Writes the file, and makes its folder where there is none. A crash leaves the old content or the new one.
CAUDAL_API Operation write_file(const Operand& filename, const Operand& contents, const OpOptions& options = {});

}  // namespace caudal::inline v0
