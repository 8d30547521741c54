#include "caudal/ops/string_list_ops.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

using Pieces = std::vector<std::string_view>;

// ---- Shape functions

void split_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.with_rank(1, 0);
  c.set_output(0, PartialShape{-1, 2});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, PartialShape{2});
}

void reduce_join_shape(ShapeContext& c) {
  const PartialShape& inputs = c.input(0);
  const Tensor* axes = c.constant_input(1);
  const bool keep = c.attr<bool>("keep_dims");
  if (!inputs.has_rank()) return;
  if (axes == nullptr) {
    if (keep) c.set_output(0, PartialShape::unknown_of_rank(inputs.rank()));
    return;
  }
  std::vector<bool> joined(inputs.rank());
  for (const std::int64_t axis : axes->to_int64s()) {
    if (axis < -inputs.rank() || axis >= inputs.rank()) return;  // the kernel says what is wrong
    joined[axis < 0 ? axis + inputs.rank() : axis] = true;
  }
  std::vector<std::int64_t> dims;
  for (int d = 0; d < inputs.rank(); ++d) {
    if (!joined[d]) dims.push_back(inputs[d]);
    if (joined[d] && keep) dims.push_back(1);
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

void segment_join_shape(ShapeContext& c) {
  const PartialShape &inputs = c.input(0), &ids = c.input(1);
  c.with_rank(2, 0);
  if (!inputs.has_rank() || !ids.has_rank()) return;
  if (ids.rank() > inputs.rank()) throw invalid_argument("segment_ids ", ids, " has more dimensions than ", inputs);
  for (int d = 0; d < ids.rank(); ++d) ShapeContext::merge_dim(inputs[d], ids[d], "sizes of inputs and segment_ids");
  const Tensor* count = c.constant_input(2);
  std::vector<std::int64_t> dims{count == nullptr ? -1
                                                  : std::max(scalar_int(*count, "num_segments"), std::int64_t{-1})};
  dims.insert(dims.end(), inputs.dims().begin() + ids.rank(), inputs.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

void ngrams_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.set_output(0, PartialShape{-1});
  c.set_output(1, c.with_rank(1, 1));
}

// ---- Kernels: splitting

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view without_leading_space(std::string_view text) {
  text.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(text, is_space) - text.begin()));
  return text;
}

Pieces split_at_any(std::string_view text, std::string_view delimiters, bool skip_empty) {
  Pieces pieces;
  if (text.empty()) return pieces;  // not even an empty piece
  if (delimiters.empty()) {
    for (std::size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    return pieces;
  }
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find_first_of(delimiters, begin), text.size());
    if (end > begin || !skip_empty) pieces.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return pieces;
    begin = end + 1;
  }
}

Pieces split_at_space(std::string_view text, std::int64_t most) {
  Pieces pieces;
  for (text = without_leading_space(text); !text.empty();) {
    const auto end = static_cast<std::size_t>(std::ranges::find_if(text, is_space) - text.begin());
    pieces.push_back(text.substr(0, end));
    text = without_leading_space(text.substr(end));
    if (static_cast<std::int64_t>(pieces.size()) != most) continue;
    pieces.push_back(text);  // as in TensorFlow, even if nothing is left
    break;
  }
  return pieces;
}

Pieces split_at(std::string_view text, std::string_view separator, std::int64_t most) {
  if (most == 0) return {text};
  if (separator.empty()) return split_at_space(text, most);
  Pieces pieces;
  for (std::size_t at; static_cast<std::int64_t>(pieces.size()) != most;) {
    if ((at = text.find(separator)) == std::string_view::npos) break;
    pieces.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  pieces.push_back(text);
  return pieces;
}

// The pieces of each string as the three parts of a sparse tensor.
template <class Split>
void split_all(RunContext& c, const char* separator_name, Split&& split) {
  const Tensor& in = c.input(0);
  if (in.rank() != 1) throw invalid_argument("input must be a vector, got shape: ", in.shape());
  if (c.input(1).rank() != 0) {
    throw invalid_argument(separator_name, " must be a scalar, got shape: ", c.input(1).shape());
  }
  const std::string& separator = c.input(1).item<std::string>();
  std::vector<Pieces> all;
  std::int64_t count = 0, most = 0;
  for (const std::string& text : in.flat<std::string>()) {
    all.push_back(split(text, separator));
    const auto pieces = static_cast<std::int64_t>(all.back().size());
    count += pieces;
    most = std::max(most, pieces);
  }
  std::int64_t* index = c.allocate_output(0, {count, 2}).data<std::int64_t>();
  std::string* value = c.allocate_output(1, {count}).data<std::string>();
  for (std::size_t row = 0; row < all.size(); ++row) {
    for (std::size_t k = 0; k < all[row].size(); ++k) {
      *index++ = static_cast<std::int64_t>(row);
      *index++ = static_cast<std::int64_t>(k);
      *value++ = all[row][k];
    }
  }
  std::int64_t* shape = c.allocate_output(2, {2}).data<std::int64_t>();
  shape[0] = in.dim(0);
  shape[1] = most;
}

void run_split(RunContext& c) {
  const bool skip_empty = c.node().attr<bool>("skip_empty");
  split_all(c, "delimiter", [&](std::string_view text, std::string_view delimiters) {
    return split_at_any(text, delimiters, skip_empty);
  });
}

void run_split_v2(RunContext& c) {
  const std::int64_t most = c.node().attr<std::int64_t>("maxsplit");
  split_all(c, "sep",
            [&](std::string_view text, std::string_view separator) { return split_at(text, separator, most); });
}

// ---- Kernels: joining

// The axes counted from the front.
std::vector<int> checked_axes(const Tensor& axes, int rank) {
  std::vector<int> checked;
  for (const std::int64_t axis : axes.to_int64s()) {
    if (axis < -rank || axis >= rank) {
      throw out_of_range("Invalid reduction dimension ", axis, " for input with ", rank, " dimension(s)");
    }
    const int positive = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (std::ranges::find(checked, positive) != checked.end()) {
      throw invalid_argument("Duplicate reduction dimension ", axis);
    }
    checked.push_back(positive);
  }
  return checked;
}

// The offsets of all elements along `axes`, the first of which moves fastest.
std::vector<std::int64_t> offsets_along(const std::vector<int>& axes, const Shape& shape) {
  const std::vector<std::int64_t> strides = shape.strides();
  std::vector<std::int64_t> offsets{0};
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    const std::size_t before = offsets.size();
    const auto size = static_cast<std::size_t>(shape[*axis]);
    std::vector<std::int64_t> more(before * size);
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t i = 0; i < before; ++i) {
        more[k * before + i] = offsets[i] + static_cast<std::int64_t>(k) * strides[*axis];
      }
    }
    offsets = std::move(more);
  }
  return offsets;
}

void run_reduce_join(RunContext& c) {
  const Tensor& in = c.input(0);
  const std::string& separator = c.node().attr<std::string>("separator");
  const bool keep = c.node().attr<bool>("keep_dims");
  const std::vector<int> axes = checked_axes(c.input(1), in.rank());
  std::vector<std::int64_t> dims;
  std::vector<int> others;
  for (int d = in.rank() - 1; d >= 0; --d) {
    if (std::ranges::find(axes, d) == axes.end()) others.push_back(d);
  }
  for (int d = 0; d < in.rank(); ++d) {
    const bool joined = std::ranges::find(axes, d) != axes.end();
    if (!joined || keep) dims.push_back(joined ? 1 : in.dim(d));
  }
  const std::vector<std::int64_t> parts = offsets_along(axes, in.shape()), starts = offsets_along(others, in.shape());
  Tensor& out = c.allocate_output(0, Shape(dims));
  const std::string* from = in.data<std::string>();
  std::string* to = out.data<std::string>();
  for (const std::int64_t start : starts) {
    std::string joined;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) joined += separator;
      joined += from[start + parts[i]];
    }
    *to++ = std::move(joined);
  }
}

void run_segment_join(RunContext& c) {
  const Tensor &in = c.input(0), &ids = c.input(1), &number = c.input(2);
  if (ids.rank() == 0) throw invalid_argument("Segment_id cannot have rank 0");
  if (number.rank() != 0) throw invalid_argument("Number of segments must be a scalar, not ", number.describe());
  const std::int64_t segments = number.to_int64s()[0];
  if (segments < 0) throw invalid_argument("Number of segments must be non-negative but got ", segments);
  if (ids.rank() > in.rank())
    throw invalid_argument("Segment_id cannot have rank ", ids.rank(), " for input with rank ", in.rank());
  std::vector<std::int64_t> dims{segments};
  std::int64_t inner = 1;
  for (int d = 0; d < in.rank(); ++d) {
    if (d < ids.rank() && ids.dim(d) != in.dim(d)) {
      throw invalid_argument("Segment dimension is ", ids.dim(d), " while input dimension is ", in.dim(d), " in rank ",
                             d);
    }
    if (d < ids.rank()) continue;
    dims.push_back(in.dim(d));
    inner *= in.dim(d);
  }
  const std::vector<std::int64_t> segment_of = ids.to_int64s();
  for (const std::int64_t id : segment_of) {
    if (id >= 0 && id < segments) continue;
    throw invalid_argument("segment_ids are not allowed to exceed num_segments or to have negative values: ", id);
  }
  const std::string& separator = c.node().attr<std::string>("separator");
  Tensor& out = c.allocate_output(0, Shape(dims));
  std::string* to = out.data<std::string>();
  std::fill_n(to, out.num_elements(), std::string());
  const std::string* from = in.data<std::string>();
  for (const std::int64_t id : segment_of) {
    for (std::int64_t k = 0; k < inner; ++k) {
      std::string& joined = to[id * inner + k];
      if (!joined.empty()) joined += separator;  // as in TensorFlow: no separator after empty strings
      joined += *from++;
    }
  }
}

// ---- Kernels: n-grams

struct Padding {
  std::string separator, left, right;
  std::int64_t width;  // as the attribute says it

  std::int64_t at_each_end(std::int64_t ngram) const { return width < 0 ? ngram - 1 : std::min(width, ngram - 1); }
};

class NGramsKernel final : public Kernel {
 public:
  explicit NGramsKernel(PrepareContext& c)
      : widths_(c.attr<std::vector<std::int64_t>>("ngram_widths")),
        padding_{c.attr<std::string>("separator"), c.attr<std::string>("left_pad"), c.attr<std::string>("right_pad"),
                 c.attr<std::int64_t>("pad_width")},
        keeps_short_(c.attr<bool>("preserve_short_sequences")) {
    if (keeps_short_ && widths_.empty() && padding_.width < 0) {
      throw invalid_argument(
          "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not provided, got ",
          padding_.width);
    }
    for (const std::int64_t width : widths_) {
      if (width <= 0) throw invalid_argument("ngram_widths must contain positive values, not ", width);
      if (width > kWidest) throw invalid_argument("ngram_widths end at ", kWidest, ", not ", width);
    }
  }

  void run(RunContext& c) const override {
    const auto data = c.input(0).flat<std::string>();
    const std::vector<std::int64_t> splits = c.input(1).to_int64s();
    check_splits(splits, static_cast<std::int64_t>(data.size()));
    std::vector<std::string> all;
    std::vector<std::int64_t> ends;
    double bytes = 0;
    for (std::size_t row = 0; row < splits.size(); ++row) {
      // Without any string there is nothing, not even padding: as in TensorFlow.
      if (row > 0 && !data.empty()) add_row(data.subspan(splits[row - 1], splits[row] - splits[row - 1]), &all, &bytes);
      ends.push_back(static_cast<std::int64_t>(all.size()));
    }
    std::ranges::move(all, c.allocate_output(0, {static_cast<std::int64_t>(all.size())}).data<std::string>());
    Tensor& out = c.allocate_output(1, c.input(1).shape());
    if (out.dtype() == int64) {
      std::ranges::copy(ends, out.data<std::int64_t>());
    } else {
      std::ranges::transform(ends, out.data<std::int32_t>(),
                             [](std::int64_t v) { return static_cast<std::int32_t>(v); });
    }
  }

 private:
  static constexpr std::int64_t kWidest = 1 << 30;

  static void check_splits(const std::vector<std::int64_t>& splits, std::int64_t count) {
    if (splits.empty()) return;
    if (splits[0] != 0) throw invalid_argument("First split value must be 0, got ", splits[0]);
    for (std::size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] >= splits[i - 1] && splits[i] <= count) continue;
      throw invalid_argument("Invalid split value ", splits[i], ", must be in [", splits[i - 1], ", ", count, "]");
    }
    if (splits.back() != count) {
      throw invalid_argument("Last split value must be data size. Expected ", count, ", got ", splits.back());
    }
  }

  void add_row(std::span<const std::string> row, std::vector<std::string>* all, double* bytes) const {
    const std::size_t before = all->size();
    const auto length = static_cast<std::int64_t>(row.size());
    for (const std::int64_t width : widths_) add_ngrams(row, width, all, bytes);
    if (keeps_short_ && length > 0 && all->size() == before) {
      add_ngrams(row, length + 2 * std::max(padding_.width, std::int64_t{0}), all, bytes);
    }
  }

  void add_ngrams(std::span<const std::string> row, std::int64_t width, std::vector<std::string>* all,
                  double* bytes) const {
    const std::int64_t pads = padding_.at_each_end(width);
    const std::int64_t count = static_cast<std::int64_t>(row.size()) + 2 * pads - width + 1;
    if (count <= 0) return;
    const std::size_t longest = std::max(padding_.left.size(), padding_.right.size()) + padding_.separator.size();
    double row_bytes =
        static_cast<double>(sizeof(std::string)) + static_cast<double>(width) * static_cast<double>(longest);
    for (const std::string& text : row) row_bytes += static_cast<double>(text.size());
    *bytes += static_cast<double>(count) * row_bytes;
    constexpr double kMostBytes = 4.0 * (1 << 30);
    if (*bytes > kMostBytes) throw resource_exhausted("the n-grams could take more than 4 GiB");
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t left = std::max(std::int64_t{0}, pads - i);
      const std::int64_t right = std::max(std::int64_t{0}, pads - (count - i - 1));
      all->push_back(ngram(row, std::max(std::int64_t{0}, i - pads), left, width - left - right, right));
    }
  }

  std::string ngram(std::span<const std::string> row, std::int64_t start, std::int64_t left, std::int64_t tokens,
                    std::int64_t right) const {
    std::string text;
    bool first = true;
    const auto add = [&](const std::string& part) {
      if (!first) text += padding_.separator;
      first = false;
      text += part;
    };
    for (std::int64_t i = 0; i < left; ++i) add(padding_.left);
    for (std::int64_t i = 0; i < tokens; ++i) add(row[start + i]);
    for (std::int64_t i = 0; i < right; ++i) add(padding_.right);
    return text;
  }

  std::vector<std::int64_t> widths_;
  Padding padding_;
  bool keeps_short_;
};

std::unique_ptr<Kernel> prepare_ngrams(PrepareContext& c) { return std::make_unique<NGramsKernel>(c); }

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "StringSplit",
    .inputs = "input: string; delimiter: string",
    .outputs = "indices: int64; values: string; shape: int64",
    .attrs = "skip_empty: bool = true",
    .shape = split_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_split>,
});
CAUDAL_REGISTER_OP({
    .name = "StringSplitV2",
    .inputs = "input: string; sep: string",
    .outputs = "indices: int64; values: string; shape: int64",
    .attrs = "maxsplit: int = -1",
    .shape = split_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_split_v2>,
});
CAUDAL_REGISTER_OP({
    .name = "ReduceJoin",
    .inputs = "inputs: string; reduction_indices: int32",
    .outputs = "output: string",
    .attrs = "keep_dims: bool = false; separator: string = ''",
    .shape = reduce_join_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_reduce_join>,
});
CAUDAL_REGISTER_OP({
    .name = "UnsortedSegmentJoin",
    .inputs = "inputs: string; segment_ids: Tindices; num_segments: Tnumsegments",
    .outputs = "output: string",
    .attrs = "separator: string = ''; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = DT_INT32",
    .shape = segment_join_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_segment_join>,
});
CAUDAL_REGISTER_OP({
    .name = "StringNGrams",
    .inputs = "data: string; data_splits: Tsplits",
    .outputs = "ngrams: string; ngrams_splits: Tsplits",
    .attrs = "separator: string; ngram_widths: list(int) >= 0; left_pad: string; right_pad: string; pad_width: int; "
             "preserve_short_sequences: bool; Tsplits: {int32, int64} = DT_INT64",
    .shape = ngrams_shape,
    .gradient = no_gradient,
    .cpu = prepare_ngrams,
});

SparseTensor sparse_of(Node& node) { return {node.output(0), node.output(1), node.output(2)}; }

}  // namespace

// ---- Public functions

SparseTensor string_split(const Operand& source, const Operand& sep, const StringSplitOptions& options) {
  return sparse_of(OpBuilder("StringSplit", {.name = options.name, .where = options.where})
                       .input(source)
                       .input(sep)
                       .attr("skip_empty", options.skip_empty)
                       .build_node());
}

SparseTensor strings::split(const Operand& input, const Operand& sep, const SplitOptions& options) {
  return sparse_of(OpBuilder("StringSplitV2", {.name = options.name, .where = options.where})
                       .input(input)
                       .input(sep)
                       .attr("maxsplit", options.maxsplit)
                       .build_node());
}

Output strings::reduce_join(const Operand& inputs, const ReduceJoinOptions& options) {
  const LocationScope where(options.where);
  const Output in = inputs.to_output(string);
  const Tensor* given = options.axis.value();
  Operand axis = options.axis;
  if (given != nullptr && !given->valid()) {
    if (!in.shape().has_rank()) {
      throw invalid_argument("joining along all axes needs an input of known rank").hint("Give the axes.");
    }
    std::vector<int> axes;
    for (int d = in.shape().rank() - 1; d >= 0; --d) axes.push_back(d);
    axis = Operand(axes);
  }
  return OpBuilder("ReduceJoin", {.name = options.name, .where = options.where})
      .input(in)
      .input(axis, int32)
      .attr("keep_dims", options.keepdims)
      .attr("separator", options.separator)
      .build();
}

Output strings::unsorted_segment_join(const Operand& inputs, const Operand& segment_ids, const Operand& num_segments,
                                      const UnsortedSegmentJoinOptions& options) {
  return OpBuilder("UnsortedSegmentJoin", {.name = options.name, .where = options.where})
      .input(inputs)
      .input(segment_ids)
      .input(num_segments)
      .attr("separator", options.separator)
      .build();
}

RaggedTensor strings::ngrams(const RaggedTensor& data, const std::vector<std::int64_t>& ngram_widths,
                             const NGramsOptions& options) {
  Node& node = OpBuilder("StringNGrams", {.name = options.name, .where = options.where})
                   .input(data.values)
                   .input(data.row_splits)
                   .attr("separator", options.separator)
                   .attr("ngram_widths", ngram_widths)
                   .attr("left_pad", options.left_pad)
                   .attr("right_pad", options.right_pad)
                   .attr("pad_width", options.pad_width)
                   .attr("preserve_short_sequences", options.preserve_short_sequences)
                   .build_node();
  return {.values = node.output(0), .row_splits = node.output(1)};
}

}  // namespace caudal::inline v0
