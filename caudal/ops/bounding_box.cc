#include "caudal/ops/bounding_box.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/philox.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/image_util.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/random_state.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void draw_shape(ShapeContext& c) {
  const PartialShape images = c.with_rank(0, 4), boxes = c.with_rank(1, 3);
  const std::int64_t depth = images.dim(3);
  if (depth >= 0 && depth != 1 && depth != 3 && depth != 4) {
    throw invalid_argument("pictures have ", depth, " channels; 1 (gray), 3 (RGB) or 4 (RGBA) are wanted");
  }
  ShapeContext::merge_dim(boxes.dim(2), 4, "the coordinates of a box");
  c.set_output(0, c.input(0));
}

void draw_v2_shape(ShapeContext& c) { c.set_output(0, c.with_rank_at_least(0, 3)); }

void sample_shape(ShapeContext& c) {
  const PartialShape size = c.with_rank(0, 1), boxes = c.with_rank(1, 3);
  ShapeContext::merge_dim(size.dim(0), 3, "the length of image_size");
  ShapeContext::merge_dim(boxes.dim(2), 4, "the coordinates of a box");
  if (c.num_inputs() > 2) c.with_rank(2, 0);
  if (c.num_inputs() > 3) ShapeContext::merge_dim(c.with_rank(3, 1).dim(0), 2, "the length of the seed");
  c.set_output(0, {3});
  c.set_output(1, {3});
  c.set_output(2, {1, 1, 4});
}

void crop_shape(ShapeContext& c) {
  const PartialShape image = c.with_rank(0, 3), size = c.with_rank(1, 1);
  ShapeContext::merge_dim(size.dim(0), 2, "the length of size");
  std::int64_t height = PartialShape::kUnknown, width = PartialShape::kUnknown;
  if (const Tensor* value = c.constant_input(1)) {
    const auto sides = value->to_int64s();
    if (sides[0] < -1 || sides[1] < -1) throw invalid_argument("size ", *value, " is negative");
    height = sides[0];
    width = sides[1];
  }
  c.set_output(0, {height, width, image.dim(2)});
}

// ---- Drawing

using Color = std::array<float, 4>;

std::vector<Color> default_colors(std::int64_t depth) {
  std::vector<Color> colors = {{1, 1, 0, 1},       {0, 0, 1, 1},    {1, 0, 0, 1},    {0, 1, 0, 1}, {0.5F, 0, 0.5F, 1},
                               {0.5F, 0.5F, 0, 1}, {0.5F, 0, 0, 1}, {0, 0, 0.5F, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};
  if (depth == 1) {
    for (Color& color : colors) color[0] = 1;
  }
  return colors;
}

std::vector<Color> colors_from(const Tensor& table, std::int64_t depth) {
  check_rank(table, 2, "colors");
  if (table.dim(1) < depth) {
    throw invalid_argument("colors ", table.describe(), " have fewer channels than the pictures, ", depth);
  }
  std::vector<Color> colors(static_cast<std::size_t>(table.num_elements() == 0 ? 0 : table.dim(0)));
  for (std::size_t i = 0; i < colors.size(); ++i) {
    std::copy_n(table.data<float>() + i * table.dim(1), depth, colors[i].begin());
  }
  return colors.empty() ? default_colors(depth) : colors;
}

// The pixels of one side of a box, uncut: first and last row or column.
struct Range {
  std::int64_t first = 0, last = 0;
  bool visible = false;
};

Range pixels_of(float first, float last, std::int64_t size) {
  // Far outside is as good as anywhere there; NaN counts as inverted.
  const float limit = 1e9F;
  const auto at = [&](float share) {
    return static_cast<std::int64_t>(std::clamp(share * static_cast<float>(size - 1), -limit, limit));
  };
  if (std::isnan(first) || std::isnan(last)) return {};
  const Range range{at(first), at(last), false};
  return {range.first, range.last, range.first <= range.last && range.first < size && range.last >= 0};
}

template <class T>
class Canvas {
 public:
  Canvas(T* pixels, std::int64_t height, std::int64_t width, std::int64_t depth)
      : pixels_(pixels), height_(height), width_(width), depth_(depth) {}

  void frame(const float* box, const Color& color) {
    const Range rows = pixels_of(box[0], box[2], height_), columns = pixels_of(box[1], box[3], width_);
    if (!rows.visible || !columns.visible) return;
    const std::int64_t top = std::max<std::int64_t>(rows.first, 0), bottom = std::min(rows.last, height_ - 1);
    const std::int64_t left = std::max<std::int64_t>(columns.first, 0), right = std::min(columns.last, width_ - 1);
    for (const std::int64_t row : {rows.first, rows.last}) {
      if (row < 0 || row >= height_) continue;
      for (std::int64_t x = left; x <= right; ++x) set(row, x, color);
    }
    for (const std::int64_t column : {columns.first, columns.last}) {
      if (column < 0 || column >= width_) continue;
      for (std::int64_t y = top; y <= bottom; ++y) set(y, column, color);
    }
  }

 private:
  void set(std::int64_t y, std::int64_t x, const Color& color) {
    for (std::int64_t k = 0; k < depth_; ++k) pixels_[(y * width_ + x) * depth_ + k] = static_cast<T>(color[k]);
  }

  T* pixels_;
  std::int64_t height_, width_, depth_;
};

void run_draw(RunContext& c) {
  const Tensor& images = c.input(0);
  const Tensor& boxes = c.input(1);
  check_rank(images, 4, "images");
  check_rank(boxes, 3, "boxes");
  const std::int64_t height = images.dim(1), width = images.dim(2), depth = images.dim(3);
  if (depth != 1 && depth != 3 && depth != 4) {
    throw invalid_argument("pictures have ", depth, " channels; 1 (gray), 3 (RGB) or 4 (RGBA) are wanted");
  }
  if (boxes.dim(0) != images.dim(0) || boxes.dim(2) != 4) {
    throw invalid_argument("boxes ", boxes.describe(), " must be [batch, n, 4] for pictures ", images.describe());
  }
  const std::vector<Color> colors = c.num_inputs() == 3 ? colors_from(c.input(2), depth) : default_colors(depth);
  Tensor& out = c.allocate_output(0, images.shape());
  if (out.num_elements() == 0) return;
  std::memcpy(out.raw(), images.raw(), images.byte_size());
  kernels::dispatch(kernels::TypeList<float, Half>(), images.dtype(), "DrawBoundingBoxes", [&]<class T>() {
    for (std::int64_t i = 0; i < images.dim(0); ++i) {
      Canvas<T> canvas(out.data<T>() + i * height * width * depth, height, width, depth);
      for (std::int64_t j = 0; j < boxes.dim(1); ++j) {
        canvas.frame(boxes.data<float>() + (i * boxes.dim(1) + j) * 4, colors[j % colors.size()]);
      }
    }
  });
}

// ---- Random crops

// Numbers below n without bias, one or more draws each.
class Dice {
 public:
  explicit Dice(const PhiloxRandom& generator) : singles_(generator) {}

  float share() { return uniform_float(singles_()); }
  std::uint32_t bits() { return singles_(); }
  std::uint32_t below(std::uint32_t n) {
    if (n == 0) return singles_() * n;
    if ((n & (n - 1)) == 0) return singles_() & (n - 1);
    const std::uint32_t rejected = std::numeric_limits<std::uint32_t>::max() % n + 1;
    std::uint32_t drawn;
    do {
      drawn = singles_();
    } while (drawn < rejected);
    return drawn % n;
  }

 private:
  PhiloxSingles singles_;
};

struct Rectangle {
  int left = 0, top = 0, right = 0, bottom = 0;
  float area() const {
    return static_cast<float>(static_cast<std::int64_t>(right - left) * static_cast<std::int64_t>(bottom - top));
  }
  float shared_area(const Rectangle& other) const {
    const Rectangle both{std::max(left, other.left), std::max(top, other.top), std::min(right, other.right),
                         std::min(bottom, other.bottom)};
    return both.left > both.right || both.top > both.bottom ? 0.0F : both.area();
  }
};

struct CropRules {
  float min_area, max_area;    // shares of the picture
  float min_ratio, max_ratio;  // width / height
  float min_covered;
  int attempts;
};

int rounded(float x) { return static_cast<int>(std::lrint(std::clamp(x, -2e9F, 2e9F))); }

// A crop of that aspect ratio whose height is uniform between the bounds that the areas set, at a uniform place.
// The steps and their roundings are TensorFlow's, so that the same seed gives the same crop.
bool draw_crop(int width, int height, const CropRules& rules, float ratio, Dice& dice, Rectangle* crop) {
  if (rules.max_area <= 0 || ratio <= 0 || width <= 0 || height <= 0 || rules.min_area > rules.max_area) return false;
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  const float min_area = rules.min_area * w * h, max_area = rules.max_area * w * h;
  int crop_height = rounded(std::sqrt(min_area / ratio));
  int most = rounded(std::sqrt(max_area / ratio));
  const auto width_of = [&](int rows) { return rounded(static_cast<float>(rows) * ratio); };
  if (width_of(most) > width) {
    constexpr float kEpsilon = 0.0000001F;
    most = static_cast<int>((width + 0.5 - kEpsilon) / ratio);
    if (width_of(most) > width) --most;
  }
  most = std::min(most, height);
  crop_height = std::min(crop_height, most);
  if (crop_height < most)
    crop_height += static_cast<int>(dice.below(static_cast<std::uint32_t>(most - crop_height + 1)));
  int crop_width = width_of(crop_height);
  const auto area = [&] { return static_cast<float>(std::int64_t{crop_width} * crop_height); };
  // One pixel more or less, where rounding alone broke the bounds.
  if (area() < min_area) crop_width = width_of(++crop_height);
  if (area() > max_area) crop_width = width_of(--crop_height);
  if (area() < min_area || area() > max_area || crop_width > width || crop_height > height || crop_width <= 0 ||
      crop_height <= 0) {
    return false;
  }
  const int top =
      crop_height < height ? static_cast<int>(dice.below(static_cast<std::uint32_t>(height - crop_height))) : 0;
  const int left =
      crop_width < width ? static_cast<int>(dice.below(static_cast<std::uint32_t>(width - crop_width))) : 0;
  *crop = {left, top, left + crop_width, top + crop_height};
  return true;
}

bool covers_enough(const Rectangle& crop, float min_covered, const std::vector<Rectangle>& objects) {
  if (crop.area() < 1) return false;
  return std::ranges::any_of(objects, [&](const Rectangle& object) {
    return object.area() >= 1 && crop.shared_area(object) / object.area() >= min_covered;
  });
}

CropRules rules_of(RunContext& c) {
  const auto pair = [&](std::string_view name) {
    const auto& values = c.node().attr<std::vector<float>>(name);
    if (values.size() != 2) throw invalid_argument(name, " must be two numbers, not ", values.size());
    if (!(values[0] > 0 && values[1] > 0)) {
      throw invalid_argument(name, " [", values[0], ", ", values[1], "] must be positive");
    }
    return std::array{values[0], values[1]};
  };
  const auto ratio = pair("aspect_ratio_range"), area = pair("area_range");
  if (area[0] > 1 || area[1] > 1) throw invalid_argument("area_range [", area[0], ", ", area[1], "] exceeds 1");
  const std::int64_t attempts = c.node().attr<std::int64_t>("max_attempts");
  if (attempts <= 0 || attempts > std::numeric_limits<std::int32_t>::max()) {
    throw invalid_argument("max_attempts is ", attempts, "; it must be positive");
  }
  CropRules rules{area[0], area[1], ratio[0], ratio[1], 0, static_cast<int>(attempts)};
  if (c.num_inputs() >= 3) {
    if (c.input(2).rank() != 0) {
      throw invalid_argument("min_object_covered must be a scalar, not ", c.input(2).describe());
    }
    rules.min_covered = c.input(2).item<float>();
  } else {
    rules.min_covered = c.node().attr<float>("min_object_covered");
  }
  if (!(rules.min_covered >= 0)) throw invalid_argument("min_object_covered ", rules.min_covered, " is negative");
  return rules;
}

std::vector<Rectangle> objects_of(RunContext& c, int width, int height) {
  const Tensor& boxes = c.input(1);
  check_rank(boxes, 3, "bounding_boxes");
  if (boxes.dim(2) != 4) throw invalid_argument("bounding_boxes ", boxes.describe(), " must be [batch, n, 4]");
  std::vector<Rectangle> objects;
  for (std::int64_t i = 0; i < boxes.num_elements(); i += 4) {
    const float* box = boxes.data<float>() + i;
    for (int k = 0; k < 4; ++k) {
      if (!(box[k] >= 0 && box[k] <= 1)) throw invalid_argument("the coordinate ", box[k], " is not in [0, 1]");
    }
    const auto at = [](float share, int size) { return static_cast<int>(share * static_cast<float>(size)); };
    objects.push_back({at(box[1], width), at(box[0], height), at(box[3], width), at(box[2], height)});
  }
  if (!objects.empty()) return objects;
  if (!c.node().attr<bool>("use_image_if_no_bounding_boxes")) {
    throw invalid_argument("there are no bounding boxes")
        .hint("Set use_image_if_no_bounding_boxes to take the whole picture as one.");
  }
  return {{0, 0, width, height}};
}

void sample_with(RunContext& c, const PhiloxRandom& generator, const CropRules& rules) {
  const Tensor& size = c.input(0);
  if (size.rank() != 1 || size.dim(0) != 3) {
    throw invalid_argument("image_size must be (height, width, channels), not ", size.describe());
  }
  const auto sides = size.to_int64s();
  for (int i = 0; i < 2; ++i) {
    if (sides[i] < 0 || sides[i] >= std::numeric_limits<std::int32_t>::max()) {
      throw invalid_argument("image_size ", size, " has a side that is negative or not below 2^31");
    }
  }
  const int height = static_cast<int>(sides[0]), width = static_cast<int>(sides[1]);
  const std::vector<Rectangle> objects = objects_of(c, width, height);
  Dice dice(generator);
  Rectangle crop{0, 0, width, height};
  for (int i = 0; i < rules.attempts; ++i) {
    const float ratio = dice.share() * (rules.max_ratio - rules.min_ratio) + rules.min_ratio;
    Rectangle drawn;
    if (!draw_crop(width, height, rules, ratio, dice, &drawn)) continue;
    if (!covers_enough(drawn, rules.min_covered, objects)) continue;
    crop = drawn;
    break;
  }
  Tensor& begin = c.allocate_output(0, Shape{3});
  Tensor& extent = c.allocate_output(1, Shape{3});
  using Integers = kernels::TypeList<std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
  kernels::dispatch(Integers(), size.dtype(), "SampleDistortedBoundingBox", [&]<class T>() {
    std::ranges::copy(std::array{static_cast<T>(crop.top), static_cast<T>(crop.left), T(0)}, begin.data<T>());
    std::ranges::copy(std::array{static_cast<T>(crop.bottom - crop.top), static_cast<T>(crop.right - crop.left), T(-1)},
                      extent.data<T>());  // -1: all channels
  });
  auto* box = c.allocate_output(2, Shape{1, 1, 4}).data<float>();
  const auto h = static_cast<float>(height), w = static_cast<float>(width);
  box[0] = static_cast<float>(crop.top) / h;
  box[1] = static_cast<float>(crop.left) / w;
  box[2] = static_cast<float>(crop.bottom) / h;
  box[3] = static_cast<float>(crop.right) / w;
}

void run_sample(RunContext& c) {
  const CropRules rules = rules_of(c);
  // One 128-bit sample for each attempt is TensorFlow's guess of what it takes.
  sample_with(c, c.state<RandomState>().philox().reserve_samples(static_cast<std::uint64_t>(rules.attempts)), rules);
}

void run_stateless_sample(RunContext& c) {
  const Tensor& seed = c.input(3);
  if (seed.rank() != 1 || seed.dim(0) != 2) throw invalid_argument("seed must be two integers, not ", seed.describe());
  const auto numbers = seed.to_int64s();
  sample_with(c,
              PhiloxRandom::stateless(static_cast<std::uint64_t>(numbers[0]), static_cast<std::uint64_t>(numbers[1])),
              rules_of(c));
}

void run_random_crop(RunContext& c) {
  const Tensor& image = c.input(0);
  check_rank(image, 3, "image");
  const Tensor& size = c.input(1);
  if (size.rank() != 1 || size.dim(0) != 2) {
    throw invalid_argument("size must be a vector of height and width, not ", size.describe());
  }
  const auto sides = size.to_int64s();
  if (sides[0] < 0 || sides[1] < 0) throw invalid_argument("size ", size, " is negative");
  const std::int64_t height = image.dim(0), width = image.dim(1);
  if (sides[0] > height || sides[1] > width) {
    throw failed_precondition("a crop of ", size, " does not fit into ", image.describe());
  }
  Dice dice(c.state<RandomState>().philox().reserve_samples(1));
  const auto offset = [&](std::int64_t all, std::int64_t part) {
    return all > part ? dice.bits() % static_cast<std::uint32_t>(all - part + 1) : 0;
  };
  const std::int64_t left = offset(width, sides[1]), top = offset(height, sides[0]);
  Tensor& out = c.allocate_output(0, Shape{sides[0], sides[1], image.dim(2)});
  const std::size_t pixel = static_cast<std::size_t>(image.dim(2)) * dtype_size(image.dtype());
  for (std::int64_t y = 0; y < sides[0] && out.num_elements() > 0; ++y) {
    std::memcpy(out.raw() + y * sides[1] * pixel, image.raw() + ((y + top) * width + left) * pixel, sides[1] * pixel);
  }
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "DrawBoundingBoxes",
    .inputs = "images: T; boxes: float",
    .outputs = "output: T",
    .attrs = "T: {float, half} = DT_FLOAT",
    .shape = draw_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_draw>,
});
CAUDAL_REGISTER_OP({
    .name = "DrawBoundingBoxesV2",
    .inputs = "images: T; boxes: float; colors: float",
    .outputs = "output: T",
    .attrs = "T: {float, half} = DT_FLOAT",
    .shape = draw_v2_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_draw>,
});
CAUDAL_REGISTER_OP({
    .name = "SampleDistortedBoundingBox",
    .inputs = "image_size: T; bounding_boxes: float",
    .outputs = "begin: T; size: T; bboxes: float",
    .attrs = "T: {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0; min_object_covered: float = 0.1;"
             "aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1.0];"
             "max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false",
    .stateful = true,
    .shape = sample_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_sample>,
    .state = make_random_state,
});
CAUDAL_REGISTER_OP({
    .name = "SampleDistortedBoundingBoxV2",
    .inputs = "image_size: T; bounding_boxes: float; min_object_covered: float",
    .outputs = "begin: T; size: T; bboxes: float",
    .attrs = "T: {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0;"
             "aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1.0];"
             "max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false",
    .stateful = true,
    .shape = sample_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_sample>,
    .state = make_random_state,
});
CAUDAL_REGISTER_OP({
    .name = "StatelessSampleDistortedBoundingBox",
    .inputs = "image_size: T; bounding_boxes: float; min_object_covered: float; seed: Tseed",
    .outputs = "begin: T; size: T; bboxes: float",
    .attrs = "T: {uint8, int8, int16, int32, int64}; Tseed: {int32, int64};"
             "aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1.0];"
             "max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false",
    .shape = sample_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_stateless_sample>,
});
CAUDAL_REGISTER_OP({
    .name = "RandomCrop",
    .inputs = "image: T; size: int64",
    .outputs = "output: T",
    .attrs = "T: {uint8, int8, int16, int32, int64, float, double}; seed: int = 0; seed2: int = 0",
    .stateful = true,
    .deprecated_version = 8,
    .shape = crop_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_random_crop>,
    .state = make_random_state,
});

OpBuilder& with_rules(OpBuilder& builder, const image::SampleDistortedBoundingBoxOptions& options) {
  return builder.attr("aspect_ratio_range", options.aspect_ratio_range)
      .attr("area_range", options.area_range)
      .attr("max_attempts", options.max_attempts)
      .attr("use_image_if_no_bounding_boxes", options.use_image_if_no_bounding_boxes);
}

image::DistortedBoundingBox outputs_of_sample(OpBuilder& builder) {
  Node& node = builder.build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace

// ---- Public functions

Output image::draw_bounding_boxes(const Operand& images, const Operand& boxes,
                                  const DrawBoundingBoxesOptions& options) {
  OpBuilder builder(options.colors ? "DrawBoundingBoxesV2" : "DrawBoundingBoxes",
                    {.name = options.name, .where = options.where});
  builder.input(images).input(boxes, DType::kFloat);
  if (options.colors) builder.input(*options.colors, DType::kFloat);
  return builder.build();
}

image::DistortedBoundingBox image::sample_distorted_bounding_box(const Operand& image_size,
                                                                 const Operand& bounding_boxes,
                                                                 const SampleDistortedBoundingBoxOptions& options) {
  const Output size = image_size.to_output(DType::kInt32);
  const RandomSeeds seeds = get_seed(size.node()->graph(), options.seed);
  OpBuilder builder("SampleDistortedBoundingBoxV2", {.name = options.name, .where = options.where});
  builder.input(size)
      .input(bounding_boxes, DType::kFloat)
      .input(options.min_object_covered, DType::kFloat)
      .attr("seed", seeds.seed)
      .attr("seed2", seeds.seed2);
  return outputs_of_sample(with_rules(builder, options));
}

image::DistortedBoundingBox image::stateless_sample_distorted_bounding_box(
    const Operand& image_size, const Operand& bounding_boxes, const Operand& seed,
    const SampleDistortedBoundingBoxOptions& options) {
  OpBuilder builder("StatelessSampleDistortedBoundingBox", {.name = options.name, .where = options.where});
  builder.input(image_size, DType::kInt32)
      .input(bounding_boxes, DType::kFloat)
      .input(options.min_object_covered, DType::kFloat)
      .input(seed, DType::kInt32);
  return outputs_of_sample(with_rules(builder, options));
}

}  // namespace caudal::inline v0
