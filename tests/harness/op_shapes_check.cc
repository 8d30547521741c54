// What shape inference says of a sample, for more and less known inputs, against the shapes that come out.
#include "tests/harness/call.h"
#include "tests/harness/op_harness.h"

namespace caudal::inline v0::harness {
namespace {

struct Knowledge {
  std::string name;
  Feeding feeding;
  Known known;
};

std::vector<PartialShape> inferred(const std::string& op, const Sample& sample, const Knowledge& knowledge) {
  Call call(op, sample.inputs, sample.attrs,
            {.name = knowledge.name, .feeding = knowledge.feeding, .known = knowledge.known});
  std::vector<PartialShape> shapes;
  for (const Output& output : call.outputs()) shapes.push_back(output.shape());
  return shapes;
}

std::string judge_shape(const Sample& sample, const PartialShape& shape, const Shape& real, const PartialShape* full) {
  if (!shape.compatible(real)) return "inferred " + shape.to_string() + ", got " + real.to_string();
  if (full == nullptr && !shape.is_fully_known() && !sample.shape_unknown) {
    return "inferred only " + shape.to_string() + " from known inputs, got " + real.to_string();
  }
  if (full != nullptr && full->merge(shape) != *full) {
    return "inferred " + shape.to_string() + ", but from more knowledge only " + full->to_string();
  }
  return {};
}

}  // namespace

void check_shapes(const std::string& op, const Sample& sample, OpReport& report) {
  const std::string name = sample_name(sample);
  const std::vector<Knowledge> ladder = {
      {"all known", Feeding::kSmallInts, Known::kAll},
      {"first size unknown", Feeding::kSmallInts, Known::kAllButFirst},
      {"only ranks known", Feeding::kSmallInts, Known::kRank},
      {"nothing known but small integers", Feeding::kSmallInts, Known::kNothing},
      {"shapes known, no values", Feeding::kFed, Known::kAll},
      {"only ranks known, no values", Feeding::kFed, Known::kRank},
      {"nothing known", Feeding::kFed, Known::kNothing},
  };
  std::vector<Tensor> outputs;
  std::vector<PartialShape> full;
  for (const Knowledge& knowledge : ladder) {
    std::string message;
    try {
      const std::vector<PartialShape> shapes = inferred(op, sample, knowledge);
      if (full.empty()) {
        outputs = Call(op, sample.inputs, sample.attrs, {.name = "values"}).run();
        full = shapes;
      }
      for (std::size_t i = 0; i < shapes.size() && message.empty(); ++i) {
        if (!outputs[i].valid()) continue;
        const bool first = &knowledge == &ladder.front();
        message = judge_shape(sample, shapes[i], outputs[i].shape(), first ? nullptr : &full[i]);
      }
    } catch (const Error& error) {
      message = std::string("refused: ") + error.what();
    }
    report.judge("shape", name, message.empty() ? "" : knowledge.name + ": " + message);
  }
}

}  // namespace caudal::inline v0::harness
