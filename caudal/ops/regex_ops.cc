#include "caudal/ops/regex_ops.h"

#include <re2/re2.h>

#include <memory>
#include <mutex>

#include "caudal/base/strings.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void regex_replace_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  c.with_rank(2, 0);
  c.set_output(0, c.input(0));
}

void regex_full_match_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  c.set_output(0, c.input(0));
}

// ---- Kernels

using PatternPtr = std::shared_ptr<const RE2>;

PatternPtr compiled(const std::string& pattern) {
  constexpr std::int64_t kMostMemory = std::int64_t{8} << 20;  // of the program and of its automata; as TensorFlow has
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostMemory);
  auto regex = std::make_shared<const RE2>(pattern, options);
  if (!regex->ok()) {
    throw invalid_argument("Invalid pattern: ", escaped(pattern), ", error: ", escaped(regex->error()))
        .hint("The syntax is RE2's, and a compiled pattern takes 8 MiB at most.");
  }
  return regex;
}

// The pattern of the last run, which is most often that of the next.
class PatternCache {
 public:
  PatternPtr get(const std::string& pattern) const {
    {
      const std::lock_guard lock(mutex_);
      if (last_ && last_->pattern() == pattern) return last_;
    }
    PatternPtr fresh = compiled(pattern);
    const std::lock_guard lock(mutex_);
    return last_ = std::move(fresh);
  }

 private:
  mutable std::mutex mutex_;
  mutable PatternPtr last_;
};

// Throws if replacing every match could make the text longer than a string should be: matches do not overlap, so one
// reference to a group gives back no more than the whole text.
void check_growth(std::size_t text, std::string_view rewrite) {
  constexpr double kMostBytes = 1 << 30;
  double literal = 0, references = 0;
  for (std::size_t i = 0; i < rewrite.size(); ++i) {
    if (rewrite[i] != '\\') {
      ++literal;
    } else if (++i < rewrite.size() && rewrite[i] != '\\') {
      ++references;
    } else {
      ++literal;
    }
  }
  const double n = static_cast<double>(text);
  if (n * (1 + references) + (n + 1) * literal <= kMostBytes) return;
  throw resource_exhausted("replacing in a string of ", text, " bytes by ", rewrite.size(), " bytes could pass 1 GiB");
}

void replace(RunContext& c, const RE2& pattern, const std::string& rewrite, bool global) {
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  const std::string* from = in.data<std::string>();
  std::string* to = out.data<std::string>();
  c.pool().parallel_for(in.num_elements(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::string text = from[i];
      check_growth(text.size(), rewrite);
      if (global) {
        RE2::GlobalReplace(&text, pattern, rewrite);
      } else {
        RE2::Replace(&text, pattern, rewrite);
      }
      to[i] = std::move(text);
    }
  });
}

void full_match(RunContext& c, const RE2& pattern) {
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  const std::string* from = in.data<std::string>();
  bool* to = out.data<bool>();
  c.pool().parallel_for(in.num_elements(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = RE2::FullMatch(from[i], pattern);
  });
}

const std::string& one_string(RunContext& c, int i, const char* what) {
  const Tensor& value = c.input(i);
  if (value.rank() == 0) return value.item<std::string>();
  throw invalid_argument(what, " must be scalar, but received ", value.shape());
}

class RegexReplaceKernel final : public Kernel {
 public:
  explicit RegexReplaceKernel(bool global) : global_(global) {}
  void run(RunContext& c) const override {
    const std::string& pattern = one_string(c, 1, "Pattern");
    replace(c, *patterns_.get(pattern), one_string(c, 2, "Rewrite"), global_);
  }

 private:
  bool global_;
  PatternCache patterns_;
};

class RegexFullMatchKernel final : public Kernel {
 public:
  void run(RunContext& c) const override { full_match(c, *patterns_.get(one_string(c, 1, "Pattern"))); }

 private:
  PatternCache patterns_;
};

class StaticRegexReplaceKernel final : public Kernel {
 public:
  explicit StaticRegexReplaceKernel(PrepareContext& c)
      : pattern_(compiled(c.attr<std::string>("pattern"))),
        rewrite_(c.attr<std::string>("rewrite")),
        global_(c.attr<bool>("replace_global")) {}
  void run(RunContext& c) const override { replace(c, *pattern_, rewrite_, global_); }

 private:
  PatternPtr pattern_;
  std::string rewrite_;
  bool global_;
};

class StaticRegexFullMatchKernel final : public Kernel {
 public:
  explicit StaticRegexFullMatchKernel(PrepareContext& c) : pattern_(compiled(c.attr<std::string>("pattern"))) {}
  void run(RunContext& c) const override { full_match(c, *pattern_); }

 private:
  PatternPtr pattern_;
};

std::unique_ptr<Kernel> prepare_regex_replace(PrepareContext& c) {
  return std::make_unique<RegexReplaceKernel>(c.attr<bool>("replace_global"));
}
std::unique_ptr<Kernel> prepare_regex_full_match(PrepareContext&) { return std::make_unique<RegexFullMatchKernel>(); }
std::unique_ptr<Kernel> prepare_static_regex_replace(PrepareContext& c) {
  return std::make_unique<StaticRegexReplaceKernel>(c);
}
std::unique_ptr<Kernel> prepare_static_regex_full_match(PrepareContext& c) {
  return std::make_unique<StaticRegexFullMatchKernel>(c);
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "RegexReplace",
    .inputs = "input: string; pattern: string; rewrite: string",
    .outputs = "output: string",
    .attrs = "replace_global: bool = true",
    .shape = regex_replace_shape,
    .gradient = not_differentiable,
    .cpu = prepare_regex_replace,
});
CAUDAL_REGISTER_OP({
    .name = "RegexFullMatch",
    .inputs = "input: string; pattern: string",
    .outputs = "output: bool",
    .shape = regex_full_match_shape,
    .gradient = no_gradient,
    .cpu = prepare_regex_full_match,
});
CAUDAL_REGISTER_OP({
    .name = "StaticRegexReplace",
    .inputs = "input: string",
    .outputs = "output: string",
    .attrs = "pattern: string; rewrite: string; replace_global: bool = true",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = prepare_static_regex_replace,
});
CAUDAL_REGISTER_OP({
    .name = "StaticRegexFullMatch",
    .inputs = "input: string",
    .outputs = "output: bool",
    .attrs = "pattern: string",
    .shape = unchanged_shape,
    .gradient = no_gradient,
    .cpu = prepare_static_regex_full_match,
});

// A pattern written as text belongs into the node.
const std::string* literal(const Operand& operand) {
  const Tensor* value = operand.value();
  if (value == nullptr || value->dtype() != string || value->rank() != 0) return nullptr;
  return &value->item<std::string>();
}

}  // namespace

// ---- Public functions

Output strings::regex_replace(const Operand& input, const Operand& pattern, const Operand& rewrite,
                              const RegexReplaceOptions& options) {
  const LocationScope where(options.where);
  const OpOptions node{.name = options.name, .where = options.where};
  const std::string *fixed_pattern = literal(pattern), *fixed_rewrite = literal(rewrite);
  if (fixed_pattern != nullptr && fixed_rewrite != nullptr) {
    return OpBuilder("StaticRegexReplace", node)
        .input(input)
        .attr("pattern", *fixed_pattern)
        .attr("rewrite", *fixed_rewrite)
        .attr("replace_global", options.replace_global)
        .build();
  }
  return OpBuilder("RegexReplace", node)
      .input(input)
      .input(pattern)
      .input(rewrite)
      .attr("replace_global", options.replace_global)
      .build();
}

Output strings::regex_full_match(const Operand& input, const Operand& pattern, const OpOptions& options) {
  const LocationScope where(options.where);
  if (const std::string* fixed = literal(pattern)) {
    return OpBuilder("StaticRegexFullMatch", options).input(input).attr("pattern", *fixed).build();
  }
  return OpBuilder("RegexFullMatch", options).input(input).input(pattern).build();
}

}  // namespace caudal::inline v0
