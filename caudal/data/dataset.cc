#include "caudal/data/dataset.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "caudal/base/error.h"
#include "caudal/base/philox.h"

namespace caudal::inline v0::data {

DataSet::DataSet(Tensor features, Tensor labels) : features_(std::move(features)), labels_(std::move(labels)) {
  if (features_.rank() < 1 || labels_.rank() < 1 || features_.dim(0) != labels_.dim(0)) {
    throw invalid_argument("features ", features_.describe(), " and labels ", labels_.describe(),
                           " do not have as many rows");
  }
  if (!is_plain(features_.dtype()) || !is_plain(labels_.dtype())) {
    throw invalid_argument("features ", features_.describe(), " and labels ", labels_.describe(), " must be numbers");
  }
}

DataSet DataSet::rows(std::int64_t begin, std::int64_t end) const {
  return {features_.rows(begin, end), labels_.rows(begin, end)};
}

BatchStream DataSet::stream(std::int64_t batch_size, const BatchOptions& options) const {
  return {*this, batch_size, options};
}

namespace {

// Copies rows of plain elements.
Tensor gather_rows(const Tensor& from, const std::int64_t* indices, std::int64_t count) {
  Tensor out(from.dtype(), from.shape().with_dim(0, count));
  const std::size_t row = from.dim(0) == 0 ? 0 : from.byte_size() / static_cast<std::size_t>(from.dim(0));
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out.raw() + static_cast<std::size_t>(i) * row, from.raw() + static_cast<std::size_t>(indices[i]) * row,
                row);
  }
  return out;
}

Tensor gather_scaled(const Tensor& from, const std::int64_t* indices, std::int64_t count) {
  Tensor out(float32, from.shape().with_dim(0, count));
  const std::int64_t row = from.dim(0) == 0 ? 0 : from.num_elements() / from.dim(0);
  const auto* source = from.data<std::uint8_t>();
  auto* target = out.data<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto* in = source + indices[i] * row;
    for (std::int64_t k = 0; k < row; ++k) *target++ = static_cast<float>(in[k]) / 255.0F;
  }
  return out;
}

}  // namespace

Batch DataSet::gather(const std::int64_t* indices, std::int64_t count, bool scale_uint8) const {
  const bool scale = scale_uint8 && features_.dtype() == uint8;
  return {scale ? gather_scaled(features_, indices, count) : gather_rows(features_, indices, count),
          gather_rows(labels_, indices, count)};
}

std::vector<std::int64_t> permutation(std::int64_t n, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  PhiloxRandom random(seed, static_cast<std::uint64_t>(epoch));
  PhiloxRandom::Sample block{};
  for (std::int64_t i = n - 1, used = 4; i > 0; --i, used += 2) {
    if (used >= 4) {
      block = random();
      used = 0;
    }
    const std::uint64_t draw = (static_cast<std::uint64_t>(block[used]) << 32) | block[used + 1];
    // The high half of draw * (i + 1): uniform on [0, i] up to 2^-64 * n.
    const auto j =
        static_cast<std::size_t>((static_cast<unsigned __int128>(draw) * static_cast<std::uint64_t>(i + 1)) >> 64);
    std::swap(order[static_cast<std::size_t>(i)], order[j]);
  }
  return order;
}

// One item of the sequence that the maker thread works through: a batch, or the end of an epoch.
struct BatchStream::Impl {
  struct Item {
    std::optional<Batch> batch;
    StreamPosition after;  // where the stream is once the item was handed out
  };

  Impl(const DataSet& data_rows, std::int64_t size, const BatchOptions& stream_options)
      : rows(data_rows), batch_size(size), options(stream_options) {
    if (batch_size < 1) throw invalid_argument("a batch of ", batch_size, " rows");
    if (rows.size() == 0) throw invalid_argument("the data set is empty");
    if (options.drop_remainder && rows.size() < batch_size) {
      throw invalid_argument("drop_remainder with batches of ", batch_size, " rows leaves nothing of ", rows.size(),
                             " rows");
    }
    made = handed_out = {options.seed, 0, 0};
  }

  ~Impl() { stop(); }

  void stop() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    signal.notify_all();
    if (maker.joinable()) maker.join();
    stopping = false;
    ready.clear();
  }

  std::int64_t end_of_epoch() const {
    return options.drop_remainder ? rows.size() / batch_size * batch_size : rows.size();
  }

  // Makes the item that follows `made`. Used by one thread: the maker, or the caller if there is none.
  Item make() {
    if (made.row >= end_of_epoch()) {
      made = {made.seed, made.epoch + 1, 0};
      return {std::nullopt, made};
    }
    if (!order_epoch || *order_epoch != made.epoch) {
      if (options.shuffle) {
        order = permutation(rows.size(), made.seed, made.epoch);
      } else if (order.empty()) {
        order.resize(static_cast<std::size_t>(rows.size()));
        std::iota(order.begin(), order.end(), 0);
      }
      order_epoch = made.epoch;
    }
    const std::int64_t count = std::min(batch_size, end_of_epoch() - made.row);
    Item item{rows.gather(order.data() + made.row, count, options.scale_uint8), {}};
    made.row += count;
    item.after = made;
    return item;
  }

  void make_ahead() {
    for (;;) {
      {
        std::unique_lock lock(mutex);
        signal.wait(lock, [this] { return stopping || static_cast<int>(ready.size()) < options.prefetch; });
        if (stopping) return;
      }
      std::exception_ptr error;
      Item item;
      try {
        item = make();
      } catch (...) {
        error = std::current_exception();
      }
      std::lock_guard lock(mutex);
      failure = error;
      if (!error) ready.push_back(std::move(item));
      signal.notify_all();
      if (error) return;
    }
  }

  Item take() {
    if (options.prefetch <= 0) return make();
    if (!maker.joinable()) maker = std::thread([this] { make_ahead(); });
    std::unique_lock lock(mutex);
    signal.wait(lock, [this] { return !ready.empty() || failure; });
    if (ready.empty()) std::rethrow_exception(failure);
    Item item = std::move(ready.front());
    ready.pop_front();
    signal.notify_all();
    return item;
  }

  const DataSet rows;
  const std::int64_t batch_size;
  const BatchOptions options;
  StreamPosition handed_out;

  StreamPosition made;
  std::vector<std::int64_t> order;
  std::optional<std::int64_t> order_epoch;

  std::mutex mutex;
  std::condition_variable signal;
  bool stopping = false;
  std::deque<Item> ready;
  std::exception_ptr failure;
  std::thread maker;
};

BatchStream::BatchStream(const DataSet& rows, std::int64_t batch_size, const BatchOptions& options)
    : impl_(std::make_unique<Impl>(rows, batch_size, options)) {}
BatchStream::~BatchStream() = default;
BatchStream::BatchStream(BatchStream&&) noexcept = default;
BatchStream& BatchStream::operator=(BatchStream&&) noexcept = default;

bool BatchStream::next(Batch& batch) {
  Impl::Item item = impl_->take();
  impl_->handed_out = item.after;
  if (!item.batch) return false;
  batch = *std::move(item.batch);
  return true;
}

Batch BatchStream::next() {
  Batch batch;
  while (!next(batch)) {
  }
  return batch;
}

StreamPosition BatchStream::position() const { return impl_->handed_out; }

void BatchStream::restore(const StreamPosition& position) {
  if (position.epoch < 0 || position.row < 0 || position.row > impl_->rows.size() ||
      (position.row % impl_->batch_size != 0 && position.row != impl_->end_of_epoch())) {
    throw invalid_argument("epoch ", position.epoch, ", row ", position.row, " is no position in batches of ",
                           impl_->batch_size, " of ", impl_->rows.size(), " rows")
        .hint("Resume with the data and batch size that the run began with.");
  }
  impl_->stop();
  impl_->made = impl_->handed_out = position;
  impl_->order_epoch.reset();
}

std::int64_t BatchStream::batches_per_epoch() const {
  return (impl_->end_of_epoch() + impl_->batch_size - 1) / impl_->batch_size;
}

}  // namespace caudal::inline v0::data
