// Strings taken apart into many and joined from many.
//
// Thread safety: as building a graph.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/ragged_tensor.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0 {

struct StringSplitOptions {
  bool skip_empty = true;  // no empty pieces
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The pieces of each string of a vector between the characters of `sep` (each one cuts; none: into single bytes),
// as a SparseTensor [strings, most pieces].
CAUDAL_API SparseTensor string_split(const Operand& source, const Operand& sep = " ",
                                     const StringSplitOptions& options = {});

namespace strings {

struct SplitOptions {
  std::int64_t maxsplit = -1;  // after so many cuts the rest stays whole; negative: no limit
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The pieces of each string of a vector between occurrences of `sep`; "": between runs of white space, of which none is
// empty. As Python's str.split.
CAUDAL_API SparseTensor split(const Operand& input, const Operand& sep = "", const SplitOptions& options = {});

struct ReduceJoinOptions {
  Operand axis = Tensor();  // axes to join along, the first of them fastest; default: all, the last fastest
  bool keepdims = false;
  std::string separator = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// OUT_OF_RANGE for an axis that is none, INVALID_ARGUMENT for one given twice.
CAUDAL_API Output reduce_join(const Operand& inputs, const ReduceJoinOptions& options = {});

struct UnsortedSegmentJoinOptions {
  std::string separator = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Row s joins the inputs whose segment id is s, in their order. segment_ids has a shape that the input's begins with;
// INVALID_ARGUMENT for ids outside [0, num_segments).
CAUDAL_API Output unsorted_segment_join(const Operand& inputs, const Operand& segment_ids, const Operand& num_segments,
                                        const UnsortedSegmentJoinOptions& options = {});

struct NGramsOptions {
  std::string separator = " ";
  std::string left_pad = {}, right_pad = {};
  std::int64_t pad_width = 0;             // how many stand at each end, width - 1 at most; -1: just so many
  bool preserve_short_sequences = false;  // a row too short for any width gives all of it
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Neighbouring strings of each row joined, for each width. INVALID_ARGUMENT for row splits that are none and widths
// below 1, RESOURCE_EXHAUSTED above 4 GiB.
CAUDAL_API RaggedTensor ngrams(const RaggedTensor& data, const std::vector<std::int64_t>& ngram_widths,
                               const NGramsOptions& options = {});

}  // namespace strings
}  // namespace caudal::inline v0
