#include "caudal/ops/summary_ops.h"

#include <cctype>
#include <set>

#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/formats/summary.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/summary_values.h"

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

void run_scalar_summary(RunContext& c) {
  const Tensor &tags = c.input(0), &values = c.input(1);
  if (tags.shape() != values.shape()) {
    throw invalid_argument("tags ", tags.describe(), " and values ", values.describe(), " differ in shape",
                           tags.num_elements() == 1 ? " (tag '" + tags.item<std::string>() + "')" : "");
  }
  SummaryBuilder summary;
  const auto all = summary_values::numbers(values);
  for (std::size_t i = 0; i < all.size(); ++i) {
    summary.scalar(tags.data<std::string>()[i], static_cast<float>(all[i]));
  }
  set_summary(c, summary.encode());
}

void run_histogram_summary(RunContext& c) {
  SummaryBuilder summary;
  summary_values::add_histogram(tag_of(c), c.input(1), &summary);
  set_summary(c, summary.encode());
}

void run_image_summary(RunContext& c) {
  SummaryBuilder summary;
  summary_values::add_images(tag_of(c), c.input(1), c.node().attr<Tensor>("bad_color"),
                             c.node().attr<std::int64_t>("max_images"), &summary);
  set_summary(c, summary.encode());
}

// AudioSummary has the rate as an attribute, AudioSummaryV2 as an input.
void run_audio_summary(RunContext& c) {
  const float rate =
      c.num_inputs() > 2 ? summary_values::scalar(c.input(2), "sample_rate") : c.node().attr<float>("sample_rate");
  SummaryBuilder summary;
  summary_values::add_audio(tag_of(c), c.input(1), rate, c.node().attr<std::int64_t>("max_outputs"), &summary);
  set_summary(c, summary.encode());
}

void run_tensor_summary(RunContext& c) {
  SummaryBuilder summary;
  summary.tensor("", c.node().name, c.input(0));
  set_summary(c, summary.encode());
}

void run_tensor_summary_v2(RunContext& c) {
  if (c.input(2).rank() != 0) {
    throw invalid_argument("serialized_summary_metadata must be one string, not ", c.input(2).describe());
  }
  SummaryBuilder summary;
  summary.tensor(tag_of(c), "", c.input(1), c.input(2).item<std::string>());
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
    .name = "AudioSummary",
    .inputs = "tag: string; tensor: float",
    .outputs = "summary: string",
    .attrs = "sample_rate: float; max_outputs: int >= 1 = 3",
    .deprecated_version = 15,
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_audio_summary>,
});
CAUDAL_REGISTER_OP({
    .name = "AudioSummaryV2",
    .inputs = "tag: string; tensor: float; sample_rate: float",
    .outputs = "summary: string",
    .attrs = "max_outputs: int >= 1 = 3",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_audio_summary>,
});
CAUDAL_REGISTER_OP({
    .name = "TensorSummary",
    .inputs = "tensor: T",
    .outputs = "summary: string",
    .attrs = "T: type; description: string = ''; labels: list(string) = []; display_name: string = ''",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_tensor_summary>,
});
CAUDAL_REGISTER_OP({
    .name = "TensorSummaryV2",
    .inputs = "tag: string; tensor: T; serialized_summary_metadata: string",
    .outputs = "summary: string",
    .attrs = "T: type",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_tensor_summary_v2>,
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

Output audio(std::string_view name, const Operand& tensor, const Operand& sample_rate,
             const AudioSummaryOptions& options) {
  const SummaryScope scope(name, options.family, options.where);
  const Output result = OpBuilder("AudioSummaryV2", {.name = scope.node_name()})
                            .input(scope.tag("tag"))
                            .input(tensor)
                            .input(sample_rate)
                            .attr("max_outputs", options.max_outputs)
                            .build();
  collect(result, options.collections);
  return result;
}

Output text(std::string_view name, const Operand& tensor, const TextSummaryOptions& options) {
  // SummaryMetadata of TensorBoard's plugin.
  WireWriter plugin, metadata;
  plugin.bytes(1, "text");
  metadata.message(1, plugin);
  const SummaryScope scope(name, {}, options.where);
  const Output result = OpBuilder("TensorSummaryV2", {.name = scope.node_name()})
                            .input(scope.tag("tag"))
                            .input(tensor, string)
                            .input(Tensor(metadata.str()))
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
