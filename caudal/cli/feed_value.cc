#include "caudal/cli/feed_value.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/philox.h"
#include "caudal/base/strings.h"
#include "caudal/base/thread_pool.h"
#include "caudal/formats/npy.h"
#include "caudal/kernels/cast.h"

namespace caudal::inline v0::cli {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;

Tensor converted(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (!kernels::can_cast(value.dtype(), dtype)) {
    throw invalid_argument("a value of type ", value.dtype(), " where ", dtype, " is wanted");
  }
  Tensor out(dtype, value.shape());
  kernels::cast(default_pool(), value.dtype(), value.raw(), dtype, out.raw(), value.num_elements());
  return out;
}

// Nested lists, flattened, with their shape.
struct Flat {
  std::vector<std::int64_t> shape;
  std::vector<const Json*> items;
};

void flatten(const Json& json, std::size_t depth, Flat& flat) {
  if (!json.is_array()) {
    if (depth != flat.shape.size()) throw invalid_argument("lists of different depths");
    flat.items.push_back(&json);
    return;
  }
  if (depth >= kMaxDepth) throw invalid_argument("lists nested deeper than ", kMaxDepth);
  if (depth == flat.shape.size()) {
    if (!flat.items.empty()) throw invalid_argument("lists of different depths");
    flat.shape.push_back(static_cast<std::int64_t>(json.size()));
  }
  if (flat.shape[depth] != static_cast<std::int64_t>(json.size())) throw invalid_argument("lists of different lengths");
  for (const Json& item : json) flatten(item, depth + 1, flat);
}

Tensor text_tensor(const Flat& flat) {
  Tensor tensor(string, Shape(flat.shape));
  for (std::size_t i = 0; i < flat.items.size(); ++i) {
    if (!flat.items[i]->is_string()) throw invalid_argument("'", flat.items[i]->dump(), "' where a string is wanted");
    tensor.data<std::string>()[i] = flat.items[i]->get<std::string>();
  }
  return tensor;
}

template <class T>
Tensor number_tensor(const Flat& flat) {
  Tensor tensor(dtype_of<T>(), Shape(flat.shape));
  for (std::size_t i = 0; i < flat.items.size(); ++i) {
    const Json& item = *flat.items[i];
    if (!item.is_number() && !item.is_boolean()) throw invalid_argument("'", item.dump(), "' is no number");
    tensor.data<T>()[i] = item.is_boolean() ? static_cast<T>(item.get<bool>()) : item.get<T>();
  }
  return tensor;
}

Tensor json_tensor(const Json& json, DType dtype) {
  Flat flat;
  flatten(json, 0, flat);
  if (dtype == DType::kString) return text_tensor(flat);
  const bool is_whole = std::ranges::all_of(flat.items, [](const Json* item) { return !item->is_number_float(); });
  if (is_whole) return converted(number_tensor<std::int64_t>(flat), dtype);
  if (!is_floating(dtype) && !is_complex(dtype)) throw invalid_argument("a fraction where ", dtype, " is wanted");
  return converted(number_tensor<double>(flat), dtype);
}

Tensor filled(std::string_view kind, const Shape& shape, DType dtype) {
  Tensor tensor(float32, shape);
  if (kind == "random") {
    fill_uniform(PhiloxRandom(42, 0), tensor.flat<float>(), default_pool());
  } else {
    std::ranges::fill(tensor.flat<float>(), kind == "ones" ? 1.0F : 0.0F);
  }
  return converted(tensor, dtype);
}

// "zeros(2,3)"; false if the text is nothing of the kind.
bool parse_filled(std::string_view text, DType dtype, Tensor* tensor) {
  for (const std::string_view kind : {"zeros", "ones", "random"}) {
    if (!text.starts_with(std::string(kind) + "(") || !text.ends_with(')')) continue;
    std::vector<std::int64_t> sizes;
    const std::string_view inside = text.substr(kind.size() + 1, text.size() - kind.size() - 2);
    for (const std::string_view part : split(inside, ',')) {
      if (trim(part).empty() && trim(inside).empty()) break;
      std::int64_t size = 0;
      if (!parse_int64(trim(part), &size)) throw invalid_argument("'", part, "' is no size");
      sizes.push_back(size);
    }
    *tensor = filled(kind, Shape(sizes), dtype);
    return true;
  }
  return false;
}

Tensor npz_member(std::string_view text, std::size_t colon) {
  const std::string path(text.substr(0, colon)), name(text.substr(colon + 1));
  const NamedTensors members = read_npz(default_env(), path);
  if (const auto found = members.find(name); found != members.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [member, value] : members) names.push_back(member);
  throw not_found("'", path, "' has no member '", name, "'; it has ", join(names, ", "));
}

}  // namespace

Tensor parse_feed_value(std::string_view text, DType dtype) {
  if (text.starts_with('@')) return Tensor(read_file(default_env(), std::string(text.substr(1))));
  if (text.ends_with(".npy")) return converted(read_npy(default_env(), std::string(text)), dtype);
  if (const std::size_t npz = text.find(".npz:"); npz != std::string_view::npos) {
    return converted(npz_member(text, npz + 4), dtype);
  }
  Tensor tensor;
  if (parse_filled(text, dtype, &tensor)) return tensor;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) return json_tensor(json, dtype);
  if (dtype == DType::kString) return Tensor(std::string(text));
  throw invalid_argument("'", escaped(text), "' is no value")
      .hint("Values are numbers, lists as in JSON, .npy files, file.npz:member, zeros(2,3), ones(2,3), random(2,3).");
}

}  // namespace caudal::inline v0::cli
