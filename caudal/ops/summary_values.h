// Tensors as values of summaries, by TensorFlow's rules: what the summary ops and the summary writers share.
//
// All throw INVALID_ARGUMENT for shapes and values that have no picture, sound or distribution. Thread safety:
// functions of their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/formats/summary.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::summary_values {

// The elements, of any real type or bool.
std::vector<double> numbers(const Tensor& values);
// The one element of a float32 tensor; `argument` is for the message.
float scalar(const Tensor& value, const char* argument);

void add_histogram(const std::string& tag, const Tensor& values, SummaryBuilder* summary);
// The first `most` pictures of [batch, height, width, 1, 3 or 4]; bad_color: uint8 [channels or more], for pixels that
// are not finite.
void add_images(const std::string& tag, const Tensor& batch, const Tensor& bad_color, std::int64_t most,
                SummaryBuilder* summary);
// The first `most` sounds of float32 [batch, frames] or [batch, frames, channels] as 16-bit WAV.
void add_audio(const std::string& tag, const Tensor& batch, float sample_rate, std::int64_t most,
               SummaryBuilder* summary);

}  // namespace caudal::inline v0::summary_values
