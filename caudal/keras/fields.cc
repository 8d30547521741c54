#include "caudal/keras/fields.h"

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0::keras {

const Config* Fields::wanted(std::string_view key) {
  known_.emplace(key);
  return in_->find(key);
}

template <class Read>
void Fields::read(std::string_view key, const Read& reader) {
  const Config* found = wanted(key);
  if (found == nullptr) return;
  try {
    reader(*found);
  } catch (const Error& error) {
    throw error.in(owner_ + ": '" + std::string(key) + "'");
  }
}

void Fields::operator()(std::string_view key, bool& value) {
  if (!reading()) return void(out_.set(key, value));
  read(key, [&](const Config& c) { value = c.boolean(); });
}

void Fields::operator()(std::string_view key, std::int64_t& value) {
  if (!reading()) return void(out_.set(key, value));
  read(key, [&](const Config& c) { value = c.integer(); });
}

void Fields::operator()(std::string_view key, double& value) {
  if (!reading()) return void(out_.set(key, value));
  read(key, [&](const Config& c) { value = c.number(); });
}

void Fields::operator()(std::string_view key, std::string& value) {
  if (!reading()) return void(out_.set(key, value));
  read(key, [&](const Config& c) {
    if (!c.is_null()) value = c.text();
  });
}

void Fields::operator()(std::string_view key, std::optional<double>& value) {
  if (!reading()) return void(out_.set(key, value ? Config(*value) : Config()));
  read(key, [&](const Config& c) { value = c.is_null() ? std::nullopt : std::optional(c.number()); });
}

void Fields::operator()(std::string_view key, std::optional<std::int64_t>& value) {
  if (!reading()) return void(out_.set(key, value ? Config(*value) : Config()));
  read(key, [&](const Config& c) { value = c.is_null() ? std::nullopt : std::optional(c.integer()); });
}

void Fields::operator()(std::string_view key, std::vector<double>& value) {
  if (!reading()) return void(out_.set(key, Config::List(value.begin(), value.end())));
  read(key, [&](const Config& c) {
    value.clear();
    if (c.is_number()) value.push_back(c.number());
    if (!c.is_null() && !c.is_number()) {
      for (const Config& item : c.list()) value.push_back(item.number());
    }
  });
}

void Fields::operator()(std::string_view key, Activation& value) {
  if (!reading()) return void(out_.set(key, value.to_config()));
  read(key, [&](const Config& c) { value = Activation::from_config(c); });
}

void Fields::operator()(std::string_view key, Initializer& value) {
  if (!reading()) return void(out_.set(key, value.to_config()));
  read(key, [&](const Config& c) { value = Initializer::from_config(c); });
}

void Fields::operator()(std::string_view key, Regularizer& value) {
  if (!reading()) return void(out_.set(key, value.to_config()));
  read(key, [&](const Config& c) { value = Regularizer::from_config(c); });
}

void Fields::operator()(std::string_view key, Constraint& value) {
  if (!reading()) return void(out_.set(key, value.to_config()));
  read(key, [&](const Config& c) { value = Constraint::from_config(c); });
}

void Fields::operator()(std::string_view key, std::vector<std::int64_t>& value) {
  if (!reading()) return void(out_.set(key, value.empty() ? Config() : Config::integers(value)));
  read(key, [&](const Config& c) {
    value.clear();
    if (c.is_null()) return;
    if (c.is_number()) {
      value.push_back(c.integer());
      return;
    }
    for (const Config& item : c.list()) value.push_back(item.is_null() ? -1 : item.integer());
  });
}

void Fields::tuple(std::string_view key, std::vector<std::int64_t>& value, std::size_t count) {
  if (!reading()) return void(out_.set(key, Config::integers(value)));
  read(key, [&](const Config& c) {
    std::vector<std::int64_t> numbers;
    if (c.is_list()) {
      for (const Config& item : c.list()) numbers.push_back(item.integer());
    } else {
      numbers.assign(count, c.integer());
    }
    if (numbers.size() != count) throw invalid_argument(c.to_json(), " where ", count, " numbers are wanted");
    value = std::move(numbers);
  });
}

void Fields::single(std::string_view key, std::vector<std::int64_t>& value) {
  if (!reading()) return void(out_.set(key, Config::integers(value)));
  tuple(key, value, 1);
}

void Fields::raw(std::string_view key, Config& value) {
  if (!reading()) return void(out_.set(key, value));
  read(key, [&](const Config& c) { value = c; });
}

void Fields::ignored(std::string_view key, Config value) {
  if (!reading()) return void(out_.set(key, std::move(value)));
  wanted(key);
}

void Fields::check_all_known() const {
  if (!reading() || !in_->is_map()) return;
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : in_->members()) {
    if (known_.contains(key)) continue;
    std::string advice = did_you_mean(key, names);
    if (advice.empty()) advice = "Known are " + join(names, ", ") + ".";
    throw invalid_argument(owner_, ": unknown setting '", escaped(key), "' = ", escaped(value.to_json(), 60))
        .hint(advice);
  }
}

}  // namespace caudal::inline v0::keras
