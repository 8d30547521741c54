#include "tests/harness/op_facts.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "caudal/base/error.h"
#include "tests/harness/json_data.h"

namespace caudal::inline v0::harness {
namespace {

std::map<std::string, std::string> read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw not_found("cannot read '", path, "'");
  std::map<std::string, std::string> table;
  for (std::string line; std::getline(file, line);) {
    const auto tab = line.find('\t');
    if (tab != std::string::npos) table[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return table;
}

std::string describe(const ArgDef& arg) {
  return internal::concat(arg.name, ": ", arg.is_ref ? "Ref " : "", arg.type, " type attribute '", arg.type_attr,
                          "', number attribute '", arg.number_attr, "', list attribute '", arg.type_list_attr, "'");
}

std::string args_difference(const std::string& what, const std::vector<ArgDef>& want, const std::vector<ArgDef>& have) {
  if (want.size() != have.size())
    return internal::concat(want.size(), " ", what, "s in TensorFlow, ", have.size(), " here");
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (describe(want[i]) != describe(have[i])) {
      return internal::concat(what, " ", i, ": TensorFlow has ", describe(want[i]), "; here ", describe(have[i]));
    }
  }
  return {};
}

std::string default_text(const AttrDef& attr) {
  return attr.default_value ? internal::concat(*attr.default_value) : "none";
}

std::string attr_difference(const AttrDef& want, const AttrDef& have) {
  if (want.name != have.name) return "attribute '" + want.name + "' expected, got '" + have.name + "'";
  const std::string name = "attribute '" + want.name + "': ";
  if (want.kind != have.kind) return name + "kind " + want.kind + " expected, got " + have.kind;
  const bool same_default = want.default_value.has_value() == have.default_value.has_value() &&
                            (!want.default_value || !want.default_value->has_value() ||  // tensors are not compared
                             *want.default_value == *have.default_value);
  if (!same_default) return name + "default " + default_text(want) + " expected, got " + default_text(have);
  if (want.minimum != have.minimum) return name + "the minimum differs";
  const auto types = [](const AttrDef& attr) { return std::set(attr.allowed_types.begin(), attr.allowed_types.end()); };
  if (types(want) != types(have)) {
    std::ostringstream out;
    for (DType type : types(want)) out << (types(have).count(type) ? "" : internal::concat(" ", type, " is missing;"));
    for (DType type : types(have)) out << (types(want).count(type) ? "" : internal::concat(" ", type, " is too many;"));
    return name + "the allowed types differ:" + out.str();
  }
  const auto texts = [](const AttrDef& attr) {
    return std::set(attr.allowed_strings.begin(), attr.allowed_strings.end());
  };
  return texts(want) != texts(have) ? name + "the allowed strings differ" : "";
}

// Types that samples can hold.
bool can_be_sampled(DType type) { return type != DType::kInvalid && type != resource && type != variant; }

}  // namespace

std::string definition_difference(const OpDef& tensorflow, const OpDef& ours) {
  if (auto d = args_difference("input", tensorflow.inputs, ours.inputs); !d.empty()) return d;
  if (auto d = args_difference("output", tensorflow.outputs, ours.outputs); !d.empty()) return d;
  for (std::size_t i = 0; i < std::min(tensorflow.attrs.size(), ours.attrs.size()); ++i) {
    if (auto d = attr_difference(tensorflow.attrs[i], ours.attrs[i]); !d.empty()) return d;
  }
  if (tensorflow.attrs.size() != ours.attrs.size()) {
    return internal::concat(tensorflow.attrs.size(), " attributes in TensorFlow, ", ours.attrs.size(), " here");
  }
  if (tensorflow.stateful != ours.stateful) return "the flag stateful differs";
  if (tensorflow.commutative != ours.commutative) return "the flag commutative differs";
  if (tensorflow.aggregate != ours.aggregate) return "the flag aggregate differs";
  if (tensorflow.allows_uninitialized_input != ours.allows_uninitialized_input) {
    return "the flag allows_uninitialized_input differs";
  }
  return tensorflow.deprecated_version != ours.deprecated_version ? "the version of deprecation differs" : "";
}

OpFacts::OpFacts(const std::string& folder)
    : definitions_(read_op_defs(folder + "/op_defs.json")),
      kernels_(read_table(folder + "/op_kernels.tsv")),
      gradients_(read_table(folder + "/op_gradients.tsv")) {}

const OpDef* OpFacts::definition(const std::string& op) const {
  const auto found = definitions_.find(op);
  return found == definitions_.end() ? nullptr : &found->second;
}

// The table's form: alternatives separated by "; ", in each "A=type|type" for every constrained attribute.
std::map<std::string, std::set<DType>> OpFacts::kernel_types(const std::string& op) const {
  std::map<std::string, std::set<DType>> types;
  const auto found = kernels_.find(op);
  if (found == kernels_.end()) return types;
  std::istringstream words(found->second);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) continue;
    std::set<DType>& set = types[word.substr(0, equals)];
    std::string list = word.substr(equals + 1);
    if (!list.empty() && list.back() == ';') list.pop_back();
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, '|');) {
      if (const DType type = dtype_from_name(name); can_be_sampled(type)) set.insert(type);
    }
  }
  return types;
}

std::string OpFacts::gradient(const std::string& op) const {
  const auto found = gradients_.find(op);
  return found == gradients_.end() ? "" : found->second;
}

void OpFacts::check(const Samples& samples, OpReport& report) const {
  const Op* op = find_op(report.op);
  if (op == nullptr) return;
  const OpDef* want = definition(report.op);
  const bool own = op->def.name.starts_with("_Caudal");  // what plans make of several nodes
  if (!own) {
    report.judge("definition", "",
                 want == nullptr ? "TensorFlow has no such op" : definition_difference(*want, op->def));
  }

  const std::string kind = gradient(report.op);
  if ((kind == "yes" && report.gradient != "yes") || (kind == "returns_none" && report.gradient == "none")) {
    report.add("gradient", "", "TensorFlow has a gradient, here it is: " + report.gradient);
  } else if (kind == "none_by_design" && report.gradient == "none") {
    report.add("gradient", "", "not_differentiable in TensorFlow, an error here");
  }

  if (samples.samples().empty()) return;
  for (const auto& [attr, types] : kernel_types(report.op)) {
    const AttrDef* def = op->def.find_attr(attr);
    if (def == nullptr) continue;
    std::ostringstream missing;
    for (DType type : types) {
      // TensorFlow has kernels for types that its definitions do not let through.
      const bool possible = def->allowed_types.empty() || std::ranges::count(def->allowed_types, type) > 0;
      const bool excused = std::ranges::count(samples.unsupported_types(), type) > 0;
      if (possible && !excused && !report.dtypes[attr].contains(type)) missing << " " << type;
    }
    report.judge("types", "", missing.str().empty() ? "" : "no sample ran with " + attr + " =" + missing.str());
  }
}

}  // namespace caudal::inline v0::harness
