// CacheDataset: the first whole pass over the input is kept, in memory or in a file, and later ones read it.
#include <cstdio>
#include <utility>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/device.h"
#include "caudal/core/shape_context.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/bundle_writer.h"
#include "caudal/ops/dataset.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

// What one pass gave. Thread-safe.
class MemoryCache final : public Resource {
 public:
  using Elements = std::shared_ptr<const std::vector<Element>>;
  std::string describe() const override { return "cache of a dataset"; }
  // Null until a pass has gone through.
  Elements elements() const {
    const std::lock_guard lock(mutex_);
    return elements_;
  }
  void set(Elements elements) {
    const std::lock_guard lock(mutex_);
    if (elements_ == nullptr) elements_ = std::move(elements);
  }

 private:
  mutable std::mutex mutex_;
  Elements elements_;
};

// ---- In memory

class MemoryCacheDataset final : public UnaryDataset {
 public:
  MemoryCacheDataset(Spec spec, DatasetPtr input, std::shared_ptr<MemoryCache> cache)
      : UnaryDataset(std::move(spec), std::move(input)), cache_(std::move(cache)) {}
  MemoryCache& cache() const { return *cache_; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::shared_ptr<MemoryCache> cache_;
};

class MemoryCacheIterator final : public IteratorOf<MemoryCacheDataset> {
 public:
  MemoryCacheIterator(const MemoryCacheDataset& dataset, const Iteration& c)
      : IteratorOf(dataset), charge_(c), cached_(dataset.cache().elements()) {
    if (cached_ == nullptr) input_ = dataset.input().make_iterator(c);
  }

  bool next(const Iteration& c, Element& out) override {
    if (cached_ != nullptr) {
      if (read_ >= std::ssize(*cached_)) return false;
      out = (*cached_)[static_cast<std::size_t>(read_++)];
      return true;
    }
    if (input_->next(c, out)) {
      for (Tensor& component : out) component = component.keep();
      charge_.add(out);
      so_far_.push_back(out);
      return true;
    }
    read_ = std::ssize(so_far_);
    cached_ = std::make_shared<const std::vector<Element>>(std::move(so_far_));
    dataset().cache().set(cached_);
    input_.reset();
    return false;
  }

  // The elements are part of the position: a resumed run reads what the saved one read.
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("MemoryCache");
    bool complete = cached_ != nullptr;
    archive.flag(complete);
    archive.number(read_);
    if (read_ < 0) throw data_loss("the saved position is element ", read_);
    std::vector<Element> elements = complete && archive.saving() ? *cached_ : so_far_;
    elements.resize(archive.count(elements.size()));
    for (Element& element : elements) archive.tensors(element);
    if (complete) {
      if (!archive.saving()) {
        cached_ = std::make_shared<const std::vector<Element>>(std::move(elements));
        dataset().cache().set(cached_);
        input_.reset();
      }
      return;
    }
    so_far_ = std::move(elements);
    if (!archive.saving()) cached_ = nullptr;
    transfer_iterator(c, archive, dataset().input(), input_);
  }

 private:
  ElementCharge charge_;
  MemoryCache::Elements cached_;  // none: this is the pass that fills the cache
  std::int64_t read_ = 0;
  std::vector<Element> so_far_;
  std::unique_ptr<DatasetIterator> input_;
};

std::unique_ptr<DatasetIterator> MemoryCacheDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<MemoryCacheIterator>(*this, c);
}

// ---- In a file: a tensor bundle with TensorFlow's names, "<element>_<component>"

// TensorFlow's room for 10,000,000 elements.
constexpr int kElementDigits = 7;

class FileCacheDataset final : public UnaryDataset {
 public:
  FileCacheDataset(Spec spec, DatasetPtr input, std::string path)
      : UnaryDataset(std::move(spec), std::move(input)), path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  bool exists(const Iteration& c) const { return c.step->env->exists(path_ + ".index"); }
  std::string key(std::int64_t element, std::size_t component) const {
    const int digits = static_cast<int>(std::to_string(types().size() - 1).size());
    char text[64];
    std::snprintf(text, sizeof text, "%*lld_%*zu", kElementDigits, static_cast<long long>(element), digits, component);
    return text;
  }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::string path_;
};

class FileCacheIterator final : public IteratorOf<FileCacheDataset> {
 public:
  FileCacheIterator(const FileCacheDataset& dataset, const Iteration& c) : IteratorOf(dataset) {
    if (dataset.exists(c)) {
      reader_ = std::make_unique<BundleReader>(*c.step->env, dataset.path());
    } else {
      input_ = dataset.input().make_iterator(c);
      writer_ = std::make_unique<BundleWriter>(*c.step->env, dataset.path());
    }
  }

  bool next(const Iteration& c, Element& out) override { return reader_ != nullptr ? read(out) : write(c, out); }

  // A pass that fills the file begins again when it is resumed, and passes over what it gave before.
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("FileCache");
    std::int64_t count = count_;
    archive.number(count);
    if (archive.saving()) return;
    Element element;
    while (count_ < count && next(c, element)) c.check();
  }

 private:
  bool read(Element& out) {
    if (!reader_->contains(dataset().key(count_, 0))) return false;
    out.clear();
    for (std::size_t k = 0; k < dataset().types().size(); ++k) {
      out.push_back(reader_->read(dataset().key(count_, k), dataset().types()[k]));
    }
    ++count_;
    return true;
  }

  bool write(const Iteration& c, Element& out) {
    if (input_ == nullptr) return false;
    if (input_->next(c, out)) {
      for (std::size_t k = 0; k < out.size(); ++k) writer_->add(dataset().key(count_, k), out[k]);
      ++count_;
      return true;
    }
    writer_->finish();
    writer_.reset();
    input_.reset();
    return false;
  }

  std::int64_t count_ = 0;
  std::unique_ptr<BundleReader> reader_;
  std::unique_ptr<BundleWriter> writer_;
  std::unique_ptr<DatasetIterator> input_;
};

std::unique_ptr<DatasetIterator> FileCacheDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<FileCacheIterator>(*this, c);
}

// ---- Kernels

DatasetPtr make_cache(RunContext& c) {
  const std::string path = string_input(c, 1, "filename");
  if (!path.empty()) return std::make_shared<FileCacheDataset>(dataset_spec(c.node()), dataset_input(c, 0), path);
  std::shared_ptr<MemoryCache> cache;
  if (c.num_inputs() > 2 && c.input(2).num_elements() == 1) {
    cache = std::dynamic_pointer_cast<MemoryCache>(c.input(2).item<ResourceHandle>().owned);
  }
  if (cache == nullptr) cache = std::make_shared<MemoryCache>();
  return std::make_shared<MemoryCacheDataset>(dataset_spec(c.node()), dataset_input(c, 0), std::move(cache));
}

void set_cache(RunContext& c, std::shared_ptr<MemoryCache> cache) {
  ResourceHandle handle;
  handle.device = c.step().device->name();
  handle.name = "MemoryCache";
  handle.type_name = "tensorflow::data::MemoryCacheManager";
  handle.owned = std::move(cache);
  c.set_output(0, Tensor::scalar(std::move(handle)));
  if (c.num_outputs() > 1) c.set_output(1, Tensor(DType::kVariant, Shape()));
}

void run_memory_cache(RunContext& c) { set_cache(c, std::make_shared<MemoryCache>()); }
void run_dummy_cache(RunContext& c) { set_cache(c, nullptr); }
void run_delete(RunContext&) {}  // the handle owns it

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_DATASET("CacheDataset", "input_dataset: variant; filename: string", CAUDAL_DATASET_ATTRS, false,
                        ops::prepare_dataset<make_cache>);
CAUDAL_REGISTER_DATASET("CacheDatasetV2", "input_dataset: variant; filename: string; cache: resource",
                        CAUDAL_DATASET_ATTRS, true, ops::prepare_dataset<make_cache>);
CAUDAL_REGISTER_OP({.name = "AnonymousMemoryCache",
                    .outputs = "handle: resource; deleter: variant",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_memory_cache>});
CAUDAL_REGISTER_OP({.name = "DummyMemoryCache",
                    .outputs = "handle: resource",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_dummy_cache>});
CAUDAL_REGISTER_OP({.name = "DeleteMemoryCache",
                    .inputs = "handle: resource; deleter: variant",
                    .stateful = true,
                    .shape = no_outputs_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_delete>});

}  // namespace caudal::inline v0
