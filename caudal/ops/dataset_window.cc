// WindowDataset: elements that are datasets themselves, over a window that moves along the input.
#include <algorithm>
#include <deque>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/dataset.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

// One component of the elements of a window.
class WindowContent final : public Dataset {
 public:
  WindowContent(Spec spec, std::vector<Tensor> values) : Dataset(std::move(spec)), values_(std::move(values)) {}
  const std::vector<Tensor>& values() const { return values_; }
  std::int64_t cardinality() const override { return std::ssize(values_); }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::vector<Tensor> values_;
};

class WindowContentIterator final : public IteratorOf<WindowContent> {
 public:
  using IteratorOf::IteratorOf;
  bool next(const Iteration&, Element& out) override {
    if (i_ >= dataset().cardinality()) return false;
    out = {dataset().values()[static_cast<std::size_t>(i_++)]};
    return true;
  }
  void transfer(const Iteration&, StateArchive& archive) override {
    archive.tag("Window");
    archive.number(i_);
    if (i_ < 0) throw data_loss("the saved position is element ", i_);
  }

 private:
  std::int64_t i_ = 0;
};

std::unique_ptr<DatasetIterator> WindowContent::make_iterator(const Iteration&) const {
  return std::make_unique<WindowContentIterator>(*this);
}

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
  using UnaryIterator::UnaryIterator;

  bool next(const Iteration& c, Element& out) override {
    const auto& window = dataset().window();
    for (Element element; !ended_ && std::ssize(buffer_) < window.span(); c.check()) {
      ended_ = !input().next(c, element);
      if (!ended_) buffer_.push_back(std::move(element));
    }
    if (buffer_.empty() || (window.drop_remainder && std::ssize(buffer_) < window.span())) return false;
    make_window(out);
    const std::int64_t drop = std::min<std::int64_t>(window.shift, std::ssize(buffer_));
    buffer_.erase(buffer_.begin(), buffer_.begin() + drop);
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
    for (Element& element : buffer_) archive.tensors(element);
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
      Dataset::Spec spec{{dataset().input().types()[k]}, {dataset().input().shapes()[k]}, "Window"};
      out.push_back(dataset_tensor(std::make_shared<WindowContent>(std::move(spec), std::move(values))));
    }
  }

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
