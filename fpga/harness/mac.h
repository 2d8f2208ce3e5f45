// The MAC of a port: frames on the wire before and behind the design, and their times.
//
// Times on the wire are in units of 1/rate of a cycle, in which a bit takes 1000 units: so they are
// exact. Without a rate, frames take no time on the wire.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "netkv_fpga.h"
#include "queue.h"

namespace netkv {

constexpr uint32_t MIN_FRAME = 14;
constexpr uint32_t MAX_FRAME = 9216;
constexpr uint32_t MAX_QUEUED = 65536;
constexpr uint64_t NEVER = UINT64_MAX;

// The bytes of a frame, and times whose meaning depends on the queue.
struct Frame {
  std::unique_ptr<uint8_t[]> bytes;
  uint32_t capacity = 0;
  uint32_t length = 0;
  uint64_t first_cycle = 0;
  uint64_t cycle = 0;
  uint64_t wire_cycle = 0;
};

// Frames whose memory can be reused.
class Spares {
 public:
  // A frame with room for `capacity` bytes.
  Frame take(uint32_t capacity) {
    Frame frame;
    if (!frames_.empty()) {
      frame = std::move(frames_.back());
      frames_.pop_back();
    }
    if (frame.capacity < capacity) {
      // Sizes in powers of two: memory can be reused, and queues of short frames stay small.
      frame.capacity = std::max<uint32_t>(128, std::bit_ceil(capacity));
      frame.bytes.reset(new uint8_t[frame.capacity]);
    }
    return frame;
  }

  void give(Frame frame) {
    if (frame.bytes && frames_.size() < 4096) frames_.push_back(std::move(frame));
  }

 private:
  std::vector<Frame> frames_;
};

// One direction of a line.
class Line {
 public:
  static constexpr uint64_t PREAMBLE_AND_FCS = 12;
  static constexpr uint64_t GAP = 12;
  static constexpr uint64_t MIN_LENGTH = 60;

  void set_rate(uint64_t bits_per_1000_cycles, uint64_t cycle) {
    const uint64_t free_cycle = rate_ ? (free_ + rate_ - 1) / rate_ : 0;
    rate_ = bits_per_1000_cycles;
    free_ = (free_cycle > cycle ? free_cycle : cycle) * rate_;
  }

  // Forgets the frames that are on the line.
  void reset() { free_ = 0; }

  struct Times {
    uint64_t start;  // cycle of the first byte
    uint64_t end;    // first cycle after the last byte of FCS
  };

  // Puts a frame on the line, at `cycle` or as soon as the line is free.
  Times send(uint64_t cycle, uint32_t length) {
    if (!rate_) return {cycle, cycle};
    const uint64_t wanted = cycle * rate_;
    const uint64_t start = wanted > free_ ? wanted : free_;
    const uint64_t bytes = (length < MIN_LENGTH ? MIN_LENGTH : length) + PREAMBLE_AND_FCS;
    free_ = start + (bytes + GAP) * 8 * 1000;
    return {(start + rate_ - 1) / rate_, (start + bytes * 8 * 1000 + rate_ - 1) / rate_};
  }

 private:
  uint64_t rate_ = 0;
  uint64_t free_ = 0;  // when the line is free, in units
};

// The state of a port that does not depend on the design.
struct Mac {
  Line rx_line;
  Line tx_line;
  uint32_t rx_limit = MAX_QUEUED;
  uint32_t tx_limit = MAX_QUEUED;

  Queue<Frame> coming;    // on the wire; `cycle` is when they are whole
  Queue<Frame> received;  // in the receive buffer; the first one is presented
  uint64_t last_arrival = 0;
  uint32_t rx_word = 0;   // index of the presented word

  Frame sending;          // the words of a frame that the design is sending
  uint32_t tx_word = 0;
  bool tx_malformed = false;
  uint64_t tx_release = NEVER;  // when the MAC takes the next frame; NEVER: it does now

  Queue<Frame> sent;
  Frame taken;            // the frame that the host reads

  netkv_fpga_port_counters counters{};
};

}  // namespace netkv
