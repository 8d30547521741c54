// The harness: tries an op on its samples in every way a plan may run it, and says what does not agree.
//
//   OpReport report = check_op("Relu", samples_of("Relu"));
//   for (const Finding& finding : report.findings) std::cout << finding.to_string();
//
// Checks, by their names in reports:
//   value         the outputs are as expected, as the sample's reference says, and shaped as inferred
//   error         a call that must fail does so with its code, whether shapes are known beforehand or not
//   isa           each instruction set gives the same within the tolerance
//   path          fed and constant, folded and not, specialised and dynamic: the same within the tolerance
//   in_place      the same bits with and without writing over the inputs; inputs that others need stay as they are
//   threads       the same bits with one thread and two
//   repeat        the same bits when run again over memory with other contents
//   view          the same for inputs that do not begin at their buffer's start
//   shape         what is inferred, from known, partly known and unknown shapes, agrees with the outputs' shapes; known
//                 inputs tell all of it; more knowledge never tells less
//   gradient      finite differences, for shapes known and unknown
//   second_order  finite differences of the gradient
//   types         every type that TensorFlow's CPU kernels have is tried (op_facts.h)
//   samples       there are some, and they suffice for the above
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/op_samples.h"

namespace caudal::inline v0::harness {

struct Finding {
  std::string check;
  std::string sample;
  std::string message;
  std::string to_string() const { return check + ": " + (sample.empty() ? "" : sample + ": ") + message; }
};

struct OpReport {
  std::string op;
  std::vector<Finding> findings;
  std::map<std::string, int> passed;              // by check: how often it was made and found nothing
  std::map<std::string, std::set<DType>> dtypes;  // by type attribute: those that a sample ran with
  std::string gradient;                           // "yes", "none" (asking is an error) or "not differentiable"

  void add(std::string check, std::string sample, std::string message) {
    findings.push_back({std::move(check), std::move(sample), std::move(message)});
  }
  // Counts a check whose message is empty as passed, reports it otherwise.
  void judge(const std::string& check, const std::string& sample, const std::string& message) {
    if (message.empty())
      ++passed[check];
    else
      add(check, sample, message);
  }
  bool found(const std::string& check) const;
};

// All checks that need nothing but the op and its samples.
OpReport check_op(const std::string& op, const Samples& samples);

// The parts, for one sample each.
void check_values(const std::string& op, const Sample& sample, OpReport& report);
void check_shapes(const std::string& op, const Sample& sample, OpReport& report);
void check_error(const std::string& op, const Sample& sample, OpReport& report);
void check_gradient(const std::string& op, const Sample& sample, OpReport& report);
void check_graph_sample(const GraphSample& sample, OpReport& report);

// "float32[2,3], int32[1], keep_dims=true"
std::string sample_name(const Sample& sample);

}  // namespace caudal::inline v0::harness
