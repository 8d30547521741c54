#include "caudal/ops/line_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "caudal/formats/compression.h"

namespace caudal::inline v0::internal {
namespace {

constexpr std::size_t kBlock = 256 << 10;

}  // namespace

std::unique_ptr<SequentialFile> open_inflated(Env& env, const std::string& path, const std::string& compression) {
  const Compression kind = compression_from_name(compression);
  auto file = env.open_sequential(path);
  return kind == Compression::kNone ? std::move(file) : inflate_file(std::move(file), kind, path);
}

bool LineReader::next(std::string* line) {
  line->clear();
  while (true) {
    const std::size_t end = block_.find('\n', position_);
    const std::size_t stop = end == std::string::npos ? block_.size() : end;
    std::copy_if(block_.begin() + static_cast<std::ptrdiff_t>(position_),
                 block_.begin() + static_cast<std::ptrdiff_t>(stop), std::back_inserter(*line),
                 [](char c) { return c != '\r'; });
    position_ = stop;
    if (end != std::string::npos) {
      ++position_;
      return true;
    }
    block_.resize(kBlock);
    block_.resize(file_->read(block_.data(), kBlock));
    position_ = 0;
    if (block_.empty()) return !line->empty();
  }
}

}  // namespace caudal::inline v0::internal
