#include "caudal/cli/arguments.h"

#include <CLI/CLI.hpp>

#include "caudal/cli/command.h"

namespace caudal::inline v0::cli {

struct Arguments::Impl {
  CLI::App app;
};

Arguments::Arguments(std::string_view command, std::string_view summary) : impl_(std::make_unique<Impl>()) {
  impl_->app.name("caudal " + std::string(command));
  impl_->app.description(std::string(summary));
}
Arguments::~Arguments() = default;

void Arguments::flag(const std::string& name, bool* value, const std::string& help) {
  impl_->app.add_flag("--" + name, *value, help);
}

void Arguments::option(const std::string& name, std::string* value, const std::string& help) {
  impl_->app.add_option("--" + name, *value, help)->capture_default_str();
}

void Arguments::option(const std::string& name, std::int64_t* value, const std::string& help, std::int64_t least,
                       std::int64_t most) {
  impl_->app.add_option("--" + name, *value, help)->capture_default_str()->check(CLI::Range(least, most));
}

void Arguments::option(const std::string& name, std::vector<std::string>* values, const std::string& help) {
  impl_->app.add_option("--" + name, *values, help)->expected(1)->take_all();
}

void Arguments::positional(const std::string& name, std::vector<std::string>* values, const std::string& help) {
  impl_->app.add_option(name, *values, help);
}

bool Arguments::parse(const std::vector<std::string>& words, int* exit_code) {
  try {
    impl_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
    return true;
  } catch (const CLI::ParseError& error) {
    *exit_code = impl_->app.exit(error) == 0 ? kExitOk : kExitUsage;
    return false;
  }
}

}  // namespace caudal::inline v0::cli
