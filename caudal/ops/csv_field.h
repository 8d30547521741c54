// Values of fields of comma-separated files.
//
// Thread safety: as tensors.
#pragma once

#include <cstdint>
#include <string_view>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// Writes the field to element i of the column: the text itself, or a number, white space around it aside. False if the
// text is no number of the column's type (float32, float64, int32, int64).
bool parse_csv_field(std::string_view text, Tensor& column, std::int64_t i);

// What TensorFlow's complaints call the type of a field: "float", "double", "int32", ...
std::string_view csv_type_name(DType dtype);

}  // namespace caudal::inline v0
