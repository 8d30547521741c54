// MatchingFiles: the files that patterns name.
#include <algorithm>
#include <utility>

#include "caudal/base/glob.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"

namespace caudal::inline v0 {
namespace {

void matching_shape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() > 1) c.with_rank(0, 1);
  c.set_output(0, PartialShape::unknown_of_rank(1));
}

void run_matching_files(RunContext& c) {
  if (c.input(0).rank() > 1)
    throw invalid_argument("Input patterns tensor must be scalar or vector, but had shape: ", c.input(0).shape());
  if (c.step().env == nullptr) throw failed_precondition("files are looked for in a session only");
  std::vector<std::string> files;
  for (const std::string& pattern : c.input(0).flat<std::string>()) {
    auto found = match_files(*c.step().env, pattern);
    files.insert(files.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  std::sort(files.begin(), files.end());
  c.set_output(0, Tensor(std::move(files)));
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "MatchingFiles",
                    .inputs = "pattern: string",
                    .outputs = "filenames: string",
                    .shape = matching_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_matching_files>});

}  // namespace caudal::inline v0
