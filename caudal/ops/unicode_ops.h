// Text as code points and back.
//
// UTF-8 needs nothing; scripts and other encodings of input need the module unicode (over ICU) and are UNIMPLEMENTED
// without it. Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/ragged_tensor.h"

namespace caudal::inline v0 {

// What becomes of malformed text.
enum class UnicodeErrors {
  kStrict,   // INVALID_ARGUMENT
  kReplace,  // a replacement character
  kIgnore,   // left out
};

struct UnicodeOptions {
  UnicodeErrors errors = UnicodeErrors::kReplace;
  int replacement_char = 0xfffd;
  bool replace_control_characters = false;  // those below U+0020 count as malformed, though never as errors
  std::string name = {};
  std::source_location where = std::source_location::current();
};

namespace strings {

// The code points of each string, one row per string: values int32, row_splits int64.
// input_encoding: "UTF-8", or whatever ICU knows ("UTF-16-BE", "latin1").
CAUDAL_API RaggedTensor unicode_decode(const Operand& input, const std::string& input_encoding,
                                       const UnicodeOptions& options = {});
struct DecodedWithOffsets {
  RaggedTensor code_points;
  Output offsets;  // int64: where each begins in its string, in bytes
};
CAUDAL_API DecodedWithOffsets unicode_decode_with_offsets(const Operand& input, const std::string& input_encoding,
                                                          const UnicodeOptions& options = {});

// Rows of code points as strings in "UTF-8", "UTF-16-BE" or "UTF-32-BE".
CAUDAL_API Output unicode_encode(const RaggedTensor& input, const std::string& output_encoding,
                                 const UnicodeOptions& options = {});

CAUDAL_API Output unicode_transcode(const Operand& input, const std::string& input_encoding,
                                    const std::string& output_encoding, const UnicodeOptions& options = {});

// ICU's number of each code point's script (UScriptCode); -1 for numbers that are none.
CAUDAL_API Output unicode_script(const Operand& input, const OpOptions& options = {});

}  // namespace strings

}  // namespace caudal::inline v0
