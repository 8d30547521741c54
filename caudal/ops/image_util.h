// What the ops over pictures share.
//
// Thread safety: functions of their arguments.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// Shape function piece: output 0 is [batch, height, width, channels] with height and width from the int32 vector input
// `size_input`. INVALID_ARGUMENT for another vector than one of two sizes.
void set_sized_image(ShapeContext& c, int size_input, std::int64_t batch, std::int64_t channels);

// Two positive numbers (height, width). INVALID_ARGUMENT, naming them `what`, for anything else.
std::array<std::int64_t, 2> image_size_from(const Tensor& size, std::string_view what);

// INVALID_ARGUMENT, naming it `what`, unless the tensor has the rank.
void check_rank(const Tensor& tensor, int rank, std::string_view what);

// The pixels of any real type as float32: the tensor itself where it is that already.
Tensor as_float32(RunContext& c, const Tensor& image);

}  // namespace caudal::inline v0
