// C++ functions that nodes call: what TensorFlow's PyFunc is for Python.
//
// A function is known by a token, which the node carries; it can be called as long as its registration lives, in this
// process only. Thread-safe; the functions must be as well.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

using NativeFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& arguments)>;

// Its value is the token; the function is forgotten with the last copy of the pointer.
using NativeRegistration = std::shared_ptr<const std::string>;
CAUDAL_API NativeRegistration register_native_function(NativeFunction function);

// Null if there is none of that token.
std::shared_ptr<const NativeFunction> find_native_function(std::string_view token);

}  // namespace caudal::inline v0
