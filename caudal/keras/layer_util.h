// What several layer files need. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/graph/builder.h"
#include "caudal/keras/fields.h"

namespace caudal::inline v0::keras {

// Throws INVALID_ARGUMENT unless value > 0.
void check_positive(std::string_view name, std::int64_t value);
// The last size. Throws INVALID_ARGUMENT if it or the rank is not known, or there are fewer than `rank` dimensions.
std::int64_t known_last(const PartialShape& shape, int rank);
// Throws INVALID_ARGUMENT unless the shape has `rank` dimensions.
void check_rank(const PartialShape& shape, int rank, std::string_view meaning);
// Integers as float32.
Output as_float(const Output& x);
// x [..., n] times kernel [n, m].
Output last_axis_product(const Output& x, const Output& kernel);
// `count` numbers from one or `count`; throws INVALID_ARGUMENT for another number.
std::vector<std::int64_t> spread(std::string_view name, const std::vector<std::int64_t>& values, std::size_t count);
// "same" or "valid" in TensorFlow's spelling. Throws INVALID_ARGUMENT for others.
std::string padding_name(const std::string& padding);
// The size of dimension i: known now, or when the graph runs; as one element of a shape vector.
Output dim_of(const Output& x, int i);
// Reads and writes a setting that Keras writes only where it is given.
void optional_field(Fields& f, std::string_view key, Regularizer& value);
// data_format and dtype-like settings that must be what we have: channels last.
void channels_last_field(Fields& f);

// While it lives, weights made in this thread lie under that name: "sequential/dense/kernel".
class PathScope {
 public:
  explicit PathScope(const std::string& name);
  ~PathScope();
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;
  // "" or "sequential/".
  static std::string prefix();
};

}  // namespace caudal::inline v0::keras
