// The built-in driver of a function: a host that sends and receives frames through virtqueues, as
// Linux's virtio-net driver does (virtio 1.2, sections 2.7, 3.1 and 5.1), without the costs of its
// software.
//
// 1. Each frame takes one descriptor, with the header of 12 bytes in front of it.
// 2. All free receive buffers are offered, some at a time (REFILL of them), each time with a
//    notification.
// 3. A frame is with the host when the used index that covers it is in memory. Interrupts are not
//    waited for; the transmit queue asks for none, as in Linux.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host_memory.h"
#include "mac.h"

namespace netkv {

namespace virtio {

// Registers of a function (BAR 0), and their values.
constexpr uint32_t DEVICE_FEATURE_SELECT = 0x00;
constexpr uint32_t DEVICE_FEATURE = 0x04;
constexpr uint32_t DRIVER_FEATURE_SELECT = 0x08;
constexpr uint32_t DRIVER_FEATURE = 0x0c;
constexpr uint32_t STATUS = 0x14;
constexpr uint32_t QUEUE_SELECT = 0x16;
constexpr uint32_t QUEUE_SIZE = 0x18;
constexpr uint32_t QUEUE_VECTOR = 0x1a;
constexpr uint32_t QUEUE_ENABLE = 0x1c;
constexpr uint32_t QUEUE_DESCRIPTORS = 0x20;
constexpr uint32_t QUEUE_AVAIL = 0x28;
constexpr uint32_t QUEUE_USED = 0x30;
constexpr uint32_t NOTIFY = 0x3000;
constexpr uint32_t NOTIFY_STRIDE = 4;

constexpr uint32_t ACKNOWLEDGE = 1;
constexpr uint32_t DRIVER = 2;
constexpr uint32_t DRIVER_OK = 4;
constexpr uint32_t FEATURES_OK = 8;
constexpr uint32_t NEEDS_RESET = 64;
constexpr uint32_t FEATURE_MAC = 1u << 5;
constexpr uint32_t FEATURE_VERSION_1 = 1u << 0;  // of the second 32 features

constexpr uint16_t NO_INTERRUPT = 1;
constexpr uint16_t NO_NOTIFY = 1;
constexpr uint16_t DEVICE_WRITES = 2;
constexpr uint32_t HEADER = 12;
constexpr uint32_t RECEIVE = 0;
constexpr uint32_t TRANSMIT = 1;

}  // namespace virtio

// One split virtqueue with a buffer for each descriptor.
class DriverQueue {
 public:
  // Places queue and buffers at an address of the host's memory.
  DriverQueue(uint32_t size, uint64_t address, uint8_t* bytes)
      : size_(size), address_(address), bytes_(bytes) {
    for (uint32_t at = 0; at < size; ++at) free_.push(static_cast<uint16_t>(at));
  }

  static constexpr uint32_t BUFFER = (virtio::HEADER + MAX_FRAME + 63) / 64 * 64;

  static uint64_t bytes(uint32_t size) { return BUFFERS + uint64_t{size} * BUFFER; }

  uint64_t descriptors() const { return address_; }
  uint64_t avail() const { return address_ + AVAIL; }
  uint64_t used() const { return address_ + USED; }

  size_t free() const { return free_.size(); }
  uint8_t* buffer(uint16_t at) { return bytes_ + BUFFERS + uint64_t{at} * BUFFER; }
  void set_avail_flags(uint16_t flags) { put<uint16_t>(AVAIL, flags); }
  bool wants_notifications() const { return !(get<uint16_t>(USED) & virtio::NO_NOTIFY); }

  // Takes a free buffer.
  uint16_t take() { return free_.pop(); }

  // Gives `length` bytes of a buffer to the device.
  void offer(uint16_t at, uint32_t length, uint16_t flags) {
    const uint32_t descriptor = 16 * at;
    put<uint64_t>(descriptor, address_ + BUFFERS + uint64_t{at} * BUFFER);
    put<uint32_t>(descriptor + 8, length);
    put<uint16_t>(descriptor + 12, flags);
    put<uint16_t>(descriptor + 14, 0);
    put<uint16_t>(AVAIL + 4 + 2 * (avail_ % size_), at);
    put<uint16_t>(AVAIL + 2, ++avail_);
  }

  // Calls `take` with buffer and length of each used descriptor, which is free afterwards.
  template <typename Take>
  void poll(Take&& take) {
    while (seen_ != get<uint16_t>(USED + 2)) {
      const uint32_t at = USED + 4 + 8 * (seen_ % size_);
      const auto id = get<uint32_t>(at);
      if (id >= size_ || static_cast<uint16_t>(avail_ - seen_) == 0) {
        throw std::runtime_error("The design has used a descriptor that it was not given.");
      }
      take(static_cast<uint16_t>(id), get<uint32_t>(at + 4));
      free_.push(static_cast<uint16_t>(id));
      ++seen_;
    }
  }

  uint32_t length(uint16_t at) const { return get<uint32_t>(16 * at + 8); }

  // Descriptors that the device has.
  uint32_t offered() const { return static_cast<uint16_t>(avail_ - seen_); }

 private:
  static constexpr uint32_t AVAIL = 0x1000;
  static constexpr uint32_t USED = 0x2000;
  static constexpr uint32_t BUFFERS = 0x4000;

  template <typename Number>
  void put(uint32_t offset, Number value) {
    std::memcpy(bytes_ + offset, &value, sizeof value);
  }

  template <typename Number>
  Number get(uint32_t offset) const {
    Number value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }

  uint32_t size_;
  uint64_t address_;
  uint8_t* bytes_;
  uint16_t avail_ = 0;
  uint16_t seen_ = 0;
  Queue<uint16_t> free_;
};

class VirtioDriver {
 public:
  static constexpr uint32_t QUEUE_LIMIT = 256;

  // Sets up the function, as a driver does that finds it. `read(offset, bytes)` and
  // `write(offset, bytes, value)` access its registers. Throws with a sentence if it refuses.
  template <typename Read, typename Write>
  void start(AddressSpace& space, Read&& read, Write&& write) {
    using namespace virtio;
    write(STATUS, 1, 0);
    wait_for_reset(read);
    write(STATUS, 1, ACKNOWLEDGE);
    write(STATUS, 1, ACKNOWLEDGE | DRIVER);
    const uint32_t wanted[] = {FEATURE_MAC, FEATURE_VERSION_1};
    for (uint32_t half = 0; half < 2; ++half) {
      write(DEVICE_FEATURE_SELECT, 4, half);
      const uint32_t offered = read(DEVICE_FEATURE, 4);
      write(DRIVER_FEATURE_SELECT, 4, half);
      write(DRIVER_FEATURE, 4, offered & wanted[half]);
    }
    write(STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK);
    if (!(read(STATUS, 1) & FEATURES_OK)) {
      throw std::runtime_error("A function of the design refuses the features of its driver.");
    }
    queues_.clear();
    space.clear();
    memory_.clear();
    for (uint32_t queue : {RECEIVE, TRANSMIT}) {
      write(QUEUE_SELECT, 2, queue);
      const uint32_t size = std::min(read(QUEUE_SIZE, 2), QUEUE_LIMIT);
      if (!size) throw std::runtime_error("A function of the design lacks a virtqueue.");
      write(QUEUE_SIZE, 2, size);
      const uint64_t length = (DriverQueue::bytes(size) + PAGE - 1) / PAGE * PAGE;
      const uint64_t address = (uint64_t{1} << 32) + queue * (uint64_t{1} << 28);
      // Zeroed by the system when it is first used, so that unused buffers cost nothing.
      auto* bytes = static_cast<uint8_t*>(std::calloc(length + PAGE, 1));
      if (!bytes) throw std::bad_alloc();
      memory_.emplace_back(bytes);
      uint8_t* aligned = bytes + (PAGE - reinterpret_cast<uintptr_t>(bytes) % PAGE) % PAGE;
      space.map(address, aligned, length);
      queues_.emplace_back(size, address, aligned);
      const std::pair<uint32_t, uint64_t> places[] = {
          {QUEUE_DESCRIPTORS, queues_[queue].descriptors()},
          {QUEUE_AVAIL, queues_[queue].avail()},
          {QUEUE_USED, queues_[queue].used()}};
      for (const auto& [offset, place] : places) {
        write(offset, 4, static_cast<uint32_t>(place));
        write(offset + 4, 4, static_cast<uint32_t>(place >> 32));
      }
      write(QUEUE_VECTOR, 2, queue + 1);
      write(QUEUE_ENABLE, 2, 1);
    }
    refill_ = std::max<size_t>(1, queues_[RECEIVE].free() / 8);
    queues_[TRANSMIT].set_avail_flags(NO_INTERRUPT);
    offer_buffers();
    write(STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    write(NOTIFY + NOTIFY_STRIDE * RECEIVE, 2, RECEIVE);
  }

  template <typename Read>
  static void wait_for_reset(Read&& read) {
    for (uint32_t turn = 0; read(virtio::STATUS, 1) != 0; ++turn) {
      if (turn > RESET_TURNS) {
        throw std::runtime_error("A function of the design does not complete its reset.");
      }
    }
  }

  // A frame that the host sends at its `cycle`, or when a buffer is free.
  void send(Frame frame) { waiting_.push(std::move(frame)); }

  size_t waiting() const { return waiting_.size(); }

  // Frames that wait, or that the device has not fetched whole.
  size_t pending() const { return waiting_.size() + (queues_.empty() ? 0 : sending()); }

  // The first cycle at which the driver has something to do.
  uint64_t next() const {
    if (waiting_.empty() || !queues_[virtio::TRANSMIT].free()) return NO_EVENT;
    return waiting_.front().cycle;
  }

  // Sends what is due. Returns whether the device must be notified.
  bool run(uint64_t cycle, Spares& spares) {
    DriverQueue& queue = queues_[virtio::TRANSMIT];
    bool sent = false;
    while (!waiting_.empty() && waiting_.front().cycle <= cycle && queue.free()) {
      Frame frame = waiting_.pop();
      const uint16_t at = queue.take();
      uint8_t* buffer = queue.buffer(at);
      std::memset(buffer, 0, virtio::HEADER);
      std::memcpy(buffer + virtio::HEADER, frame.bytes.get(), frame.length);
      queue.offer(at, virtio::HEADER + frame.length, 0);
      spares.give(std::move(frame));
      sent = true;
    }
    return sent && queue.wants_notifications();
  }

  // Looks at the used rings: calls `fetched(bytes)` for each frame that the device has fetched, and
  // `received(bytes, length)` for each that it has delivered; length 0: the device wrote none.
  // Returns whether the device must be notified of new receive buffers.
  template <typename Fetched, typename Received>
  bool poll(Fetched&& fetched, Received&& received) {
    if (queues_.empty()) return false;
    DriverQueue& sent = queues_[virtio::TRANSMIT];
    sent.poll([&](uint16_t at, uint32_t) { fetched(sent.length(at) - virtio::HEADER); });
    DriverQueue& queue = queues_[virtio::RECEIVE];
    queue.poll([&](uint16_t at, uint32_t length) {
      const bool whole = length >= virtio::HEADER && length <= DriverQueue::BUFFER;
      received(queue.buffer(at) + virtio::HEADER, whole ? length - virtio::HEADER : 0);
    });
    if (queue.free() < refill_) return false;
    offer_buffers();
    return queue.wants_notifications();
  }

  void drop_waiting(Spares& spares) {
    while (!waiting_.empty()) spares.give(waiting_.pop());
  }

 private:
  static constexpr uint64_t PAGE = 4096;
  static constexpr uint32_t RESET_TURNS = 100'000;

  struct Release {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };

  size_t sending() const { return queues_[virtio::TRANSMIT].offered(); }

  void offer_buffers() {
    DriverQueue& queue = queues_[virtio::RECEIVE];
    while (queue.free()) queue.offer(queue.take(), DriverQueue::BUFFER, virtio::DEVICE_WRITES);
  }

  std::vector<DriverQueue> queues_;
  std::vector<std::unique_ptr<uint8_t, Release>> memory_;
  Queue<Frame> waiting_;
  size_t refill_ = 1;
};

}  // namespace netkv
