// Initial values, drawn on the host: TensorFlow's stateless random numbers with the seed [seed, 0], as Keras 3 asks for
// them.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/philox.h"
#include "caudal/base/strings.h"
#include "caudal/base/thread_pool.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/objects.h"

namespace caudal::inline v0::keras {
namespace {

using initializers::Options;
using initializers::VarianceScalingOptions;

// Of a normal cut off at two standard deviations, relative to the whole.
constexpr double kTruncatedStddev = 0.87962566103423978;

std::atomic<std::uint64_t> seed_base{0};
std::atomic<std::uint64_t> seeds_drawn{0};

Config seed_config(const std::optional<std::int64_t>& seed) { return seed ? Config(*seed) : Config(); }

PhiloxRandom generator(const std::optional<std::int64_t>& seed) {
  return PhiloxRandom::stateless(static_cast<std::uint64_t>(seed ? *seed : draw_seed()), 0);
}

// Values drawn as float32, in the type wanted.
Tensor finished(Tensor drawn, DType dtype) { return drawn.dtype() == dtype ? drawn : convert_number(drawn, dtype); }

template <class Fill>
Tensor draw(const Shape& shape, DType dtype, double scale, double offset, const Fill& fill) {
  Tensor out(float32, shape);
  fill(out.flat<float>());
  const auto factor = static_cast<float>(scale);
  const auto shift = static_cast<float>(offset);
  for (float& value : out.flat<float>()) value = value * factor + shift;
  return finished(std::move(out), dtype);
}

Tensor draw_uniform(const Shape& shape, DType dtype, double low, double high, std::optional<std::int64_t> seed) {
  // TensorFlow rounds the difference of the float bounds.
  const double range = static_cast<float>(high) - static_cast<float>(low);
  return draw(shape, dtype, range, low,
              [&](std::span<float> out) { fill_uniform(generator(seed), out, default_pool()); });
}

Tensor draw_normal(const Shape& shape, DType dtype, double mean, double stddev, std::optional<std::int64_t> seed,
                   bool truncated) {
  return draw(shape, dtype, stddev, mean, [&](std::span<float> out) {
    if (truncated) {
      fill_truncated_normal(generator(seed), out, default_pool());
    } else {
      fill_normal(generator(seed), out, default_pool());
    }
  });
}

struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double window = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape[-2]), window * static_cast<double>(shape[-1])};
}

Tensor draw_scaled(const Shape& shape, DType dtype, const VarianceScalingOptions& o) {
  const Fans fans = fans_of(shape);
  const double n = o.mode == "fan_in" ? fans.in : o.mode == "fan_out" ? fans.out : (fans.in + fans.out) / 2;
  const double scale = o.scale / std::max(1.0, n);
  if (o.distribution == "uniform") {
    const double limit = std::sqrt(3 * scale);
    return draw_uniform(shape, dtype, -limit, limit, o.seed);
  }
  const bool truncated = o.distribution == "truncated_normal";
  return draw_normal(shape, dtype, 0, std::sqrt(scale) / (truncated ? kTruncatedStddev : 1), o.seed, truncated);
}

// Q of the QR decomposition of a [rows, columns], rows >= columns, whose R has a positive diagonal, by Householder
// reflections. `a` is overwritten.
std::vector<double> orthogonal_columns(std::vector<double>& a, std::int64_t rows, std::int64_t columns) {
  std::vector<double> signs(static_cast<std::size_t>(columns));
  std::vector<std::vector<double>> reflectors;
  for (std::int64_t k = 0; k < columns; ++k) {
    double norm = 0;
    for (std::int64_t i = k; i < rows; ++i) norm += a[i * columns + k] * a[i * columns + k];
    norm = std::sqrt(norm);
    const double head = a[k * columns + k];
    const double diagonal = head > 0 ? -norm : norm;
    signs[k] = diagonal < 0 ? -1 : 1;
    std::vector<double> v(static_cast<std::size_t>(rows - k));
    for (std::int64_t i = k; i < rows; ++i) v[i - k] = a[i * columns + k];
    v[0] -= diagonal;
    double length = 0;
    for (const double x : v) length += x * x;
    for (std::int64_t j = k; j < columns && length > 0; ++j) {
      double dot = 0;
      for (std::int64_t i = k; i < rows; ++i) dot += v[i - k] * a[i * columns + j];
      for (std::int64_t i = k; i < rows; ++i) a[i * columns + j] -= 2 * dot / length * v[i - k];
    }
    reflectors.push_back(std::move(v));
  }
  std::vector<double> q(static_cast<std::size_t>(rows * columns), 0.0);
  for (std::int64_t j = 0; j < columns; ++j) q[j * columns + j] = signs[j];
  for (std::int64_t k = columns - 1; k >= 0; --k) {
    const std::vector<double>& v = reflectors[k];
    double length = 0;
    for (const double x : v) length += x * x;
    if (length == 0) continue;
    for (std::int64_t j = 0; j < columns; ++j) {
      double dot = 0;
      for (std::int64_t i = k; i < rows; ++i) dot += v[i - k] * q[i * columns + j];
      for (std::int64_t i = k; i < rows; ++i) q[i * columns + j] -= 2 * dot / length * v[i - k];
    }
  }
  return q;
}

Tensor draw_orthogonal(const Shape& shape, DType dtype, double gain, std::optional<std::int64_t> seed) {
  if (shape.rank() < 2) throw invalid_argument("an orthogonal initial value needs two dimensions, not ", shape);
  const std::int64_t columns = shape[-1];
  const std::int64_t rows = columns == 0 ? 0 : shape.num_elements() / columns;
  const std::int64_t tall = std::max(rows, columns), narrow = std::min(rows, columns);
  const Tensor normal = draw_normal(Shape({tall, narrow}), float32, 0, 1, seed, false);
  std::vector<double> a(normal.flat<float>().begin(), normal.flat<float>().end());
  const std::vector<double> q = orthogonal_columns(a, tall, narrow);
  Tensor out(float32, shape);
  float* to = out.data<float>();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const double value = rows < columns ? q[j * narrow + i] : q[i * narrow + j];
      to[i * columns + j] = static_cast<float>(gain) * static_cast<float>(value);
    }
  }
  return finished(std::move(out), dtype);
}

Tensor filled(const Shape& shape, DType dtype, double value) {
  Tensor out(float32, shape);
  std::ranges::fill(out.flat<float>(), static_cast<float>(value));
  return finished(std::move(out), dtype);
}

Initializer scaled(std::string class_name, double scale, const char* mode, const char* distribution,
                   const Options& options) {
  const VarianceScalingOptions o{scale, mode, distribution, options.seed};
  Config config;
  config.set("seed", seed_config(options.seed)).set("input_axes", {}).set("output_axes", {});
  return Initializer(std::move(class_name), std::move(config),
                     [o](const Shape& shape, DType dtype) { return draw_scaled(shape, dtype, o); });
}

// --- From files ---

class Settings {
 public:
  explicit Settings(const Config& config) : config_(config) {}
  double number(std::string_view key, double otherwise) const {
    const Config* found = config_.find(key);
    return found == nullptr || found->is_null() ? otherwise : found->number();
  }
  std::string text(std::string_view key, std::string otherwise) const {
    const Config* found = config_.find(key);
    return found == nullptr || found->is_null() ? std::move(otherwise) : found->text();
  }
  std::optional<std::int64_t> seed() const {
    const Config* found = config_.find("seed");
    return found == nullptr || !found->is_number() ? std::nullopt : std::optional(found->integer());
  }
  Options options() const { return {.seed = seed()}; }
  const Config* find(std::string_view key) const { return config_.find(key); }

 private:
  const Config& config_;
};

// {"shape": ..., "values": [...]}: our own form of a value that was given.
Initializer given(const Settings& s) {
  const Config* shape = s.find("shape");
  const Config* values = s.find("values");
  if (shape == nullptr || values == nullptr) throw invalid_argument("an initial value without shape or values");
  std::vector<std::int64_t> dims;
  for (const Config& dim : shape->list()) dims.push_back(dim.integer());
  std::vector<float> numbers;
  for (const Config& value : values->list()) numbers.push_back(static_cast<float>(value.number()));
  return Tensor::from(Shape(dims), numbers);
}

using Maker = Initializer (*)(const Settings&);
const std::map<std::string, Maker, std::less<>>& table() {
  namespace in = initializers;
  static const auto* const makers = new std::map<std::string, Maker, std::less<>>{
      {"zeros", [](const Settings&) { return in::Zeros(); }},
      {"ones", [](const Settings&) { return in::Ones(); }},
      {"constant", [](const Settings& s) { return in::Constant(s.number("value", 0)); }},
      {"identity", [](const Settings& s) { return in::Identity(s.number("gain", 1)); }},
      {"random_normal",
       [](const Settings& s) { return in::RandomNormal(s.number("mean", 0), s.number("stddev", 0.05), s.options()); }},
      {"random_uniform",
       [](const Settings& s) {
         return in::RandomUniform(s.number("minval", -0.05), s.number("maxval", 0.05), s.options());
       }},
      {"truncated_normal",
       [](const Settings& s) {
         return in::TruncatedNormal(s.number("mean", 0), s.number("stddev", 0.05), s.options());
       }},
      {"variance_scaling",
       [](const Settings& s) {
         return in::VarianceScaling({.scale = s.number("scale", 1),
                                     .mode = s.text("mode", "fan_in"),
                                     .distribution = s.text("distribution", "truncated_normal"),
                                     .seed = s.seed()});
       }},
      {"glorot_uniform", [](const Settings& s) { return in::GlorotUniform(s.options()); }},
      {"glorot_normal", [](const Settings& s) { return in::GlorotNormal(s.options()); }},
      {"he_uniform", [](const Settings& s) { return in::HeUniform(s.options()); }},
      {"he_normal", [](const Settings& s) { return in::HeNormal(s.options()); }},
      {"lecun_uniform", [](const Settings& s) { return in::LecunUniform(s.options()); }},
      {"lecun_normal", [](const Settings& s) { return in::LecunNormal(s.options()); }},
      {"orthogonal", [](const Settings& s) { return in::Orthogonal(s.number("gain", 1), s.options()); }},
      {"value", given},
  };
  return *makers;
}

}  // namespace

void set_random_seed(std::int64_t seed) {
  seed_base = static_cast<std::uint64_t>(seed) + 1;
  seeds_drawn = 0;
}

std::int64_t draw_seed() {
  if (seed_base == 0) {
    std::random_device device;
    std::uint64_t none = 0;
    seed_base.compare_exchange_strong(none, (std::uint64_t{device()} << 31 | device()) | 1);
  }
  PhiloxRandom random(seed_base, seeds_drawn++);
  return static_cast<std::int64_t>(random()[0] & 0x7fffffff);
}

Initializer::Initializer(const std::string& name) : Initializer(from_config(name)) {}

Initializer::Initializer(Tensor value) {
  Config config;
  config.set("shape", Config::integers(value.shape().to_vector()));
  Config::List numbers;
  const Tensor floats = finished(value, float32);
  for (const float number : floats.flat<float>()) numbers.push_back(static_cast<double>(number));
  config.set("values", std::move(numbers));
  *this = Initializer("Value", std::move(config), [value = std::move(value)](const Shape& shape, DType dtype) {
    if (value.shape() != shape) {
      throw invalid_argument("the initial value given has the shape ", value.shape(), ", the weight ", shape);
    }
    return finished(value, dtype);
  });
}

Config Initializer::to_config() const {
  return *this ? object_config("keras.initializers", class_name(), config()) : Config();
}

Initializer Initializer::from_config(const Config& config) {
  if (config.is_null()) return {};
  const std::string class_name = config.is_string() ? config.text() : config["class_name"].text();
  const Config* settings = config.find("config");
  static const Config nothing = Config::map();
  const auto found = table().find(snake_case(class_name));
  if (found == table().end()) {
    std::vector<std::string> known;
    for (const auto& [name, maker] : table()) known.push_back(name);
    throw_unknown("initializer", class_name, known);
  }
  return found->second(Settings(settings == nullptr ? nothing : *settings));
}

namespace initializers {

Initializer Zeros() {
  return Initializer("Zeros", Config::map(),
                     [](const Shape& shape, DType dtype) { return Tensor::zeros(dtype, shape); });
}

Initializer Ones() {
  return Initializer("Ones", Config::map(), [](const Shape& shape, DType dtype) { return filled(shape, dtype, 1); });
}

Initializer Constant(double value) {
  Config config;
  config.set("value", value);
  return Initializer("Constant", std::move(config),
                     [value](const Shape& shape, DType dtype) { return filled(shape, dtype, value); });
}

Initializer RandomNormal(double mean, double stddev, const Options& options) {
  Config config;
  config.set("mean", mean).set("stddev", stddev).set("seed", seed_config(options.seed));
  return Initializer("RandomNormal", std::move(config), [=](const Shape& shape, DType dtype) {
    return draw_normal(shape, dtype, mean, stddev, options.seed, false);
  });
}

Initializer TruncatedNormal(double mean, double stddev, const Options& options) {
  Config config;
  config.set("mean", mean).set("stddev", stddev).set("seed", seed_config(options.seed));
  return Initializer("TruncatedNormal", std::move(config), [=](const Shape& shape, DType dtype) {
    return draw_normal(shape, dtype, mean, stddev, options.seed, true);
  });
}

Initializer RandomUniform(double minval, double maxval, const Options& options) {
  Config config;
  config.set("minval", minval).set("maxval", maxval).set("seed", seed_config(options.seed));
  return Initializer("RandomUniform", std::move(config), [=](const Shape& shape, DType dtype) {
    return draw_uniform(shape, dtype, minval, maxval, options.seed);
  });
}

Initializer VarianceScaling(const VarianceScalingOptions& options) {
  VarianceScalingOptions o = options;
  if (o.distribution == "normal") o.distribution = "truncated_normal";
  if (!(o.scale > 0)) throw invalid_argument("VarianceScaling: the scale must be positive, not ", o.scale);
  if (o.mode != "fan_in" && o.mode != "fan_out" && o.mode != "fan_avg") {
    throw_unknown("mode of VarianceScaling", o.mode, {"fan_in", "fan_out", "fan_avg"});
  }
  if (o.distribution != "uniform" && o.distribution != "truncated_normal" && o.distribution != "untruncated_normal") {
    throw_unknown("distribution of VarianceScaling", o.distribution,
                  {"truncated_normal", "untruncated_normal", "uniform"});
  }
  Config config;
  config.set("scale", o.scale).set("mode", o.mode).set("distribution", o.distribution);
  config.set("seed", seed_config(o.seed)).set("input_axes", {}).set("output_axes", {});
  return Initializer("VarianceScaling", std::move(config),
                     [o](const Shape& shape, DType dtype) { return draw_scaled(shape, dtype, o); });
}

Initializer GlorotUniform(const Options& o) { return scaled("GlorotUniform", 1, "fan_avg", "uniform", o); }
Initializer GlorotNormal(const Options& o) { return scaled("GlorotNormal", 1, "fan_avg", "truncated_normal", o); }
Initializer HeUniform(const Options& o) { return scaled("HeUniform", 2, "fan_in", "uniform", o); }
Initializer HeNormal(const Options& o) { return scaled("HeNormal", 2, "fan_in", "truncated_normal", o); }
Initializer LecunUniform(const Options& o) { return scaled("LecunUniform", 1, "fan_in", "uniform", o); }
Initializer LecunNormal(const Options& o) { return scaled("LecunNormal", 1, "fan_in", "truncated_normal", o); }

Initializer Orthogonal(double gain, const Options& options) {
  Config config;
  config.set("seed", seed_config(options.seed)).set("gain", gain);
  return Initializer("Orthogonal", std::move(config), [=](const Shape& shape, DType dtype) {
    return draw_orthogonal(shape, dtype, gain, options.seed);
  });
}

Initializer Identity(double gain) {
  Config config;
  config.set("gain", gain);
  return Initializer("Identity", std::move(config), [gain](const Shape& shape, DType dtype) {
    if (shape.rank() != 2) throw invalid_argument("an identity needs two dimensions, not ", shape);
    Tensor out = Tensor::zeros(float32, shape);
    for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) {
      out.data<float>()[i * shape[1] + i] = static_cast<float>(gain);
    }
    return finished(std::move(out), dtype);
  });
}

}  // namespace initializers

}  // namespace caudal::inline v0::keras
