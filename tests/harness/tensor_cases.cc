#include "tests/harness/tensor_cases.h"

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable.h"
#include "tests/harness/compare.h"
#include "tests/harness/json_data.h"

namespace caudal::inline v0::harness {
namespace {

using Cases = std::map<std::string, std::map<std::string, std::string>>;  // JSON by case and name

Cases read_cases(const std::string& path) {
  Cases cases;
  const std::string text = read_file(default_env(), path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos) throw data_loss(path, " has the line ", line);
    cases[line.substr(0, first)][line.substr(first + 1, second - first - 1)] = line.substr(second + 1);
  }
  return cases;
}

// Each file is read once.
const Cases& cases_of(const std::string& path) {
  static std::map<std::string, Cases> files;
  const auto found = files.find(path);
  return found != files.end() ? found->second : files.emplace(path, read_cases(path)).first->second;
}

}  // namespace

RecordedCase::RecordedCase(const std::string& path, const std::string& name) : name_(name) {
  const Cases& cases = cases_of(path);
  const auto found = cases.find(name);
  if (found == cases.end()) throw not_found("there is no case ", name);
  for (const auto& [key, json] : found->second) values_.emplace(key, parse_tensor(json));
}

const Tensor& RecordedCase::value(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw not_found("case ", name_, " has no tensor ", name);
  return found->second;
}

Output RecordedCase::input(const std::string& name) const { return constant(value(name)); }

void RecordedCase::load_variables(Session& session, std::string& findings) const {
  std::size_t recorded = 0;
  for (const auto& [key, value] : values_) recorded += key.starts_with("var:") ? 1 : 0;
  for (const Variable& variable : global_variables()) {
    const auto found = values_.find("var:" + variable.op_name());
    if (found == values_.end()) {
      findings += "TensorFlow has no variable " + variable.op_name() + "\n";
      continue;
    }
    --recorded;
    session.run(variable.initializer(), {{variable.initial_value(), found->second}});
  }
  if (recorded == 0) return;
  for (const auto& [key, value] : values_) {
    if (key.starts_with("var:")) findings += "TensorFlow has " + key + value.describe() + "\n";
  }
}

std::string RecordedCase::check(const std::vector<Output>& outputs, const Check& options) const {
  std::string findings;
  Session session;
  session.run(local_variables_initializer());
  load_variables(session, findings);
  if (!findings.empty()) return findings;
  for (int step = 0; step < options.steps; ++step) {
    for (const Operation& operation : options.then) session.run(operation, options.feeds);
  }
  const auto compare = [&](const std::string& what, const Tensor& got) {
    const std::string message = difference(value(what), got, options.tolerance);
    if (!message.empty()) findings += name_ + " " + what + ": " + message + "\n";
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    compare(i == 0 ? "out" : "out" + std::to_string(i), session.run(outputs[i], options.feeds));
  }
  if (has("out" + std::to_string(outputs.size()))) findings += name_ + ": there are more outputs\n";
  if (options.then.empty()) return findings;
  std::vector<Variable> variables = global_variables();
  for (const Variable& variable : local_variables()) variables.push_back(variable);
  for (const Variable& variable : variables) {
    const std::string key = "after:" + variable.op_name();
    if (has(key)) {
      compare(key, session.run(variable));
    } else {
      findings += name_ + ": TensorFlow has no variable " + variable.op_name() + "\n";
    }
  }
  return findings;
}

}  // namespace caudal::inline v0::harness
