#include "caudal/ops/einsum.h"

#include <algorithm>
#include <map>
#include <optional>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/einsum_equation.h"
#include "caudal/ops/einsum_kernel.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;

// --- Shape ---

int named_labels(const std::string& subscript) {
  return static_cast<int>(subscript.size()) - (has_ellipsis(subscript) ? 1 : 0);
}

// What the inputs tell of the sizes of labels and of the dimensions of the ellipsis.
struct KnownSizes {
  std::map<char, std::int64_t> labels;
  PartialShape ellipsis = PartialShape::scalar();

  void add(const std::string& subscript, const PartialShape& shape) {
    if (!shape.has_rank()) {
      if (has_ellipsis(subscript)) ellipsis = PartialShape::unknown();
      return;
    }
    const int named = named_labels(subscript);
    if (has_ellipsis(subscript) ? shape.rank() < named : shape.rank() != named) {
      throw invalid_argument("the equation gives an input ", named, has_ellipsis(subscript) ? " or more" : "",
                             " dimensions, it has shape ", shape);
    }
    int d = 0;
    for (const char label : subscript) {
      if (label == kEllipsisLabel) {
        const int end = d + shape.rank() - named;
        ellipsis = broadcast(
            ellipsis, PartialShape(std::vector<std::int64_t>(shape.dims().begin() + d, shape.dims().begin() + end)));
        d = end;
        continue;
      }
      const auto [at, is_new] = labels.try_emplace(label, shape[d]);
      if (!is_new) at->second = ShapeContext::merge_dim(at->second, shape[d], std::string("size of label ") + label);
      ++d;
    }
  }
};

void einsum_shape(ShapeContext& c) {
  const EinsumEquation equation = EinsumEquation::parse(c.attr<std::string>("equation"));
  if (static_cast<int>(equation.inputs.size()) != c.num_inputs() || c.num_inputs() > 2) {
    throw invalid_argument("the equation '", equation.to_string(), "' has ", equation.inputs.size(),
                           " operands, the node has ", c.num_inputs(), "; one or two are possible");
  }
  KnownSizes sizes;
  for (int i = 0; i < c.num_inputs(); ++i) sizes.add(equation.inputs[static_cast<std::size_t>(i)], c.input(i));
  if (has_ellipsis(equation.output)) {
    if (!sizes.ellipsis.has_rank()) return c.set_output(0, PartialShape::unknown());
  } else if (sizes.ellipsis.has_rank() && sizes.ellipsis.rank() > 0) {
    throw invalid_argument("the ellipsis of '", equation.to_string(), "' stands for dimensions: the result needs one");
  }
  std::vector<std::int64_t> dims;
  for (const char label : equation.output) {
    if (label == kEllipsisLabel) {
      dims.insert(dims.end(), sizes.ellipsis.dims().begin(), sizes.ellipsis.dims().end());
    } else {
      const auto at = sizes.labels.find(label);
      dims.push_back(at == sizes.labels.end() ? kUnknown : at->second);
    }
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

// --- Gradient ---

Output einsum_node(const EinsumEquation& equation, const std::vector<Output>& inputs, const OpOptions& options = {}) {
  return OpBuilder("Einsum", options).inputs(inputs).attr("equation", equation.to_string()).build();
}

// The shape of x under its distinct labels: sizes of labels that occur again are left out.
Output shape_of_unique(const Output& x, const std::string& subscript) {
  const Output shape = shape_of(x);
  if (unique_labels(subscript) == subscript) return shape;
  std::vector<Output> parts;
  const auto ellipsis = subscript.find(kEllipsisLabel);
  const int size = static_cast<int>(subscript.size());
  for (int i = 0; i < size; ++i) {
    if (has_label(subscript.substr(0, static_cast<std::size_t>(i)), subscript[static_cast<std::size_t>(i)])) continue;
    const bool after = ellipsis != subscript.npos && i > static_cast<int>(ellipsis);
    const int at = after ? i - size : i;
    Slice one;
    one.begin = at;
    if (subscript[static_cast<std::size_t>(i)] == kEllipsisLabel) {
      if (i + 1 < size) one.end = i + 1 - size;
    } else if (at != -1) {
      one.end = at + 1;
    }
    parts.push_back(index(shape, {one}));
  }
  return concat(parts, 0);
}

// The gradient of `x` alone: the result's gradient times the other operand, spread over the labels that x was summed
// over, and put on the diagonal where x has a label twice.
Output operand_gradient(const Output& grad, const EinsumEquation& equation, std::size_t which, const Output& x,
                        const Output* other) {
  const std::string& own = equation.inputs[which];
  const std::string labels = unique_labels(own);
  const std::string elsewhere = equation.output + (other != nullptr ? equation.inputs[1 - which] : std::string());
  std::string kept, gone;
  for (const char label : labels) (has_label(elsewhere, label) ? kept : gone) += label;

  // The ellipsis in front, so that what broadcasting repeated is summed by numpy's rule.
  std::string named = kept;
  std::erase(named, kEllipsisLabel);
  const bool broadcasts = has_ellipsis(elsewhere);
  const std::string summed = broadcasts ? kEllipsisLabel + named : named;
  EinsumEquation backward{{equation.output}, summed};
  std::vector<Output> operands{grad};
  if (other != nullptr) {
    backward.inputs.push_back(equation.inputs[1 - which]);
    operands.push_back(conj_if_complex(*other));
  }
  Output result = einsum_node(backward, operands);
  if (broadcasts) {
    const std::string wanted = has_ellipsis(kept) ? summed : named;
    result = sum_to_shape_of(result, wanted == own ? x : einsum_node({{own}, wanted}, {x}), result);
    if (wanted != kept) result = einsum_node({{wanted}, kept}, {result});
  }
  const Output unique_shape = gone.empty() ? Output() : shape_of_unique(x, own);
  if (!gone.empty()) {
    // Dimensions of size 1 where labels are missing, then repeated.
    const auto ellipsis = labels.find(kEllipsisLabel);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!has_label(gone, labels[i]) || (ellipsis != labels.npos && i > ellipsis)) continue;
      result = expand_dims(result, static_cast<int>(i));
    }
    for (std::size_t i = labels.size(); ellipsis != labels.npos && i-- > ellipsis + 1;) {
      if (has_label(gone, labels[i]))
        result = expand_dims(result, static_cast<int>(i) - static_cast<int>(labels.size()));
    }
    result = broadcast_to(result, unique_shape);
  }
  return labels == own ? result : einsum_node({{labels}, own}, {result});
}

void einsum_gradient(GradientContext& c) {
  const EinsumEquation equation = EinsumEquation::parse(c.attr<std::string>("equation"));
  const Output grad = c.grad(0), x = c.input(0);
  if (c.num_inputs() == 1) {
    c.set_input_grad(0, operand_gradient(grad, equation, 0, x, nullptr));
    return;
  }
  const Output y = c.input(1);
  c.set_input_grad(0, operand_gradient(grad, equation, 0, x, &y));
  c.set_input_grad(1, operand_gradient(grad, equation, 1, y, &x));
}

// --- More than two operands ---

// "i j, j k" as "ij,jk->ik".
EinsumEquation resolved(const std::string& text, std::size_t operands) {
  std::string equation;
  std::copy_if(text.begin(), text.end(), std::back_inserter(equation), [](char c) { return c != ' '; });
  if (equation.find("->") == equation.npos) {
    const EinsumEquation inputs = EinsumEquation::parse(equation + "->");
    std::map<char, int> count;
    bool ellipsis = false;
    for (const std::string& input : inputs.inputs) {
      for (const char label : input) ++count[label];
      ellipsis = ellipsis || has_ellipsis(input);
    }
    equation += ellipsis ? "->..." : "->";
    // std::map goes by character: capitals first, as TensorFlow sorts.
    for (const auto& [label, n] : count) {
      if (n == 1 && label != kEllipsisLabel) equation += label;
    }
  }
  EinsumEquation result = EinsumEquation::parse(equation);
  if (result.inputs.size() != operands) {
    throw invalid_argument("the equation '", text, "' has ", result.inputs.size(), " operands, ", operands,
                           " were given");
  }
  return result;
}

struct Term {
  std::string subscript;
  Output output;
};

// What is left of a and b once they are multiplied: labels that others or the result still need.
std::string pair_result(const std::vector<Term>& terms, std::size_t a, std::size_t b, const std::string& output) {
  std::string needed = output, result;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i != a && i != b) needed += terms[i].subscript;
  }
  for (const char label : unique_labels(terms[a].subscript + terms[b].subscript)) {
    if (has_label(needed, label)) result += label;
  }
  return result;
}

// Elements of a tensor with these labels, or nothing if a size is unknown. Those of the ellipsis are not counted: every
// order of contraction has them.
std::optional<double> elements(const std::string& subscript, const KnownSizes& sizes) {
  double n = 1;
  for (const char label : unique_labels(subscript)) {
    if (label == kEllipsisLabel) continue;
    const auto at = sizes.labels.find(label);
    if (at == sizes.labels.end() || at->second == kUnknown) return std::nullopt;
    n *= static_cast<double>(at->second);
  }
  return n;
}

// The pair whose product saves most memory; the first two where sizes are unknown.
std::pair<std::size_t, std::size_t> cheapest_pair(const std::vector<Term>& terms, const std::string& output,
                                                  const KnownSizes& sizes) {
  std::pair<std::size_t, std::size_t> best{0, 1};
  std::optional<double> least;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      const auto after = elements(pair_result(terms, i, j, output), sizes);
      const auto first = elements(terms[i].subscript, sizes), second = elements(terms[j].subscript, sizes);
      if (!after || !first || !second) return {0, 1};
      const double cost = *after - *first - *second;
      if (!least || cost < *least) {
        least = cost;
        best = {i, j};
      }
    }
  }
  return best;
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Einsum",
                    .inputs = "inputs: N * T",
                    .outputs = "output: T",
                    .attrs = "equation: string; N: int >= 1; T: type",
                    .shape = einsum_shape,
                    .gradient = einsum_gradient,
                    .cpu = prepare_einsum});

Output einsum(const std::string& equation, const OperandList& inputs, const OpOptions& options) {
  const LocationScope location(options.where);
  const EinsumEquation whole = resolved(equation, inputs.size());
  const std::vector<Output> outputs = inputs.to_outputs();
  std::vector<Term> terms;
  KnownSizes sizes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    terms.push_back({whole.inputs[i], outputs[i]});
    sizes.add(whole.inputs[i], outputs[i].shape());
  }
  while (terms.size() > 2) {
    const auto [a, b] = cheapest_pair(terms, whole.output, sizes);
    const EinsumEquation step{{terms[a].subscript, terms[b].subscript}, pair_result(terms, a, b, whole.output)};
    const Output product = einsum_node(step, {terms[a].output, terms[b].output}, {.where = options.where});
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(b));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(a));
    terms.push_back({step.output, product});
  }
  EinsumEquation last{{}, whole.output};
  std::vector<Output> operands;
  for (const Term& term : terms) {
    last.inputs.push_back(term.subscript);
    operands.push_back(term.output);
  }
  return einsum_node(last, operands, options);
}

}  // namespace caudal::inline v0
