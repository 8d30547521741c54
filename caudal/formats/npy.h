// NumPy's .npy files, and .npz archives of them (numpy.lib.format, versions 1 to 3).
//
//   Tensor x = read_npy(env, "x.npy");
//   write_npy(env, "y.npy", y);
//   for (const auto& [name, value] : read_npz(env, "all.npz")) ...
//
// Types: bool, integers, half, float, double, complex, and byte strings (S); text (U) becomes UTF-8 strings. Big-endian
// and Fortran-ordered arrays are converted. Pickled objects are refused: they could run any code.
// Errors: DATA_LOSS for malformed or cut bytes, UNIMPLEMENTED for types that have no Tensor. Thread safety: functions
// of their arguments.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

CAUDAL_API Tensor parse_npy(std::string_view bytes);
CAUDAL_API Tensor read_npy(Env& env, const std::string& path);

// The bytes that numpy.save writes. Strings are written as S of the longest one, which NumPy pads with zero bytes;
// bfloat16 as float32, which holds the same values. UNIMPLEMENTED for quantised, resource and variant tensors.
CAUDAL_API std::string npy_bytes(const Tensor& tensor);
CAUDAL_API void write_npy(Env& env, const std::string& path, const Tensor& tensor);

using NamedTensors = std::map<std::string, Tensor>;
// Members by name without ".npy"; stored and deflated archives.
CAUDAL_API NamedTensors parse_npz(std::string_view bytes);
CAUDAL_API NamedTensors read_npz(Env& env, const std::string& path);
// Stored, as numpy.savez does.
CAUDAL_API void write_npz(Env& env, const std::string& path, const NamedTensors& tensors);

}  // namespace caudal::inline v0
