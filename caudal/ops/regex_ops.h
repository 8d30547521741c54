// Regular expressions over strings, in RE2's syntax (https://github.com/google/re2/wiki/Syntax): matching takes time
// linear in the text.
//
// Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::strings {

struct RegexReplaceOptions {
  bool replace_global = true;  // every match, not only the first
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// Strings in which matches of `pattern` are replaced by `rewrite`; in it \1 to \9 stand for the pattern's groups, \0
// for the whole match. Same shape as `input`. The pattern and the rewrite are string scalars. Errors: INVALID_ARGUMENT
// for a pattern that is none or needs more than 8 MiB, RESOURCE_EXHAUSTED where a result could pass 1 GiB.
CAUDAL_API Output regex_replace(const Operand& input, const Operand& pattern, const Operand& rewrite,
                                const RegexReplaceOptions& options = {});

// bool, same shape: whether the whole of each string matches. Errors as above.
CAUDAL_API Output regex_full_match(const Operand& input, const Operand& pattern, const OpOptions& options = {});

}  // namespace caudal::inline v0::strings
