#include "caudal/ops/summary_ops.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/formats/png.h"
#include "caudal/formats/summary.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void image_shape(ShapeContext& c) {
  c.with_rank(1, 4);
  scalar_shape(c);
}

// ---- Kernels

void set_summary(RunContext& c, std::string bytes) {
  c.allocate_output(0, {}).data<std::string>()[0] = std::move(bytes);
}

const std::string& tag_of(RunContext& c) {
  if (c.input(0).rank() != 0) throw invalid_argument("the tag must be one string, not ", c.input(0).describe());
  return c.input(0).item<std::string>();
}

template <class T>
double number(T value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
  return static_cast<double>(static_cast<float>(value));
}

std::vector<double> numbers(const Tensor& values) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(values.num_elements()));
  kernels::dispatch(kernels::RealTypes{}, values.dtype(), "a summary", [&]<class T>() {
    for (const T value : values.flat<T>()) out.push_back(number(value));
  });
  return out;
}

void run_scalar_summary(RunContext& c) {
  const Tensor &tags = c.input(0), &values = c.input(1);
  if (tags.shape() != values.shape()) {
    throw invalid_argument("tags ", tags.describe(), " and values ", values.describe(), " differ in shape",
                           tags.num_elements() == 1 ? " (tag '" + tags.item<std::string>() + "')" : "");
  }
  SummaryBuilder summary;
  const auto all = numbers(values);
  for (std::size_t i = 0; i < all.size(); ++i) {
    summary.scalar(tags.data<std::string>()[i], static_cast<float>(all[i]));
  }
  set_summary(c, summary.encode());
}

void run_histogram_summary(RunContext& c) {
  const Tensor& values = c.input(1);
  SummaryBuilder summary;
  if (values.dtype() == float32) {
    summary.histogram(tag_of(c), values.flat<float>());
  } else {
    summary.histogram(tag_of(c), std::span<const double>(numbers(values)));
  }
  set_summary(c, summary.encode());
}

// One picture of numbers as bytes, by TensorFlow's rule: the largest magnitude of the finite pixels becomes 255 (or 1
// and 255 around 128, if there are negative ones).
Tensor picture_of(const std::vector<double>& pixels, const Shape& shape, const Tensor& bad_color) {
  const auto depth = static_cast<std::size_t>(shape[2]);
  const auto finite = [&](std::size_t at) {
    return std::all_of(pixels.begin() + static_cast<std::ptrdiff_t>(at),
                       pixels.begin() + static_cast<std::ptrdiff_t>(at + depth),
                       [](double x) { return std::isfinite(x); });
  };
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (std::size_t at = 0; at < pixels.size(); at += depth) {
    if (!finite(at)) continue;
    for (std::size_t k = at; k < at + depth; ++k) low = std::min(low, pixels[k]), high = std::max(high, pixels[k]);
  }
  constexpr double kFlat = 1e-6;
  const double largest = low < 0 ? std::max(std::abs(low), std::abs(high)) : high;
  const float scale =
      largest < kFlat ? 0.0F : static_cast<float>((low < 0 ? 127.0F : 255.0F) / static_cast<float>(largest));
  const float offset = low < 0 ? 128.0F : 0.0F;
  Tensor picture(uint8, shape);
  std::uint8_t* out = picture.data<std::uint8_t>();
  for (std::size_t at = 0; at < pixels.size(); at += depth) {
    const bool good = finite(at);
    for (std::size_t k = 0; k < depth; ++k) {
      out[at + k] = good ? static_cast<std::uint8_t>(static_cast<float>(pixels[at + k]) * scale + offset)
                         : bad_color.data<std::uint8_t>()[k];
    }
  }
  return picture;
}

void run_image_summary(RunContext& c) {
  const std::string& tag = tag_of(c);
  const Tensor& batch = c.input(1);
  const Tensor& bad_color = c.node().attr<Tensor>("bad_color");
  if (batch.rank() != 4 || (batch.dim(3) != 1 && batch.dim(3) != 3 && batch.dim(3) != 4)) {
    throw invalid_argument("the pictures are ", batch.describe(), "; [batch, height, width, 1, 3 or 4] is wanted");
  }
  if (bad_color.dtype() != uint8 || bad_color.rank() != 1 || bad_color.dim(0) < batch.dim(3)) {
    throw invalid_argument("bad_color is ", bad_color.describe(), "; uint8[", batch.dim(3), "] is wanted");
  }
  const std::int64_t most = c.node().attr<std::int64_t>("max_images");
  const std::int64_t count = std::min(most, batch.dim(0));
  const Shape shape{batch.dim(1), batch.dim(2), batch.dim(3)};
  if (shape.num_elements() == 0) throw invalid_argument("the pictures ", batch.describe(), " are empty");
  SummaryBuilder summary;
  for (std::int64_t i = 0; i < count; ++i) {
    Tensor picture = batch.rows(i, i + 1).reshape(shape);
    if (picture.dtype() != uint8) picture = picture_of(numbers(picture), shape, bad_color);
    const std::string name = most == 1 ? tag + "/image" : internal::concat(tag, "/image/", i);
    summary.image(name, static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                  encode_png(picture));
  }
  set_summary(c, summary.encode());
}

void run_merge_summary(RunContext& c) {
  std::set<std::string> tags;
  std::string merged;  // a message's repeated fields may follow each other
  for (int i = 0; i < c.num_inputs(); ++i) {
    for (const std::string& bytes : c.input(i).flat<std::string>()) {
      std::vector<SummaryValue> values;
      try {
        values = decode_summary(bytes);
      } catch (const Error& error) {
        throw invalid_argument("input ", i, " is no summary: ", error.detail());
      }
      for (const SummaryValue& value : values) {
        // Values without a tag cannot collide.
        if (!value.tag.empty() && !tags.insert(value.tag).second) {
          throw invalid_argument("Duplicate tag ", value.tag, " found in summary inputs");
        }
      }
      merged += bytes;
    }
  }
  set_summary(c, std::move(merged));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "ScalarSummary",
    .inputs = "tags: string; values: T",
    .outputs = "summary: string",
    .attrs = "T: realnumbertype",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_scalar_summary>,
});
CAUDAL_REGISTER_OP({
    .name = "HistogramSummary",
    .inputs = "tag: string; values: T",
    .outputs = "summary: string",
    .attrs = "T: realnumbertype = DT_FLOAT",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_histogram_summary>,
});
CAUDAL_REGISTER_OP({
    .name = "ImageSummary",
    .inputs = "tag: string; tensor: T",
    .outputs = "summary: string",
    .attrs = "max_images: int >= 1 = 3; T: {uint8, float, half, double} = DT_FLOAT; "
             "bad_color: tensor = uint8[255, 0, 0, 255]",
    .shape = image_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_image_summary>,
});
CAUDAL_REGISTER_OP({
    .name = "MergeSummary",
    .inputs = "inputs: N * string",
    .outputs = "summary: string",
    .attrs = "N: int >= 1",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_merge_summary>,
});

// ---- Public functions

// A name that a node may have: other characters become '_'.
std::string clean(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string_view("-_./").find(c) == std::string_view::npos) {
      c = '_';
    }
  }
  out.erase(0, out.find_first_not_of('/'));
  return out;
}

void collect(const Output& summary, const std::vector<std::string>& collections) {
  for (const std::string& key : collections) summary.graph().add_to_collection(key, {.output = summary});
}

// The scope of one summary; its tag is the scope's full name.
class SummaryScope {
 public:
  SummaryScope(std::string_view name, const std::string& family, const std::source_location& where)
      : where_(where), scope_(family.empty() ? clean(name) : clean(family) + "/" + clean(name)) {
    tag_ = scope_.prefix().substr(0, scope_.prefix().size() - 1);
    if (!family.empty()) tag_ = clean(family) + "/" + tag_;
  }
  // Of the summary's own node, to be taken as it is.
  const std::string& node_name() const { return scope_.prefix(); }
  Output tag(const char* argument) const { return Operand(tag_).to_output(string, argument); }

 private:
  LocationScope where_;
  NameScope scope_;
  std::string tag_;
};

}  // namespace

Output raw_ops::scalar_summary(const Operand& tags, const Operand& values, const OpOptions& options) {
  return OpBuilder("ScalarSummary", options).input(tags).input(values).build();
}

Output raw_ops::histogram_summary(const Operand& tag, const Operand& values, const OpOptions& options) {
  return OpBuilder("HistogramSummary", options).input(tag).input(values).build();
}

namespace summary {

Output scalar(std::string_view name, const Operand& tensor, const SummaryOptions& options) {
  const SummaryScope scope(name, options.family, options.where);
  const Output result = raw_ops::scalar_summary(scope.tag("tags"), tensor, {.name = scope.node_name()});
  collect(result, options.collections);
  return result;
}

Output histogram(std::string_view name, const Operand& values, const SummaryOptions& options) {
  const SummaryScope scope(name, options.family, options.where);
  const Output result = raw_ops::histogram_summary(scope.tag("tag"), values, {.name = scope.node_name()});
  collect(result, options.collections);
  return result;
}

Output image(std::string_view name, const Operand& tensor, const ImageSummaryOptions& options) {
  const SummaryScope scope(name, options.family, options.where);
  const Output result = OpBuilder("ImageSummary", {.name = scope.node_name()})
                            .input(scope.tag("tag"))
                            .input(tensor)
                            .attr("max_images", options.max_outputs)
                            .build();
  collect(result, options.collections);
  return result;
}

Output merge(const std::vector<Output>& inputs, const MergeOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "Merge" : clean(options.name));
  const std::string node = options.name.empty() ? "MergeSummary" : clean(options.name);
  const Output result = OpBuilder("MergeSummary", {.name = node, .where = options.where}).inputs(inputs).build();
  collect(result, options.collections);
  return result;
}

Output merge_all(const MergeAllOptions& options) {
  std::vector<Output> summaries;
  for (const CollectionItem& item : default_graph().collection(options.key, options.scope)) {
    if (item.output) summaries.push_back(item.output);
  }
  if (summaries.empty()) return {};
  return merge(summaries, {.name = options.name, .where = options.where});
}

}  // namespace summary
}  // namespace caudal::inline v0
