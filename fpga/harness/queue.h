// A queue whose memory is reused: it allocates only while it grows.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace netkv {

template <typename T>
class Queue {
 public:
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }

  void push(T item) {
    if (count_ == items_.size()) grow();
    items_[(head_ + count_) & (items_.size() - 1)] = std::move(item);
    ++count_;
  }

  void clear() {
    while (!empty()) pop();
  }

  T pop() {
    T item = std::move(items_[head_]);
    head_ = (head_ + 1) & (items_.size() - 1);
    --count_;
    return item;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 16 : 2 * items_.size());
    for (size_t at = 0; at < count_; ++at) {
      larger[at] = std::move(items_[(head_ + at) & (items_.size() - 1)]);
    }
    items_.swap(larger);
    head_ = 0;
  }

  std::vector<T> items_;  // the size is a power of two
  size_t head_ = 0;
  size_t count_ = 0;
};

}  // namespace netkv
