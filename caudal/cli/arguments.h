// Options of a command, parsed by CLI11 behind a small face, so that its header is compiled once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caudal::inline v0::cli {

class Arguments {
 public:
  Arguments(std::string_view command, std::string_view summary);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Each binds a variable, whose value is the default. `help` is one line.
  void flag(const std::string& name, bool* value, const std::string& help);
  void option(const std::string& name, std::string* value, const std::string& help);
  void option(const std::string& name, std::int64_t* value, const std::string& help, std::int64_t least,
              std::int64_t most);
  // May be given several times, a value each.
  void option(const std::string& name, std::vector<std::string>* values, const std::string& help);
  void positional(const std::string& name, std::vector<std::string>* values, const std::string& help);

  // True: go on. False: help was asked for and printed, or the usage is wrong and was explained on stderr; `exit_code`
  // says how to end.
  bool parse(const std::vector<std::string>& words, int* exit_code);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace caudal::inline v0::cli
