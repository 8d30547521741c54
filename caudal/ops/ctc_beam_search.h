// The prefix beam search of connectionist temporal classification (Graves and Jaitly 2014): label sequences in the
// order of their probability, summed over alignments, as far as a beam of limited width finds them.
//
// Thread safety: one decoder belongs to one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <vector>

namespace caudal::inline v0 {

template <class T>
constexpr T kLogZero = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b)).
template <class T>
T log_sum_exp(T a, T b) {
  if (a == kLogZero<T>) return b;
  if (b == kLogZero<T>) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

template <class T>
class CtcBeamSearch {
 public:
  // The blank is the last class.
  CtcBeamSearch(int classes, std::size_t width) : classes_(classes), width_(width) {
    Prefix& root = prefixes_.emplace_back();
    root.now = {0, 0, kLogZero<T>};
    beam_.push_back(&root);
  }

  // Takes the scores of one more step, not normalised.
  void step(const T* scores) {
    const T offset = log_normalizer(scores);
    std::vector<Prefix*> before = sorted();
    for (Prefix* prefix : before) prefix->before = prefix->now;
    beam_.clear();
    for (Prefix* prefix : before) {
      extend_without_change(*prefix, scores, offset);
      insert(prefix);
    }
    for (Prefix* prefix : before) {
      if (!is_candidate(prefix->before.total)) continue;
      for (int label = 0; label + 1 < classes_; ++label) grow(*prefix, label, scores[label] - offset);
    }
  }

  struct Path {
    std::vector<int> labels;
    T log_probability;
  };
  // The n best; fewer if the beam holds fewer.
  std::vector<Path> best(std::size_t n, bool merge_repeated) const {
    std::vector<Path> paths;
    for (const Prefix* prefix : sorted()) {
      if (paths.size() == n) break;
      paths.push_back({labels_of(*prefix, merge_repeated), prefix->now.total});
    }
    return paths;
  }

 private:
  // Log probabilities of a prefix: of all alignments, of those that end in a blank, of those that end in its label.
  struct Probability {
    T total = kLogZero<T>, blank = kLogZero<T>, label = kLogZero<T>;
  };
  struct Prefix {
    const Prefix* parent = nullptr;
    int label = -1;
    Probability before, now;
    std::map<int, Prefix*> longer;
    bool in_beam() const { return now.total != kLogZero<T>; }
  };
  static bool less_likely(const Prefix* a, const Prefix* b) {
    return a->now.total > b->now.total;
  }  // heap: worst first

  T log_normalizer(const T* scores) const {
    const T greatest = *std::max_element(scores, scores + classes_);
    T sum = 0;
    for (int k = 0; k < classes_; ++k) sum += std::exp(scores[k] - greatest);
    return greatest + std::log(sum);
  }

  // The step repeats the last label or is a blank.
  void extend_without_change(Prefix& prefix, const T* scores, T offset) const {
    if (prefix.parent != nullptr) {
      if (prefix.parent->in_beam()) {
        const Probability& shorter = prefix.parent->before;
        const T previous = prefix.label == prefix.parent->label ? shorter.blank : shorter.total;
        prefix.now.label = log_sum_exp(prefix.now.label, previous);
      }
      prefix.now.label += scores[prefix.label] - offset;
    }
    prefix.now.blank = prefix.before.total + scores[classes_ - 1] - offset;
    prefix.now.total = log_sum_exp(prefix.now.blank, prefix.now.label);
  }

  // The step adds a label.
  void grow(Prefix& prefix, int label, T log_probability) {
    const auto found = prefix.longer.find(label);
    Prefix* longer = found == prefix.longer.end() ? nullptr : found->second;
    if (longer != nullptr && longer->in_beam()) return;
    const T previous = label == prefix.label ? prefix.before.blank : prefix.before.total;
    const T total = log_probability + previous;
    if (!is_candidate(total)) return;
    if (longer == nullptr) {
      longer = &prefixes_.emplace_back();
      longer->parent = &prefix;
      longer->label = label;
      prefix.longer[label] = longer;
    }
    if (beam_.size() == width_) {
      std::pop_heap(beam_.begin(), beam_.end(), less_likely);
      beam_.back()->now = {};
      beam_.pop_back();
    }
    longer->now = {total, kLogZero<T>, total};
    insert(longer);
  }

  bool is_candidate(T total) const {
    return total > kLogZero<T> && (beam_.size() < width_ || total > beam_.front()->now.total);
  }

  void insert(Prefix* prefix) {
    beam_.push_back(prefix);
    std::push_heap(beam_.begin(), beam_.end(), less_likely);
  }

  std::vector<Prefix*> sorted() const {
    std::vector<Prefix*> all = beam_;
    std::stable_sort(all.begin(), all.end(), less_likely);
    return all;
  }

  static std::vector<int> labels_of(const Prefix& prefix, bool merge_repeated) {
    std::vector<int> labels;
    int next = -1;
    for (const Prefix* p = &prefix; p->parent != nullptr; p = p->parent) {
      if (!merge_repeated || p->label != next) labels.push_back(p->label);
      next = p->label;
    }
    std::reverse(labels.begin(), labels.end());
    return labels;
  }

  const int classes_;
  const std::size_t width_;
  std::deque<Prefix> prefixes_;  // all that were ever in the beam
  std::vector<Prefix*> beam_;    // a heap
};

}  // namespace caudal::inline v0
