// Functions of tf.signal that are made of other ops: windows, frames, short-time transforms, cosine transforms.
// Thread safety: as building a graph.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::signal {

struct ShiftOptions {
  std::vector<int> axes;  // default: all
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Moves coefficient 0 to the middle, and back. The rank must be known.
CAUDAL_API Output fftshift(const Operand& x, const ShiftOptions& options = {});
CAUDAL_API Output ifftshift(const Operand& x, const ShiftOptions& options = {});

struct WindowOptions {
  bool periodic = true;  // else symmetric
  DType dtype = DType::kFloat;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// 0.5 - 0.5 cos and 0.54 - 0.46 cos over window_length points.
CAUDAL_API Output hann_window(int window_length, const WindowOptions& options = {});
CAUDAL_API Output hamming_window(int window_length, const WindowOptions& options = {});

struct FrameOptions {
  bool pad_end = false;  // the last frames may reach beyond the end, where pad_value is
  double pad_value = 0;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Overlapping pieces of the last dimension, which must be known: [..., samples] gives [..., frames, frame_length].
CAUDAL_API Output frame(const Operand& signal, int frame_length, int frame_step, const FrameOptions& options = {});
// The sum of frames laid out at distances of frame_step: [..., frames, frame_length] gives [..., samples].
CAUDAL_API Output overlap_and_add(const Operand& signal, int frame_step, const OpOptions& options = {});

using WindowFn = std::function<Output(int window_length, const WindowOptions& options)>;
struct StftOptions {
  std::optional<int> fft_length;     // default: the power of two that holds a frame
  WindowFn window_fn = hann_window;  // none: no window
  bool pad_end = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The transforms of windowed frames of real signals: [..., samples] gives [..., frames, fft_length / 2 + 1].
CAUDAL_API Output stft(const Operand& signals, int frame_length, int frame_step, const StftOptions& options = {});
struct InverseStftOptions {
  std::optional<int> fft_length;
  WindowFn window_fn = hann_window;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Windowed frames from their transforms, added up.
CAUDAL_API Output inverse_stft(const Operand& stfts, int frame_length, int frame_step,
                               const InverseStftOptions& options = {});

struct DctOptions {
  bool orthonormal = false;  // scaled so that the inverse is the transpose
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The cosine transform of type II along the last dimension, which must be known, and its inverse (type III over 2 n).
CAUDAL_API Output dct(const Operand& input, const DctOptions& options = {});
CAUDAL_API Output idct(const Operand& input, const DctOptions& options = {});

}  // namespace caudal::inline v0::signal
