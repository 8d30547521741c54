// One list of a thing's settings for both directions: a function that names each setting once writes it to a Config and
// reads it from one.
//
//   void fields(Fields& f) override { f("units", units); f("activation", activation); }
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/keras/config.h"
#include "caudal/keras/objects.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0::keras {

class CAUDAL_API Fields {
 public:
  // Writes.
  Fields() : out_(Config::map()) {}
  // Reads; `owner` is named in errors: "Dense 'hidden'".
  Fields(const Config& in, std::string owner) : in_(&in), owner_(std::move(owner)) {}

  bool reading() const { return in_ != nullptr; }

  // A setting that the Config does not have keeps its value.
  void operator()(std::string_view key, bool& value);
  void operator()(std::string_view key, std::int64_t& value);
  void operator()(std::string_view key, double& value);
  void operator()(std::string_view key, std::string& value);
  void operator()(std::string_view key, std::optional<double>& value);
  void operator()(std::string_view key, std::optional<std::int64_t>& value);
  void operator()(std::string_view key, std::vector<double>& value);
  void operator()(std::string_view key, Activation& value);
  void operator()(std::string_view key, Initializer& value);
  void operator()(std::string_view key, Regularizer& value);
  void operator()(std::string_view key, Constraint& value);
  // A list of whole numbers; null is an empty one.
  void operator()(std::string_view key, std::vector<std::int64_t>& value);
  // A list of `count` whole numbers; one number stands for all.
  void tuple(std::string_view key, std::vector<std::int64_t>& value, std::size_t count);
  // One whole number that is written as such, read also from a list of one.
  void single(std::string_view key, std::vector<std::int64_t>& value);
  // Any value as it is.
  void raw(std::string_view key, Config& value);
  // A setting that files have and that makes no difference here: written as given, passed over when read.
  void ignored(std::string_view key, Config value = {});

  // What was written.
  Config take() { return std::move(out_); }
  // Throws INVALID_ARGUMENT if the Config has members that nothing asked for.
  void check_all_known() const;

 private:
  // The member to read; null if there is none.
  const Config* wanted(std::string_view key);
  template <class Read>
  void read(std::string_view key, const Read& reader);

  Config out_;
  const Config* in_ = nullptr;
  std::string owner_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace caudal::inline v0::keras
