// What the benchmark cases share: measuring, and what a case gives back.
//
// A figure is measured several times over windows of a fixed length. The windows kept are the quietest run of
// neighbours: on a shared machine a window in which somebody else woke up says nothing about us. Thread safety: one
// case at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

struct Settings {
  double seconds = 0.6;  // length of a window
  int repeats = 5;       // windows that a result has
  double patience = 30;  // seconds after which no further windows are tried
  bool quick = false;
  std::string directory = ".";  // for files
};

// Values by window; goals.json has the unit of each case.
using Values = std::vector<double>;

// Shorter and fewer windows.
Settings quick_settings();

struct Case {
  std::string name;
  std::function<Values(const Settings&)> run;
};

// (largest - smallest) / median. REQUIRES: values is not empty.
double spread(const Values& values);

// Calls `window` settings.repeats times, and more often while the last ones spread by more than 10% (at most three
// times as often). Returns those settings.repeats neighbours that spread least.
Values quietest(const std::function<double()>& window, const Settings& settings);

// Work per second of `step`, which does `work` of it, in windows of settings.seconds after some calls to warm up.
Values rates(const std::function<void()>& step, double work, const Settings& settings);
// Microseconds per piece of work of the same.
Values microseconds(const std::function<void()>& step, double work, const Settings& settings);

// {"case": name, "values": [...]} as a line.
void print_line(const std::string& name, const Values& values);

double now();  // seconds of a steady clock
void sync_disks();

std::vector<Case> train_cases();
std::vector<Case> overhead_cases();
std::vector<Case> io_cases();
std::vector<Case> start_cases();
std::vector<Case> env_cases();

// From nothing to the first result of LeNet-5 for one picture; its largest logit.
float first_inference();

}  // namespace bench
