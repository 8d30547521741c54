// Ops that tell people something while a graph runs.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct PrintOptions {
  std::string message;
  int first_n = -1;   // only the first runs of the node in a session print; -1: all
  int summarize = 3;  // elements of each tensor; -1: all
  std::string name;
  std::source_location where = std::source_location::current();
};
// `input` as it is; whenever it is computed, message and data go to standard error: "message[1 2 3...][4]".
CAUDAL_API Output Print(const Output& input, const std::vector<Operand>& data, const PrintOptions& options = {});

namespace raw_ops {

struct PrintV2Options {
  std::string output_stream = "stderr";  // or stdout, log(info), log(warning), log(error), file://path
  std::string end = "\n";
  std::string name;
  std::source_location where = std::source_location::current();
};
// Writes the text. INVALID_ARGUMENT for a stream that does not exist.
CAUDAL_API Operation print_v2(const Operand& input, const PrintV2Options& options = {});

struct StringFormatOptions {
  std::string placeholder = "%s";
  int summarize = 3;
  std::string name;
  std::source_location where = std::source_location::current();
};
// The text with every placeholder replaced by one input: "[1 2 3 ... 7 8 9]". INVALID_ARGUMENT unless there are as
// many.
CAUDAL_API Output string_format(const std::vector<Output>& inputs, const std::string& text,
                                const StringFormatOptions& options = {});

// Seconds since 1970, as float64.
CAUDAL_API Output timestamp(const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
