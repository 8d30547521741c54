#include "caudal/ops/signal_functions.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/fft_ops.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::signal {
namespace {

int known_last(const Output& x, const char* function) {
  if (!x.shape().has_rank() || x.shape().rank() < 1 || x.shape()[-1] < 0) {
    throw invalid_argument(function, " must know the last dimension of its input, the shape is ", x.shape());
  }
  return static_cast<int>(x.shape()[-1]);
}

void check_positive(int value, const char* what) {
  if (value <= 0) throw invalid_argument(what, " is ", value, ", it must be positive");
}

// x with `before` and `after` zeros (or `value`) around dimension `axis`, counted from the end.
Output padded(const Output& x, int axis, int before, int after, double value = 0) {
  if (!x.shape().has_rank()) throw invalid_argument("the rank of the input must be known");
  const int rank = x.shape().rank();
  std::vector<int> amounts(static_cast<std::size_t>(2 * rank));
  amounts[static_cast<std::size_t>(2 * (rank + axis))] = before;
  amounts[static_cast<std::size_t>(2 * (rank + axis) + 1)] = after;
  return pad(x, Tensor::from<int>({rank, 2}, amounts), {.constant_values = convert_number(Tensor(value), x.dtype())});
}

// The last `count` elements of dimension `axis` put in front; `fraction` of the size is moved, rounded down or up.
Output rotated(const Operand& input, const ShiftOptions& options, bool inverse) {
  const LocationScope location(options.where);
  Output x = input.to_output();
  if (!x.shape().has_rank()) {
    throw invalid_argument("the rank of the input must be known").made_at(short_location(options.where));
  }
  const int rank = x.shape().rank();
  std::vector<int> axes = options.axes;
  for (int i = 0; options.axes.empty() && i < rank; ++i) axes.push_back(i);
  for (const int wanted : axes) {
    const int axis = normalized_axis(wanted, rank);
    const Output size = index(shape_of(x), {axis});
    // What moves to the end: the first half, with the middle element or without it.
    const Output first = inverse ? floordiv(size, 2) : size - floordiv(size, 2);
    const auto part = [&](const Slice& slice) {
      std::vector<IndexItem> items(static_cast<std::size_t>(axis), IndexItem(kAll));
      items.emplace_back(slice);
      return index(x, items);
    };
    x = concat({part({first, {}}), part({{}, first})}, axis);
  }
  return identity(x, {.name = options.name, .where = options.where});
}

Output raised_cosine(int length, double a, double b, const WindowOptions& options) {
  check_positive(length, "window_length");
  std::vector<double> values(static_cast<std::size_t>(length), 1.0);
  const bool even = length % 2 == 0;
  const double n = length + (options.periodic && even ? 1 : 0) - 1;
  for (int i = 0; length > 1 && i < length; ++i) {
    values[static_cast<std::size_t>(i)] = a - b * std::cos(2 * std::numbers::pi * i / n);
  }
  return constant(convert_number(Tensor(values), options.dtype), {.name = options.name, .where = options.where});
}

int enclosing_power_of_two(int value) {
  int power = 1;
  while (power < value) power *= 2;
  return power;
}

DType real_of(DType dtype) { return dtype == DType::kComplex128 ? DType::kDouble : DType::kFloat; }

// Row k: cos(pi (j + 1/2) k / n), times 2.
Tensor cosines(int n, bool orthonormal) {
  Tensor matrix(DType::kDouble, Shape({n, n}));
  for (int k = 0; k < n; ++k) {
    const double scale = !orthonormal ? 2 : std::sqrt((k == 0 ? 1.0 : 2.0) / n);
    for (int j = 0; j < n; ++j) {
      // The angle in whole quarter turns first, so that it stays exact.
      const auto steps =
          static_cast<double>(static_cast<std::int64_t>(2 * j + 1) * k % (4 * static_cast<std::int64_t>(n)));
      matrix.data<double>()[k * n + j] = scale * std::cos(std::numbers::pi * steps / (2.0 * n));
    }
  }
  return matrix;
}

// x [..., n] times the matrix, row by row.
Output transformed(const Output& x, const Tensor& matrix, bool transpose, const DctOptions& options) {
  const Output wide = expand_dims(x, -2);
  const Output product = matmul(wide, convert_number(matrix, x.dtype()), {.transpose_b = transpose});
  return squeeze(product, {-2}, {.name = options.name, .where = options.where});
}

}  // namespace

Output fftshift(const Operand& x, const ShiftOptions& options) { return rotated(x, options, false); }
Output ifftshift(const Operand& x, const ShiftOptions& options) { return rotated(x, options, true); }

Output hann_window(int window_length, const WindowOptions& options) {
  return raised_cosine(window_length, 0.5, 0.5, options);
}
Output hamming_window(int window_length, const WindowOptions& options) {
  return raised_cosine(window_length, 0.54, 0.46, options);
}

Output frame(const Operand& signal, int frame_length, int frame_step, const FrameOptions& options) {
  const LocationScope location(options.where);
  check_positive(frame_length, "frame_length");
  check_positive(frame_step, "frame_step");
  Output x = signal.to_output();
  const int samples = known_last(x, "frame()");
  int frames = std::max(0, 1 + (samples - frame_length) / frame_step);
  if (samples < frame_length) frames = 0;
  if (options.pad_end) {
    frames = (samples + frame_step - 1) / frame_step;
    const int missing = frames == 0 ? 0 : std::max(0, (frames - 1) * frame_step + frame_length - samples);
    x = padded(x, -1, 0, missing, options.pad_value);
  }
  std::vector<int> positions;
  for (int f = 0; f < frames; ++f) {
    for (int i = 0; i < frame_length; ++i) positions.push_back(f * frame_step + i);
  }
  return gather(x, Tensor::from<int>({frames, frame_length}, positions),
                {.axis = -1, .name = options.name, .where = options.where});
}

Output overlap_and_add(const Operand& signal, int frame_step, const OpOptions& options) {
  const LocationScope location(options.where);
  check_positive(frame_step, "frame_step");
  const Output x = signal.to_output();
  const int length = known_last(x, "overlap_and_add()");
  if (x.shape().rank() < 2)
    throw invalid_argument("overlap_and_add() takes [..., frames, frame_length], not ", x.shape());
  const Output frames = index(shape_of(x), {-2});
  const Output outer = index(shape_of(x), {Slice{{}, -2}});
  // Each frame as pieces of one step; piece s of frame f belongs to place f + s.
  const int pieces = (length + frame_step - 1) / frame_step;
  const Output whole = padded(x, -1, 0, pieces * frame_step - length);
  std::vector<Output> parts;
  for (int s = 0; s < pieces; ++s) {
    const Output part = index(whole, {kEllipsis, Slice{s * frame_step, (s + 1) * frame_step}});
    parts.push_back(padded(part, -2, s, pieces - 1 - s));
  }
  const Output sum = add_n(parts);
  const Output flat = reshape(sum, concat({outer, stack({-1})}, 0));
  Slice used;
  used.end = (frames - 1) * frame_step + length;
  return index(flat, {kEllipsis, used}, options);
}

Output stft(const Operand& signals, int frame_length, int frame_step, const StftOptions& options) {
  const LocationScope location(options.where);
  Output frames = frame(signals, frame_length, frame_step, {.pad_end = options.pad_end});
  if (options.window_fn) frames = frames * options.window_fn(frame_length, {.dtype = frames.dtype()});
  const int n = options.fft_length.value_or(enclosing_power_of_two(frame_length));
  return rfft(frames, {.fft_length = Operand({n}), .name = options.name, .where = options.where});
}

Output inverse_stft(const Operand& stfts, int frame_length, int frame_step, const InverseStftOptions& options) {
  const LocationScope location(options.where);
  const Output spectra = stfts.to_output();
  const int n = options.fft_length.value_or(enclosing_power_of_two(frame_length));
  Output frames = irfft(spectra, {.fft_length = Operand({n})});
  // The op's shape is known from its constant length.
  Slice used;
  used.end = std::min(frame_length, n);
  frames = index(frames, {kEllipsis, used});
  if (frame_length > n) frames = padded(frames, -1, 0, frame_length - n);
  if (options.window_fn) frames = frames * options.window_fn(frame_length, {.dtype = real_of(spectra.dtype())});
  return overlap_and_add(frames, frame_step, {.name = options.name, .where = options.where});
}

Output dct(const Operand& input, const DctOptions& options) {
  const LocationScope location(options.where);
  const Output x = input.to_output();
  return transformed(x, cosines(known_last(x, "dct()"), options.orthonormal), true, options);
}

Output idct(const Operand& input, const DctOptions& options) {
  const LocationScope location(options.where);
  const Output x = input.to_output();
  const int n = known_last(x, "idct()");
  Tensor matrix = cosines(n, options.orthonormal);
  if (!options.orthonormal) {
    // Type III halves coefficient 0; TensorFlow does not divide by n.
    for (int j = 0; j < n; ++j) matrix.data<double>()[j] /= 2;
  }
  return transformed(x, matrix, false, options);
}

}  // namespace caudal::inline v0::signal
