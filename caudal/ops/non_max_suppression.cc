#include "caudal/ops/non_max_suppression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/function_ref.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/image_util.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

std::int64_t scalar_dim(ShapeContext& c, int i) {
  const Tensor* value = c.constant_input(i);
  if (value == nullptr) return PartialShape::kUnknown;
  const std::int64_t size = scalar_int(*value, c.input_name(i));
  if (size < 0) throw invalid_argument(c.input_name(i), " is ", size, "; it must not be negative");
  return size;
}

// Boxes (or a square matrix), scores and scalars. Returns the size of padded outputs.
std::int64_t check_selection(ShapeContext& c, bool overlaps) {
  const PartialShape boxes = c.with_rank(0, 2), scores = c.with_rank(1, 1);
  for (int i = 2; i < c.num_inputs(); ++i) c.with_rank(i, 0);
  ShapeContext::merge_dim(boxes.dim(0), scores.dim(0), "the numbers of boxes and scores");
  ShapeContext::merge_dim(boxes.dim(1), overlaps ? boxes.dim(0) : 4, "the columns of the first input");
  const bool padded =
      c.node().op->def.find_attr("pad_to_max_output_size") != nullptr && c.attr<bool>("pad_to_max_output_size");
  return padded ? scalar_dim(c, 2) : PartialShape::kUnknown;
}

void selection_shape(ShapeContext& c) {
  const PartialShape selected({check_selection(c, false)});
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.set_output(i, selected);
  c.set_output(c.num_outputs() - 1, c.num_outputs() == 1 ? selected : PartialShape::scalar());
}

void overlaps_shape(ShapeContext& c) { c.set_output(0, {check_selection(c, true)}); }

void combined_shape(ShapeContext& c) {
  const PartialShape boxes = c.with_rank(0, 4), scores = c.with_rank(1, 3);
  for (int i = 2; i < 6; ++i) c.with_rank(i, 0);
  ShapeContext::merge_dim(boxes.dim(0), scores.dim(0), "the batches of boxes and scores");
  ShapeContext::merge_dim(boxes.dim(1), scores.dim(1), "the numbers of boxes and scores");
  ShapeContext::merge_dim(boxes.dim(3), 4, "the coordinates of a box");
  const std::int64_t own = boxes.dim(2), classes = scores.dim(2);
  if (own >= 0 && classes >= 0 && own != 1 && own != classes) {
    throw invalid_argument("boxes of ", own, " classes do not fit scores of ", classes, "; 1 or as many are wanted");
  }
  const std::int64_t total = scalar_dim(c, 3), per_class = scalar_dim(c, 2);
  if (total == 0) throw invalid_argument("max_total_size must be positive");
  std::int64_t size = total;
  if (c.attr<bool>("pad_per_class")) {
    if (per_class == 0) throw invalid_argument("max_output_size_per_class must be positive");
    size = per_class >= 0 && classes >= 0 ? std::min(total, per_class * classes) : PartialShape::kUnknown;
  }
  c.set_output(0, {boxes.dim(0), size, 4});
  c.set_output(1, {boxes.dim(0), size});
  c.set_output(2, {boxes.dim(0), size});
  c.set_output(3, {boxes.dim(0)});
}

// ---- Selection

using Similarity = FunctionRef<float(std::int64_t, std::int64_t)>;

struct Corners {
  template <class T>
  explicit Corners(const T* box) {
    const auto a = static_cast<float>(box[0]), b = static_cast<float>(box[1]);
    const auto c = static_cast<float>(box[2]), d = static_cast<float>(box[3]);
    top = std::min(a, c);
    left = std::min(b, d);
    bottom = std::max(a, c);
    right = std::max(b, d);
  }
  float area() const { return (bottom - top) * (right - left); }
  float top, left, bottom, right;
};

float intersection_over_union(const Corners& a, const Corners& b) {
  const float area_a = a.area(), area_b = b.area();
  if (area_a <= 0 || area_b <= 0) return 0;
  const float shared = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0F) *
                       std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0F);
  return shared / (area_a + area_b - shared);
}

struct Limits {
  std::int64_t size = 0;
  float similarity = 0, score = 0, sigma = 0;
};

template <class T>
struct Selection {
  std::vector<std::int32_t> indices;
  std::vector<T> scores;
};

// The arithmetic is T's, as TensorFlow's: thresholds, weights and scores of half are rounded to half.
template <class T>
Selection<T> select(const T* scores, std::int64_t count, const Limits& limits, Similarity similarity) {
  using Wide = kernels::Wide<T>;
  const auto round = [](Wide x) { return static_cast<Wide>(static_cast<T>(x)); };
  struct Candidate {
    std::int64_t index;
    Wide score;
    std::int64_t compared;  // with that many of the selected ones
    bool operator<(const Candidate& other) const {
      return score < other.score || (score == other.score && index > other.index);
    }
  };
  std::priority_queue<Candidate> waiting;
  for (std::int64_t i = 0; i < count; ++i) {
    if (const auto score = static_cast<Wide>(scores[i]); score > limits.score) waiting.push({i, score, 0});
  }
  const bool soft = limits.sigma > 0;
  const Wide scale = soft ? round(static_cast<Wide>(-0.5) / limits.sigma) : 0;
  Selection<T> selection;
  while (static_cast<std::int64_t>(selection.indices.size()) < limits.size && !waiting.empty()) {
    Candidate next = waiting.top();
    waiting.pop();
    const Wide before = next.score;
    bool suppressed = false;
    // From the last one backwards: boxes that overlap have similar scores.
    for (auto j = static_cast<std::int64_t>(selection.indices.size()) - 1; j >= next.compared; --j) {
      const Wide overlap = round(similarity(next.index, selection.indices[j]));
      if (soft) {
        next.score = round(next.score * round(std::exp(round(round(scale * overlap) * overlap))));
      } else if (overlap > limits.similarity) {
        suppressed = true;
        break;
      }
      if (next.score <= limits.score) break;
    }
    next.compared = static_cast<std::int64_t>(selection.indices.size());
    if (suppressed) continue;
    if (next.score == before) {
      selection.indices.push_back(static_cast<std::int32_t>(next.index));
      selection.scores.push_back(static_cast<T>(next.score));
    } else if (next.score > limits.score) {
      waiting.push(next);
    }
  }
  return selection;
}

// ---- Kernels

void check_scalar(const Tensor& value, std::string_view what) {
  if (value.rank() != 0) throw invalid_argument(what, " must be a scalar, not ", value.describe());
}

std::int64_t output_size(const Tensor& value) {
  check_scalar(value, "max_output_size");
  const std::int64_t size = value.item<std::int32_t>();
  if (size < 0) throw invalid_argument("max_output_size is ", size, "; it must not be negative");
  return size;
}

// A threshold in the precision of the scores.
float threshold(const Tensor& value, DType dtype, std::string_view what) {
  check_scalar(value, what);
  const auto number = static_cast<float>(value.to_double());
  return dtype == DType::kHalf ? static_cast<float>(Half(number)) : number;
}

void check_share(float value, std::string_view what) {
  if (!(value >= 0 && value <= 1)) throw invalid_argument(what, " ", value, " is not in [0, 1]");
}

std::int64_t check_boxes(const Tensor& boxes, const Tensor& scores) {
  check_rank(boxes, 2, "boxes");
  check_rank(scores, 1, "scores");
  if (boxes.dim(1) != 4 || boxes.dim(0) != scores.dim(0)) {
    throw invalid_argument("boxes ", boxes.describe(), " must be [n, 4] with a score each, not ", scores.describe());
  }
  return boxes.dim(0);
}

void set_selection(RunContext& c, const std::vector<std::int32_t>& indices, std::int64_t size) {
  auto* out = c.allocate_output(0, Shape{size}).data<std::int32_t>();
  std::fill(std::ranges::copy(indices, out).out, out + size, 0);
}

void set_count(RunContext& c, int output, std::size_t count) {
  c.allocate_output(output, Shape{}).data<std::int32_t>()[0] = static_cast<std::int32_t>(count);
}

// NonMaxSuppression and its versions 2 to 5: what an op lacks is its input's default.
void run_selection(RunContext& c) {
  const Tensor& boxes = c.input(0);
  const Tensor& scores = c.input(1);
  Limits limits;
  limits.size = output_size(c.input(2));
  const DType dtype = scores.dtype();
  limits.similarity =
      c.num_inputs() > 3 ? threshold(c.input(3), dtype, "iou_threshold") : c.node().attr<float>("iou_threshold");
  check_share(limits.similarity, "iou_threshold");
  limits.score = c.num_inputs() > 4      ? threshold(c.input(4), dtype, "score_threshold")
                 : dtype == DType::kHalf ? -65504.0F
                                         : std::numeric_limits<float>::lowest();
  if (c.num_inputs() > 5) {
    limits.sigma = threshold(c.input(5), dtype, "soft_nms_sigma");
    if (!(limits.sigma >= 0)) throw invalid_argument("soft_nms_sigma ", limits.sigma, " is negative");
  }
  const std::int64_t count = check_boxes(boxes, scores);
  const bool padded = c.num_outputs() > 1 && c.node().attr<bool>("pad_to_max_output_size");
  kernels::dispatch(kernels::TypeList<float, Half>(), dtype, "NonMaxSuppression", [&]<class T>() {
    std::vector<Corners> corners;
    for (std::int64_t i = 0; i < count; ++i) corners.emplace_back(boxes.data<T>() + 4 * i);
    const auto selection = select(scores.data<T>(), count, limits, [&](std::int64_t i, std::int64_t j) {
      return intersection_over_union(corners[i], corners[j]);
    });
    const std::int64_t size = padded ? limits.size : static_cast<std::int64_t>(selection.indices.size());
    set_selection(c, selection.indices, size);
    if (c.num_outputs() == 3) {
      T* out = c.allocate_output(1, Shape{size}).data<T>();
      std::fill(std::ranges::copy(selection.scores, out).out, out + size, T{});
    }
    if (c.num_outputs() > 1) set_count(c, c.num_outputs() - 1, selection.indices.size());
  });
}

void run_overlaps(RunContext& c) {
  const Tensor& overlaps = c.input(0);
  const Tensor& scores = c.input(1);
  Limits limits;
  limits.size = output_size(c.input(2));
  limits.similarity = threshold(c.input(3), DType::kFloat, "overlap_threshold");
  limits.score = threshold(c.input(4), DType::kFloat, "score_threshold");
  check_rank(overlaps, 2, "overlaps");
  check_rank(scores, 1, "scores");
  const std::int64_t count = overlaps.dim(0);
  if (overlaps.dim(1) != count || scores.dim(0) != count) {
    throw invalid_argument("overlaps ", overlaps.describe(), " must be square with a score each, not ",
                           scores.describe());
  }
  const auto* matrix = overlaps.data<float>();
  const auto selection = select(scores.data<float>(), count, limits,
                                [&](std::int64_t i, std::int64_t j) { return matrix[i * count + j]; });
  set_selection(c, selection.indices, static_cast<std::int64_t>(selection.indices.size()));
}

struct Detection {
  const float* box;
  float score;
  std::int64_t label;
};

class Combined {
 public:
  Combined(const Tensor& boxes, const Tensor& scores, const Limits& limits)
      : boxes_(boxes),
        scores_(scores),
        limits_(limits),
        count_(boxes.dim(1)),
        own_(boxes.dim(2)),
        classes_(scores.dim(2)) {}

  // All classes of one picture, best first; ties in the order of classes.
  std::vector<Detection> detections(std::int64_t picture) const {
    std::vector<Detection> out;
    std::vector<float> column(static_cast<std::size_t>(count_));
    std::vector<Corners> corners;
    for (std::int64_t label = 0; label < classes_; ++label) {
      corners.clear();
      for (std::int64_t i = 0; i < count_; ++i) {
        column[i] = scores_.data<float>()[(picture * count_ + i) * classes_ + label];
        corners.emplace_back(box(picture, i, label));
      }
      const auto selection = select(column.data(), count_, limits_, [&](std::int64_t i, std::int64_t j) {
        return intersection_over_union(corners[i], corners[j]);
      });
      for (const std::int32_t i : selection.indices) out.push_back({box(picture, i, label), column[i], label});
    }
    std::ranges::stable_sort(out, [](const Detection& a, const Detection& b) { return a.score > b.score; });
    return out;
  }

 private:
  const float* box(std::int64_t picture, std::int64_t i, std::int64_t label) const {
    return boxes_.data<float>() + ((picture * count_ + i) * own_ + (own_ > 1 ? label : 0)) * 4;
  }

  const Tensor& boxes_;
  const Tensor& scores_;
  Limits limits_;
  std::int64_t count_, own_, classes_;
};

void run_combined(RunContext& c) {
  const Tensor& boxes = c.input(0);
  const Tensor& scores = c.input(1);
  check_rank(boxes, 4, "boxes");
  check_rank(scores, 3, "scores");
  if (boxes.dim(0) != scores.dim(0) || boxes.dim(1) != scores.dim(1) || boxes.dim(3) != 4 ||
      (boxes.dim(2) != 1 && boxes.dim(2) != scores.dim(2))) {
    throw invalid_argument("boxes ", boxes.describe(), " must be [batch, n, 1 or classes, 4] for scores ",
                           scores.describe());
  }
  const std::int64_t per_class = output_size(c.input(2)), total = output_size(c.input(3));
  if (per_class == 0 || total == 0) {
    throw invalid_argument("max_output_size_per_class ", per_class, " and max_total_size ", total, " must be positive");
  }
  Limits limits;
  limits.size = per_class;
  limits.similarity = threshold(c.input(4), DType::kFloat, "iou_threshold");
  limits.score = threshold(c.input(5), DType::kFloat, "score_threshold");
  check_share(limits.similarity, "iou_threshold");
  const std::int64_t size = c.node().attr<bool>("pad_per_class") ? std::min(total, per_class * scores.dim(2)) : total;
  const std::int64_t batch = boxes.dim(0);
  const bool clip = c.node().attr<bool>("clip_boxes");
  auto* out_boxes = c.allocate_output(0, Shape{batch, size, 4}).data<float>();
  auto* out_scores = c.allocate_output(1, Shape{batch, size}).data<float>();
  auto* out_classes = c.allocate_output(2, Shape{batch, size}).data<float>();
  auto* valid = c.allocate_output(3, Shape{batch}).data<std::int32_t>();
  std::fill_n(out_boxes, batch * size * 4, 0.0F);
  std::fill_n(out_scores, batch * size, 0.0F);
  std::fill_n(out_classes, batch * size, 0.0F);
  const Combined combined(boxes, scores, limits);
  c.pool().parallel_for(batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      const std::vector<Detection> found = combined.detections(begin);
      const std::int64_t count = std::min(size, static_cast<std::int64_t>(found.size()));
      valid[begin] = static_cast<std::int32_t>(count);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = begin * size + i;
        for (int k = 0; k < 4; ++k) {
          const float side = found[i].box[k];
          out_boxes[4 * at + k] = clip ? std::max(std::min(side, 1.0F), 0.0F) : side;
        }
        out_scores[at] = found[i].score;
        out_classes[at] = static_cast<float>(found[i].label);
      }
    }
  });
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "NonMaxSuppression",
    .inputs = "boxes: float; scores: float; max_output_size: int32",
    .outputs = "selected_indices: int32",
    .attrs = "iou_threshold: float = 0.5",
    .shape = selection_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_selection>,
});
CAUDAL_REGISTER_OP({
    .name = "NonMaxSuppressionV2",
    .inputs = "boxes: T; scores: T; max_output_size: int32; iou_threshold: T_threshold",
    .outputs = "selected_indices: int32",
    .attrs = "T: {half, float} = DT_FLOAT; T_threshold: {half, float} = DT_FLOAT",
    .shape = selection_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_selection>,
});
CAUDAL_REGISTER_OP({
    .name = "NonMaxSuppressionV3",
    .inputs = "boxes: T; scores: T; max_output_size: int32; iou_threshold: T_threshold; score_threshold: T_threshold",
    .outputs = "selected_indices: int32",
    .attrs = "T: {half, float} = DT_FLOAT; T_threshold: {half, float} = DT_FLOAT",
    .shape = selection_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_selection>,
});
CAUDAL_REGISTER_OP({
    .name = "NonMaxSuppressionV4",
    .inputs = "boxes: T; scores: T; max_output_size: int32; iou_threshold: T_threshold; score_threshold: T_threshold",
    .outputs = "selected_indices: int32; valid_outputs: int32",
    .attrs = "T: {half, float} = DT_FLOAT; T_threshold: {half, float} = DT_FLOAT;"
             "pad_to_max_output_size: bool = false",
    .shape = selection_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_selection>,
});
CAUDAL_REGISTER_OP({
    .name = "NonMaxSuppressionV5",
    .inputs = "boxes: T; scores: T; max_output_size: int32; iou_threshold: T; score_threshold: T; soft_nms_sigma: T",
    .outputs = "selected_indices: int32; selected_scores: T; valid_outputs: int32",
    .attrs = "T: {half, float} = DT_FLOAT; pad_to_max_output_size: bool = false",
    .shape = selection_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_selection>,
});
CAUDAL_REGISTER_OP({
    .name = "NonMaxSuppressionWithOverlaps",
    .inputs = "overlaps: float; scores: float; max_output_size: int32; overlap_threshold: float;"
              "score_threshold: float",
    .outputs = "selected_indices: int32",
    .shape = overlaps_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_overlaps>,
});
CAUDAL_REGISTER_OP({
    .name = "CombinedNonMaxSuppression",
    .inputs = "boxes: float; scores: float; max_output_size_per_class: int32; max_total_size: int32;"
              "iou_threshold: float; score_threshold: float",
    .outputs = "nmsed_boxes: float; nmsed_scores: float; nmsed_classes: float; valid_detections: int32",
    .attrs = "pad_per_class: bool = false; clip_boxes: bool = true",
    .shape = combined_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_combined>,
});

}  // namespace

// ---- Public functions

namespace image {

Output non_max_suppression(const Operand& boxes, const Operand& scores, const Operand& max_output_size,
                           const NonMaxSuppressionOptions& options) {
  const DType dtype = common_dtype({&boxes, &scores});
  return OpBuilder("NonMaxSuppressionV3", {.name = options.name, .where = options.where})
      .input(boxes, dtype)
      .input(scores, dtype)
      .input(max_output_size, DType::kInt32)
      .input(options.iou_threshold, DType::kFloat)
      .input(options.score_threshold, DType::kFloat)
      .build();
}

SelectedScores non_max_suppression_with_scores(const Operand& boxes, const Operand& scores,
                                               const Operand& max_output_size,
                                               const SoftNonMaxSuppressionOptions& options) {
  const DType dtype = common_dtype({&boxes, &scores});
  Node& node = OpBuilder("NonMaxSuppressionV5", {.name = options.name, .where = options.where})
                   .input(boxes, dtype)
                   .input(scores, dtype)
                   .input(max_output_size, DType::kInt32)
                   .input(options.iou_threshold, dtype)
                   .input(options.score_threshold, dtype)
                   .input(options.soft_nms_sigma, dtype)
                   .attr("pad_to_max_output_size", false)
                   .build_node();
  return {node.output(0), node.output(1)};
}

PaddedSelection non_max_suppression_padded(const Operand& boxes, const Operand& scores, const Operand& max_output_size,
                                           const PaddedNonMaxSuppressionOptions& options) {
  const DType dtype = common_dtype({&boxes, &scores});
  Node& node = OpBuilder("NonMaxSuppressionV4", {.name = options.name, .where = options.where})
                   .input(boxes, dtype)
                   .input(scores, dtype)
                   .input(max_output_size, DType::kInt32)
                   .input(options.iou_threshold, DType::kFloat)
                   .input(options.score_threshold, DType::kFloat)
                   .attr("pad_to_max_output_size", options.pad_to_max_output_size)
                   .build_node();
  return {node.output(0), node.output(1)};
}

Output non_max_suppression_with_overlaps(const Operand& overlaps, const Operand& scores, const Operand& max_output_size,
                                         const OverlapOptions& options) {
  return OpBuilder("NonMaxSuppressionWithOverlaps", {.name = options.name, .where = options.where})
      .input(overlaps, DType::kFloat)
      .input(scores, DType::kFloat)
      .input(max_output_size, DType::kInt32)
      .input(options.overlap_threshold, DType::kFloat)
      .input(options.score_threshold, DType::kFloat)
      .build();
}

CombinedSelection combined_non_max_suppression(const Operand& boxes, const Operand& scores,
                                               const Operand& max_output_size_per_class, const Operand& max_total_size,
                                               const CombinedNonMaxSuppressionOptions& options) {
  Node& node = OpBuilder("CombinedNonMaxSuppression", {.name = options.name, .where = options.where})
                   .input(boxes, DType::kFloat)
                   .input(scores, DType::kFloat)
                   .input(max_output_size_per_class, DType::kInt32)
                   .input(max_total_size, DType::kInt32)
                   .input(options.iou_threshold, DType::kFloat)
                   .input(options.score_threshold, DType::kFloat)
                   .attr("pad_per_class", options.pad_per_class)
                   .attr("clip_boxes", options.clip_boxes)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2), node.output(3)};
}

}  // namespace image
}  // namespace caudal::inline v0
