#include "caudal/ops/file_records.h"

#include "caudal/base/error.h"

namespace caudal::inline v0::ops {

FileRecords::~FileRecords() = default;

namespace {

class FilesIterator final : public IteratorOf<FilesDataset> {
 public:
  using IteratorOf::IteratorOf;

  bool next(const Iteration& c, Element& out) override {
    for (;; c.check()) {
      try {
        if (records_ == nullptr) {
          if (file_ >= std::ssize(dataset().files())) return false;
          records_ = dataset().open(*c.step->env, static_cast<std::size_t>(file_));
        }
        if (records_->next(c, out)) return true;
      } catch (const Error&) {
        if (records_ == nullptr || !records_->goes_on()) leave();
        throw;
      }
      leave();
    }
  }

  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("Files");
    archive.number(file_);
    bool open = records_ != nullptr;
    archive.flag(open);
    if (file_ < 0 || file_ > std::ssize(dataset().files()) || (open && file_ == std::ssize(dataset().files()))) {
      throw data_loss("the saved position is file ", file_, " of ", dataset().files().size());
    }
    if (!open) return;
    if (!archive.saving()) records_ = dataset().open(*c.step->env, static_cast<std::size_t>(file_));
    records_->transfer(archive);
  }

 private:
  void leave() {
    records_.reset();
    ++file_;
  }

  std::int64_t file_ = 0;
  std::unique_ptr<FileRecords> records_;
};

}  // namespace

std::unique_ptr<DatasetIterator> FilesDataset::make_iterator(const Iteration&) const {
  return std::make_unique<FilesIterator>(*this);
}

}  // namespace caudal::inline v0::ops
