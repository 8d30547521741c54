// caudal ops: the ops that are there, those of TensorFlow that are missing, and what one of them takes and gives.
#include <algorithm>
#include <cstdio>
#include <span>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/command.h"
#include "caudal/cli/json.h"
#include "caudal/cli/op_tiers.h"
#include "caudal/core/op_registry.h"

namespace caudal::inline v0::cli {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string type_names(std::span<const DType> types) {
  std::vector<std::string> names;
  for (DType type : types) names.emplace_back(dtype_name(type));
  return join(names, ", ");
}

std::string_view gradient_of(const Op& op) {
  if (op.spec->gradient == no_gradient) return "no";
  if (op.spec->gradient == not_differentiable) return "stops";
  return "yes";
}

std::string argument_text(const ArgDef& argument) {
  std::string type = argument.type_attr;
  if (!argument.type_list_attr.empty()) type = "each of " + argument.type_list_attr;
  if (argument.type != DType::kInvalid) type = dtype_name(argument.type);
  if (!argument.number_attr.empty()) type = argument.number_attr + " times " + type;
  return argument.name + ": " + (argument.is_ref ? "reference to " : "") + type;
}

std::string attribute_text(const AttrDef& attr) {
  std::string text = attr.name + ": " + attr.kind;
  if (!attr.allowed_types.empty()) text += " of " + type_names(attr.allowed_types);
  if (!attr.allowed_strings.empty()) text += " of " + join(attr.allowed_strings, ", ");
  if (attr.minimum) text += ", at least " + std::to_string(*attr.minimum);
  return attr.default_value ? text + ", by default " + attr.default_value->to_string() : text;
}

template <class Part>
std::vector<std::string> texts_of(const std::vector<Part>& parts, std::string (*text)(const Part&)) {
  std::vector<std::string> texts;
  for (const Part& part : parts) texts.push_back(text(part));
  return texts;
}

int explain(const std::string& name, bool json) {
  const Op& op = lookup_op(name);
  const auto inputs = texts_of(op.def.inputs, argument_text), outputs = texts_of(op.def.outputs, argument_text);
  const auto attrs = texts_of(op.def.attrs, attribute_text);
  if (json) {
    std::printf("%s\n", JsonObject()
                            .add("name", op.name())
                            .add_json("inputs", json_strings(inputs))
                            .add_json("outputs", json_strings(outputs))
                            .add_json("attributes", json_strings(attrs))
                            .add("gradient", gradient_of(op))
                            .add("stateful", op.def.stateful)
                            .str()
                            .c_str());
    return kExitOk;
  }
  std::printf("%s\n", op.name().c_str());
  const auto print = [](const char* title, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) std::printf("  %-10s %s\n", title, text.c_str());
  };
  print("input", inputs);
  print("output", outputs);
  print("attribute", attrs);
  std::printf("  gradient   %s\n", gradient_of(op).data());
  if (op.def.stateful) std::printf("  stateful: never folded, merged with its like or left out\n");
  return kExitOk;
}

int list_missing(bool json) {
  std::vector<std::string> tiers;
  for (int tier = 1; tier <= kOpTiers; ++tier) {
    std::vector<std::string> missing = words_of(ops_of_tier(tier));
    const std::size_t all = missing.size();
    std::erase_if(missing, [](const std::string& name) { return find_op(name) != nullptr; });
    if (json) {
      tiers.push_back(JsonObject()
                          .add("tier", static_cast<std::int64_t>(tier))
                          .add("ops", static_cast<std::int64_t>(all))
                          .add_json("missing", json_strings(missing))
                          .str());
      continue;
    }
    std::printf("tier %d: %zu of %zu ops are missing\n", tier, missing.size(), all);
    for (const std::string& name : missing) std::printf("  %s\n", name.c_str());
  }
  if (json) std::printf("%s\n", JsonObject().add_json("tiers", json_list(tiers)).str().c_str());
  return kExitOk;
}

int list_ops(bool json) {
  std::vector<std::string> names;
  for (std::string_view name : registered_ops()) names.emplace_back(name);
  if (json) {
    std::printf("%s\n", JsonObject().add_json("ops", json_strings(names)).str().c_str());
  } else {
    for (const std::string& name : names) std::printf("%s\n", name.c_str());
  }
  return kExitOk;
}

int run_ops(const std::vector<std::string>& words) {
  std::vector<std::string> name;
  bool missing = false, json = false;
  Arguments arguments("ops", "Lists the ops that are there, or explains one: its arguments, attributes and gradient.");
  arguments.positional("name", &name, "the op to explain");
  arguments.flag("missing", &missing, "those of TensorFlow that are not there, by tier: 1 matters most");
  arguments.flag("json", &json, "one line of JSON");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (name.size() > 1 || (missing && !name.empty())) {
    std::fprintf(stderr, "caudal ops: one name, or --missing without a name. See caudal ops --help.\n");
    return kExitUsage;
  }
  if (missing) return list_missing(json);
  return name.empty() ? list_ops(json) : explain(name[0], json);
}

}  // namespace

CAUDAL_COMMAND({.name = "ops",
                .summary = "the ops that are there, the missing ones, or one explained",
                .run = run_ops});

}  // namespace caudal::inline v0::cli
