// Cases recorded from a real TensorFlow as named tensors (testdata/nn/cases.tsv; make_cases.py there tells the names).
//
// A test makes the same graph as the case and checks it:
//   RecordedCase c(path, "dense");
//   EXPECT_EQ(c.check({layers::dense(c.input("x"), 5)}), "");
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caudal/graph/scope.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0::harness {

class RecordedCase {
 public:
  // The case of that name in a file, and a fresh default graph. Throws NOT_FOUND.
  RecordedCase(const std::string& path, const std::string& name);

  bool has(const std::string& name) const { return values_.contains(name); }
  // Throws NOT_FOUND.
  const Tensor& value(const std::string& name) const;
  // The value as a constant of the graph.
  Output input(const std::string& name) const;

  struct Check {
    std::vector<Operation> then = {};  // run one after another, before the outputs
    int steps = 1;                     // so many times
    double tolerance = 1e-6;           // times max(1, |expected|)
    Feeds feeds = {};
  };
  // Runs the outputs, each in its own step, from the recorded values of the variables. Findings: variables that differ
  // in name from the recorded ones, outputs and final values that differ. Empty if all is well.
  std::string check(const std::vector<Output>& outputs, const Check& options) const;
  std::string check(const std::vector<Output>& outputs) const { return check(outputs, Check()); }

 private:
  void load_variables(Session& session, std::string& findings) const;

  std::string name_;
  std::map<std::string, Tensor> values_;
  Graph graph_;
  GraphScope scope_{graph_};
};

}  // namespace caudal::inline v0::harness
