// Of boxes that overlap, the best scored: non-maximum suppression as detection models end with it.
//
// Boxes are [n, 4] of two opposite corners (y1, x1, y2, x2) in any unit and order; scores [n]; half or float32.
// A box is taken if it is the best left and overlaps no taken one by more than the threshold (intersection over union);
// ties go to the lower index. Errors: INVALID_ARGUMENT for shapes that do not meet, thresholds outside [0, 1] and a
// negative output size. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <limits>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace image {

struct NonMaxSuppressionOptions {
  Operand iou_threshold = 0.5F;
  Operand score_threshold = std::numeric_limits<float>::lowest();  // boxes must score more
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// int32 [m], m <= max_output_size: the boxes taken, best first.
CAUDAL_API Output non_max_suppression(const Operand& boxes, const Operand& scores, const Operand& max_output_size,
                                      const NonMaxSuppressionOptions& options = {});

struct SelectedScores {
  Output selected_indices, selected_scores;
};
struct SoftNonMaxSuppressionOptions {
  Operand iou_threshold = 0.5F;
  Operand score_threshold = std::numeric_limits<float>::lowest();
  Operand soft_nms_sigma = 0.0F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The same with scores. soft_nms_sigma > 0: overlapping boxes are not left out but their scores multiplied by
// exp(-iou^2 / (2 sigma)) (Bodla et al., "Soft-NMS", 2017).
CAUDAL_API SelectedScores non_max_suppression_with_scores(const Operand& boxes, const Operand& scores,
                                                          const Operand& max_output_size,
                                                          const SoftNonMaxSuppressionOptions& options = {});

struct PaddedSelection {
  Output selected_indices;  // int32 [max_output_size] if padded, zeros after the valid ones
  Output valid_outputs;     // int32 scalar
};
struct PaddedNonMaxSuppressionOptions {
  Operand iou_threshold = 0.5F;
  Operand score_threshold = std::numeric_limits<float>::lowest();
  bool pad_to_max_output_size = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
CAUDAL_API PaddedSelection non_max_suppression_padded(const Operand& boxes, const Operand& scores,
                                                      const Operand& max_output_size,
                                                      const PaddedNonMaxSuppressionOptions& options = {});

struct OverlapOptions {
  Operand overlap_threshold = 0.5F;
  Operand score_threshold = std::numeric_limits<float>::lowest();
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Any measure of overlap: float32 [n, n].
CAUDAL_API Output non_max_suppression_with_overlaps(const Operand& overlaps, const Operand& scores,
                                                    const Operand& max_output_size, const OverlapOptions& options = {});

struct CombinedSelection {
  Output nmsed_boxes;       // [batch, k, 4]
  Output nmsed_scores;      // [batch, k]
  Output nmsed_classes;     // float32 [batch, k]
  Output valid_detections;  // int32 [batch]
};
struct CombinedNonMaxSuppressionOptions {
  Operand iou_threshold = 0.5F;
  Operand score_threshold = -std::numeric_limits<float>::infinity();
  bool pad_per_class = false;  // k is at most max_output_size_per_class * classes, not always max_total_size
  bool clip_boxes = true;      // to [0, 1]
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Per class, then the best of all classes of each picture. `boxes`: float32 [batch, n, q, 4], q the number of classes
// or 1; `scores`: [batch, n, classes].
CAUDAL_API CombinedSelection combined_non_max_suppression(const Operand& boxes, const Operand& scores,
                                                          const Operand& max_output_size_per_class,
                                                          const Operand& max_total_size,
                                                          const CombinedNonMaxSuppressionOptions& options = {});

}  // namespace image
}  // namespace caudal::inline v0
