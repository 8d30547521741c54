#include "caudal/ops/einsum_equation.h"

#include <algorithm>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

std::string parse_subscript(std::string_view text, std::string_view equation) {
  std::string labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels += c;
    } else if (text.substr(i, 3) == "..." && !has_ellipsis(labels)) {
      labels += kEllipsisLabel;
      i += 2;
    } else {
      throw invalid_argument("'", text, "' in the equation '", equation, "' is no list of labels")
          .hint("Labels are letters; one '...' may stand for several dimensions.");
    }
  }
  return labels;
}

}  // namespace

EinsumEquation EinsumEquation::parse(std::string_view equation) {
  EinsumEquation result;
  const std::size_t arrow = equation.find("->");
  if (arrow == equation.npos || equation.find("->", arrow + 2) != equation.npos) {
    throw invalid_argument("the equation '", equation, "' must have one '->'");
  }
  std::string_view left = equation.substr(0, arrow);
  for (bool more = true; more;) {
    const std::size_t comma = left.find(',');
    result.inputs.push_back(parse_subscript(left.substr(0, comma), equation));
    more = comma != left.npos;
    if (more) left.remove_prefix(comma + 1);
  }
  result.output = parse_subscript(equation.substr(arrow + 2), equation);
  // An ellipsis that only the result has stands for no dimensions.
  const bool broadcasts = std::any_of(result.inputs.begin(), result.inputs.end(), has_ellipsis);
  if (!broadcasts) std::erase(result.output, kEllipsisLabel);
  for (const char label : result.output) {
    bool found = false;
    for (const std::string& input : result.inputs) found = found || has_label(input, label);
    if (!found)
      throw invalid_argument("the result of '", equation, "' has the label '", label, "', which no input has");
  }
  return result;
}

std::string EinsumEquation::to_string() const {
  const auto spell = [](const std::string& subscript) {
    std::string text;
    for (const char label : subscript) text += label == kEllipsisLabel ? "..." : std::string(1, label);
    return text;
  };
  std::string text;
  for (std::size_t i = 0; i < inputs.size(); ++i) text += (i == 0 ? "" : ",") + spell(inputs[i]);
  return text + "->" + spell(output);
}

std::string unique_labels(std::string_view subscript) {
  std::string labels;
  for (const char label : subscript) {
    if (!has_label(labels, label)) labels += label;
  }
  return labels;
}

}  // namespace caudal::inline v0
