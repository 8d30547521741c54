// WindowDataset: elements that are datasets themselves, over a window that moves along the input.
#include <algorithm>
#include <deque>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/values_dataset.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

class WindowDataset final : public UnaryDataset {
 public:
  struct Window {
    std::int64_t size, shift, stride;
    bool drop_remainder;
    // Elements of the input that a full window spans.
    std::int64_t span() const { return (size - 1) * stride + 1; }
  };
  WindowDataset(Spec spec, DatasetPtr input, const Window& window)
      : UnaryDataset(std::move(spec), std::move(input)), window_(window) {}
  const Window& window() const { return window_; }
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n < 0) return n;
    if (!window_.drop_remainder) return n / window_.shift + (n % window_.shift == 0 ? 0 : 1);
    return n < window_.span() ? 0 : (n - window_.span()) / window_.shift + 1;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const Window window_;
};

class WindowIterator final : public UnaryIterator<WindowDataset> {
 public:
  WindowIterator(const WindowDataset& dataset, const Iteration& c) : UnaryIterator(dataset, c), charge_(c) {}

  bool next(const Iteration& c, Element& out) override {
    const auto& window = dataset().window();
    for (Element element; !ended_ && std::ssize(buffer_) < window.span(); c.check()) {
      ended_ = !input().next(c, element);
      if (ended_) break;
      charge_.add(element);
      buffer_.push_back(std::move(element));
    }
    if (buffer_.empty() || (window.drop_remainder && std::ssize(buffer_) < window.span())) return false;
    make_window(out);
    const std::int64_t drop = std::min<std::int64_t>(window.shift, std::ssize(buffer_));
    for (std::int64_t i = 0; i < drop; ++i) {
      charge_.remove(buffer_.front());
      buffer_.pop_front();
    }
    Element skipped;
    for (std::int64_t i = drop; !ended_ && i < window.shift; ++i) {
      ended_ = !input().next(c, skipped);
      c.check();
    }
    return true;
  }

  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("WindowDataset");
    archive.flag(ended_);
    buffer_.resize(archive.count(buffer_.size()));
    for (Element& element : buffer_) {
      archive.tensors(element);
      if (!archive.saving()) charge_.add(element);
    }
    transfer_input(c, archive);
  }

 private:
  void make_window(Element& out) const {
    const auto& window = dataset().window();
    out.clear();
    for (std::size_t k = 0; k < dataset().input().types().size(); ++k) {
      std::vector<Tensor> values;
      for (std::int64_t i = 0; i < std::ssize(buffer_) && std::ssize(values) < window.size; i += window.stride) {
        values.push_back(buffer_[static_cast<std::size_t>(i)][k]);
      }
      out.push_back(dataset_tensor(std::make_shared<ValuesDataset>(dataset().input().types()[k],
                                                                   dataset().input().shapes()[k], std::move(values))));
    }
  }

  ElementCharge charge_;
  std::deque<Element> buffer_;
  bool ended_ = false;
};

std::unique_ptr<DatasetIterator> WindowDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<WindowIterator>(*this, c);
}

std::int64_t positive(const RunContext& c, int i, const char* title, const char* name) {
  const std::int64_t value = int_input(c, i, name);
  if (value > 0 && value <= (std::int64_t{1} << 31)) return value;
  throw invalid_argument(title, " must be greater than zero.");
}

DatasetPtr make_window(RunContext& c) {
  return std::make_shared<WindowDataset>(
      dataset_spec(c.node()), dataset_input(c, 0),
      WindowDataset::Window{positive(c, 1, "Window size", "size"), positive(c, 2, "Window shift", "shift"),
                            positive(c, 3, "Window stride", "stride"), bool_input(c, 4, "drop_remainder")});
}

}  // namespace

CAUDAL_REGISTER_DATASET("WindowDataset",
                        "input_dataset: variant; size: int64; shift: int64; stride: int64; drop_remainder: bool",
                        CAUDAL_DATASET_ATTRS, false, ops::prepare_dataset<make_window>);

}  // namespace caudal::inline v0
