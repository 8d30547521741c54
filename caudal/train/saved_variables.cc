#include "caudal/train/saved_variables.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/tensor_slice.h"
#include "caudal/graph/constant_value.h"

namespace caudal::inline v0::train {
namespace {

// Lines of a list in a message; the rest is counted.
constexpr std::size_t kMaxLines = 20;

Output behind_identities(Output output) {
  while (output && output.node()->type() == "Identity") output = output.node()->input(0);
  return output;
}

const std::string* string_at(const Output& output, int index) {
  const Tensor* value = constant_value(output);
  if (value == nullptr || value->dtype() != string || index >= value->num_elements()) return nullptr;
  return &value->data<std::string>()[index];
}

std::optional<SavedVariable> restored_by(const Node& assign) {
  if (assign.type() != "Assign" && assign.type() != "AssignVariableOp") return std::nullopt;
  const Output value = behind_identities(assign.input(1));
  const Node* variable = assign.input(0).node();
  if (value.node()->type() != "RestoreV2") return std::nullopt;
  const std::string* key = string_at(value.node()->input(1), value.index());
  const std::string* slice = string_at(value.node()->input(2), value.index());
  if (key == nullptr || slice == nullptr) return std::nullopt;
  const AttrValue* shape = find_attr(variable->info().attrs, "shape");
  const PartialShape* known = shape == nullptr ? nullptr : shape->get_if<PartialShape>();
  return SavedVariable{*key, *slice, variable->name(), value.dtype(), known == nullptr ? PartialShape() : *known};
}

// One line if the checkpoint cannot give the variable, else empty.
std::string mismatch(const BundleReader& reader, const SavedVariable& variable) {
  const std::string wanted = internal::concat("'", variable.variable, "' ", variable.dtype, variable.shape);
  if (!reader.contains(variable.key)) {
    const std::string near = did_you_mean(variable.key, reader.names());
    const std::string name = variable.key == variable.variable ? "" : "'" + variable.key + "' is ";
    return wanted + ": " + name + "not in the checkpoint" + (near.empty() ? "" : ". " + near);
  }
  const BundleEntry& entry = reader.entry(variable.key);
  const bool is_part = !variable.slice.empty();
  const bool fits =
      is_part ? ShapeAndSlice::parse(variable.slice).full == entry.shape : variable.shape.compatible(entry.shape);
  if (entry.dtype == variable.dtype && fits) return {};
  const std::string part = is_part ? " as part \"" + variable.slice + "\"" : "";
  return internal::concat(wanted, part, ": ", entry.dtype, entry.shape, " in the checkpoint");
}

std::vector<std::string> not_wanted(const BundleReader& reader, const std::vector<SavedVariable>& variables) {
  std::unordered_set<std::string_view> wanted;
  for (const SavedVariable& variable : variables) wanted.insert(variable.key);
  std::vector<std::string> lines;
  for (const std::string& name : reader.names()) {
    if (wanted.contains(name)) continue;
    const BundleEntry& entry = reader.entry(name);
    lines.push_back(internal::concat("'", name, "' ", entry.dtype, entry.shape));
  }
  return lines;
}

std::string lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) text += "\n  " + lines[i];
  if (lines.size() > kMaxLines) text += internal::concat("\n  and ", lines.size() - kMaxLines, " more");
  return text;
}

}  // namespace

SavedVariable saved_variable(const std::string& key, const Variable& variable) {
  return {.key = key,
          .slice = variable.slice() == nullptr ? "" : variable.slice()->spec(),
          .variable = variable.op_name(),
          .dtype = variable.dtype(),
          .shape = variable.shape()};
}

std::vector<SavedVariable> variables_restored_by(const Node& restore) {
  std::vector<SavedVariable> found;
  std::unordered_set<const Node*> seen{&restore};
  std::vector<const Node*> waiting{&restore};
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    if (auto variable = restored_by(*node)) found.push_back(std::move(*variable));
    if (node->type() != "NoOp") continue;
    for (const Node* before : node->control_inputs()) {
      if (seen.insert(before).second) waiting.push_back(before);
    }
  }
  std::ranges::sort(found, {}, [](const SavedVariable& v) { return std::tie(v.key, v.slice); });
  return found;
}

void check_fits(const BundleReader& reader, const std::vector<SavedVariable>& variables) {
  std::vector<std::string> lines;
  for (const SavedVariable& variable : variables) {
    if (std::string line = mismatch(reader, variable); !line.empty()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return;
  const auto others = not_wanted(reader, variables);
  throw invalid_argument("checkpoint '", reader.prefix(),
                         "' does not fit the graph; nothing was restored:", lines_of(lines),
                         others.empty() ? "" : "\nThe checkpoint also holds:", lines_of(others))
      .hint("Give Saver the variables that it should restore, under the checkpoint's names.");
}

}  // namespace caudal::inline v0::train
