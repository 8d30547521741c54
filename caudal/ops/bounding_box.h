// Boxes in pictures: drawing them, and random crops that keep enough of them.
//
// Boxes are float32 [..., 4] of (y_min, x_min, y_max, x_max), fractions of height and width. Thread safety: as building
// a graph; random ops draw as caudal/ops/random.h says.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace image {

struct DrawBoundingBoxesOptions {
  std::optional<Operand> colors = {};  // float32 [n, at least depth], used in turn; default: ten strong colours
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `images`: float32 or half [batch, height, width, depth] of depth 1, 3 or 4; `boxes` [batch, n, 4]. Result: the
// pictures with frames of one pixel. Boxes that are inverted or wholly outside are left out.
CAUDAL_API Output draw_bounding_boxes(const Operand& images, const Operand& boxes,
                                      const DrawBoundingBoxesOptions& options = {});

struct DistortedBoundingBox {
  Output begin;   // [3], for slice()
  Output size;    // [3], for slice()
  Output bboxes;  // [1, 1, 4], for draw_bounding_boxes()
};
struct SampleDistortedBoundingBoxOptions {
  std::optional<std::int64_t> seed = {};
  Operand min_object_covered = 0.1F;                       // share of at least one box that the crop must hold
  std::vector<float> aspect_ratio_range = {0.75F, 1.33F};  // width / height
  std::vector<float> area_range = {0.05F, 1.0F};           // shares of the picture's area
  std::int64_t max_attempts = 100;                         // then the whole picture is the result
  bool use_image_if_no_bounding_boxes = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `image_size`: integers (height, width, channels); `bounding_boxes` [batch, n, 4]. INVALID_ARGUMENT for coordinates
// outside [0, 1], and for no boxes unless the options allow it.
CAUDAL_API DistortedBoundingBox sample_distorted_bounding_box(const Operand& image_size, const Operand& bounding_boxes,
                                                              const SampleDistortedBoundingBoxOptions& options = {});
// The same with `seed`, two integers of which the result is a function. The options' seed is not looked at.
CAUDAL_API DistortedBoundingBox
stateless_sample_distorted_bounding_box(const Operand& image_size, const Operand& bounding_boxes, const Operand& seed,
                                        const SampleDistortedBoundingBoxOptions& options = {});

}  // namespace image
}  // namespace caudal::inline v0
