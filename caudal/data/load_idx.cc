#include <algorithm>
#include <array>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/data/dataset.h"
#include "caudal/formats/idx.h"

namespace caudal::inline v0::data {
namespace {

Tensor read_either(Env& env, const std::string& directory, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    const std::string path = join_path(directory, name + suffix);
    if (env.exists(path)) return read_idx(env, path);
  }
  throw not_found("'", directory, "' has no ", name, " and no ", name, ".gz")
      .hint(
          "A set has four files: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
          "t10k-labels-idx1-ubyte.");
}

DataSet read_part(Env& env, const std::string& directory, const std::string& part) {
  Tensor images = read_either(env, directory, part + "-images-idx3-ubyte");
  const Tensor labels = read_either(env, directory, part + "-labels-idx1-ubyte");
  if (images.rank() != 3 || images.dtype() != uint8 || labels.rank() != 1 || labels.dtype() != uint8) {
    throw invalid_argument("'", directory, "': images are ", images.describe(), " and labels ", labels.describe(),
                           "; uint8[n,height,width] and uint8[n] are wanted");
  }
  if (images.dim(0) != labels.dim(0)) {
    throw invalid_argument("'", directory, "': ", images.dim(0), " ", part, " images and ", labels.dim(0), " labels");
  }
  Tensor wide(int64, labels.shape());
  std::copy_n(labels.data<std::uint8_t>(), labels.num_elements(), wide.data<std::int64_t>());
  return {images.reshape(images.shape().append(1)), wide};
}

}  // namespace

DataSets load_idx(const std::string& directory, const LoadIdxOptions& options) {
  Env& env = default_env();
  const DataSet all = read_part(env, directory, "train");
  if (options.validation_size < 0 || options.validation_size >= all.size()) {
    throw invalid_argument("a validation part of ", options.validation_size, " out of ", all.size(), " rows");
  }
  const std::int64_t cut = all.size() - options.validation_size;
  return {all.rows(0, cut), all.rows(cut, all.size()), read_part(env, directory, "t10k")};
}

}  // namespace caudal::inline v0::data
