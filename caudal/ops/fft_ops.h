// Fourier transforms over the last one, two or three dimensions, tf.signal's.
//
// fft(x)[k] = sum over j of x[j] exp(-2 pi i jk / n); ifft() is its inverse and divides by n. complex64 and complex128;
// the real forms go with float32 and float64. Any length; those with large prime factors cost a few times more.
// INVALID_ARGUMENT for inputs of too few dimensions. Thread safety: as building a graph.
#pragma once

#include <optional>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::signal {

CAUDAL_API Output fft(const Operand& input, const OpOptions& options = {});
CAUDAL_API Output ifft(const Operand& input, const OpOptions& options = {});
CAUDAL_API Output fft2d(const Operand& input, const OpOptions& options = {});
CAUDAL_API Output ifft2d(const Operand& input, const OpOptions& options = {});
CAUDAL_API Output fft3d(const Operand& input, const OpOptions& options = {});
CAUDAL_API Output ifft3d(const Operand& input, const OpOptions& options = {});

struct RealFftOptions {
  // Lengths of the transform, an int32 vector: the input is cut or padded with zeros to them. Default: those of the
  // input; of the inverse, which cannot know whether the last was odd, the even one.
  std::optional<Operand> fft_length;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Of real input: of the last dimension the first n / 2 + 1 coefficients, which tell the others.
CAUDAL_API Output rfft(const Operand& input, const RealFftOptions& options = {});
CAUDAL_API Output rfft2d(const Operand& input, const RealFftOptions& options = {});
CAUDAL_API Output rfft3d(const Operand& input, const RealFftOptions& options = {});
// The inverses; the result is real.
CAUDAL_API Output irfft(const Operand& input, const RealFftOptions& options = {});
CAUDAL_API Output irfft2d(const Operand& input, const RealFftOptions& options = {});
CAUDAL_API Output irfft3d(const Operand& input, const RealFftOptions& options = {});

}  // namespace caudal::inline v0::signal
