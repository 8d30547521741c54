#include "caudal/ops/logging_ops.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/log.h"
#include "caudal/base/strings.h"
#include "caudal/core/kernel.h"
#include "caudal/core/node_state.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/native_function.h"
#include "caudal/ops/tensor_summary.h"

namespace caudal::inline v0 {
namespace {

// ---- Kernels

// How often a Print with first_n has printed.
class PrintCount final : public NodeState {
 public:
  std::int64_t next() { return printed_.fetch_add(1); }
  std::string save() const override { return std::to_string(printed_.load()); }
  void restore(std::string_view bytes) override {
    std::int64_t printed = 0;
    if (!parse_int64(bytes, &printed)) throw data_loss("a count of prints is '", escaped(bytes), "'");
    printed_ = printed;
  }

 private:
  std::atomic<std::int64_t> printed_{0};
};

std::unique_ptr<NodeState> make_print_count(const NodeInfo&) { return std::make_unique<PrintCount>(); }

// Whole texts, one after another, also from several threads.
void write_to(std::FILE* stream, const std::string& text) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void run_print(RunContext& c) {
  c.set_output(0, c.input(0));
  const auto first_n = c.node().attr<std::int64_t>("first_n");
  if (first_n >= 0 && c.state<PrintCount>().next() >= first_n) return;
  std::string text = c.node().attr<std::string>("message");
  const auto most = c.node().attr<std::int64_t>("summarize");
  for (int i = 1; i < c.num_inputs(); ++i) text += '[' + ops::summarize(c.input(i), most) + ']';
  write_to(stderr, text + '\n');
}

std::unique_ptr<Kernel> prepare_print(PrepareContext& c) {
  c.alias(0, 0);
  return kernel_of<run_print>(c);
}

constexpr std::string_view kFilePrefix = "file://";

class PrintV2Kernel final : public Kernel {
 public:
  explicit PrintV2Kernel(const PrepareContext& c)
      : stream_(c.attr<std::string>("output_stream")), end_(c.attr<std::string>("end")) {
    constexpr std::string_view kStreams[] = {"stdout", "stderr", "log(info)", "log(warning)", "log(error)"};
    if (stream_.starts_with(kFilePrefix) || std::ranges::find(kStreams, stream_) != std::end(kStreams)) return;
    throw invalid_argument("output_stream is '", stream_, "'")
        .hint("Streams are stdout, stderr, log(info), log(warning), log(error) and file://path.");
  }

  void run(RunContext& c) const override {
    const Tensor& input = c.input(0);
    if (input.rank() != 0) throw invalid_argument("the text must be a scalar, not ", input.describe());
    const std::string text = input.item<std::string>() + end_;
    if (stream_.starts_with(kFilePrefix)) return append(*c.step().env, text);
    if (stream_ == "stdout") return write_to(stdout, text);
    if (stream_ == "stderr") return write_to(stderr, text);
    const LogLevel level = stream_ == "log(info)"      ? LogLevel::kInfo
                           : stream_ == "log(warning)" ? LogLevel::kWarning
                                                       : LogLevel::kError;
    if (log_level() <= level) log_line(level, std::source_location::current(), text);
  }

 private:
  void append(Env& env, const std::string& text) const {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const auto file = env.open_append(stream_.substr(kFilePrefix.size()));
    file->append(text);
    file->close();
  }

  const std::string stream_, end_;
};

std::unique_ptr<Kernel> prepare_print_v2(PrepareContext& c) { return std::make_unique<PrintV2Kernel>(c); }

class StringFormatKernel final : public Kernel {
 public:
  explicit StringFormatKernel(const PrepareContext& c) : summarize_(c.attr<std::int64_t>("summarize")) {
    const auto& text = c.attr<std::string>("template");
    const auto& placeholder = c.attr<std::string>("placeholder");
    std::size_t begin = 0;
    for (;;) {
      const std::size_t end = placeholder.empty() ? std::string::npos : text.find(placeholder, begin);
      pieces_.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
      if (end == std::string::npos) break;
      begin = end + placeholder.size();
    }
    if (pieces_.size() != static_cast<std::size_t>(c.num_inputs()) + 1) {
      throw invalid_argument("the template has ", pieces_.size() - 1, " placeholders '", placeholder, "' for ",
                             c.num_inputs(), " inputs");
    }
  }

  void run(RunContext& c) const override {
    std::string text = pieces_[0];
    for (int i = 0; i < c.num_inputs(); ++i) {
      text += ops::summarize_ends(c.input(i), summarize_) + pieces_[static_cast<std::size_t>(i) + 1];
    }
    c.set_output(0, Tensor(text));
  }

 private:
  const std::int64_t summarize_;
  std::vector<std::string> pieces_;
};

std::unique_ptr<Kernel> prepare_string_format(PrepareContext& c) { return std::make_unique<StringFormatKernel>(c); }

void run_timestamp(RunContext& c) { c.set_output(0, Tensor(static_cast<double>(c.step().env->now_micros()) / 1e6)); }

class NativeKernel final : public Kernel {
 public:
  explicit NativeKernel(std::shared_ptr<const NativeFunction> function) : function_(std::move(function)) {}
  void run(RunContext& c) const override {
    std::vector<Tensor> arguments;
    for (int i = 0; i < c.num_inputs(); ++i) arguments.push_back(c.take_input(i));
    std::vector<Tensor> results = (*function_)(arguments);
    if (std::ssize(results) != c.num_outputs()) {
      throw invalid_argument("the C++ function gives ", results.size(), " tensors; ", c.num_outputs(), " are wanted");
    }
    for (int i = 0; i < c.num_outputs(); ++i) {
      Tensor& result = results[static_cast<std::size_t>(i)];
      if (result.dtype() != c.node().output_types[static_cast<std::size_t>(i)]) {
        throw invalid_argument("the C++ function gives ", result.describe(), " as result ", i, "; ",
                               c.node().output_types[static_cast<std::size_t>(i)], " is wanted");
      }
      c.set_output(i, std::move(result));
    }
  }

 private:
  const std::shared_ptr<const NativeFunction> function_;
};

// A Python function lives in the Python process that made the graph; a C++ function of this process can be called.
std::unique_ptr<Kernel> prepare_py_func(PrepareContext& c) {
  if (auto function = find_native_function(c.attr<std::string>("token"))) {
    return std::make_unique<NativeKernel>(std::move(function));
  }
  throw unimplemented("the function '", c.attr<std::string>("token"), "' is Python code of another process")
      .hint("Build that part of the graph from ops.");
}

// ---- Gradients

void print_gradient(GradientContext& c) { c.set_input_grad(0, c.raw_grad(0)); }

void eager_py_func_gradient(GradientContext& c) {
  throw unimplemented("the gradient of '", c.attr<std::string>("token"), "' is Python code of another process")
      .hint("Build that part of the graph from ops.");
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "Print",
    .inputs = "input: T; data: U",
    .outputs = "output: T",
    .attrs = "T: type; U: list(type) >= 0; message: string = ''; first_n: int = -1; summarize: int = 3",
    .stateful = true,
    .shape = unchanged_shape,
    .gradient = print_gradient,
    .cpu = prepare_print,
    .state = make_print_count,
});
CAUDAL_REGISTER_OP({
    .name = "PrintV2",
    .inputs = "input: string",
    .attrs = "output_stream: string = 'stderr'; end: string = '\n'",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = prepare_print_v2,
});
CAUDAL_REGISTER_OP({
    .name = "StringFormat",
    .inputs = "inputs: T",
    .outputs = "output: string",
    .attrs = "T: list(type) >= 0; template: string = '%s'; placeholder: string = '%s'; summarize: int = 3",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = prepare_string_format,
});
CAUDAL_REGISTER_OP({
    .name = "Timestamp",
    .outputs = "ts: double",
    .stateful = true,
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_timestamp>,
});
CAUDAL_REGISTER_OP({
    .name = "PyFunc",
    .inputs = "input: Tin",
    .outputs = "output: Tout",
    .attrs = "token: string; Tin: list(type) >= 0; Tout: list(type) >= 0",
    .stateful = true,
    .shape = unknown_shape,
    .gradient = not_differentiable,
    .cpu = prepare_py_func,
});
CAUDAL_REGISTER_OP({
    .name = "PyFuncStateless",
    .inputs = "input: Tin",
    .outputs = "output: Tout",
    .attrs = "token: string; Tin: list(type) >= 0; Tout: list(type) >= 0",
    .shape = unknown_shape,
    .gradient = not_differentiable,
    .cpu = prepare_py_func,
});
CAUDAL_REGISTER_OP({
    .name = "EagerPyFunc",
    .inputs = "input: Tin",
    .outputs = "output: Tout",
    .attrs = "token: string; is_async: bool = false; Tin: list(type) >= 0; Tout: list(type) >= 0",
    .stateful = true,
    .shape = unknown_shape,
    .gradient = eager_py_func_gradient,
    .cpu = prepare_py_func,
});

// ---- Public functions

Output Print(const Output& input, const std::vector<Operand>& data, const PrintOptions& options) {
  const LocationScope where(options.where);
  std::vector<Output> values;
  for (const Operand& operand : data) values.push_back(operand.to_output());
  return OpBuilder("Print", {.name = options.name, .where = options.where})
      .input(input)
      .inputs(std::move(values))
      .attr("message", options.message)
      .attr("first_n", options.first_n)
      .attr("summarize", options.summarize)
      .build();
}

namespace raw_ops {

Operation print_v2(const Operand& input, const PrintV2Options& options) {
  return OpBuilder("PrintV2", {.name = options.name, .where = options.where})
      .input(input)
      .attr("output_stream", options.output_stream)
      .attr("end", options.end)
      .build_operation();
}

Output string_format(const std::vector<Output>& inputs, const std::string& text, const StringFormatOptions& options) {
  return OpBuilder("StringFormat", {.name = options.name, .where = options.where})
      .inputs(inputs)
      .attr("template", text)
      .attr("placeholder", options.placeholder)
      .attr("summarize", options.summarize)
      .build();
}

Output timestamp(const OpOptions& options) { return OpBuilder("Timestamp", options).build(); }

}  // namespace raw_ops
}  // namespace caudal::inline v0
