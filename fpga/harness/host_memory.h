// The memory of the host as a design sees it: AXI4 to one address space for each function.
//
// 1. Reads are answered in the order of their requests, `read_cycles` after them; a word a cycle. As
//    over PCIe, a read does not pass earlier writes: they are in memory before it.
// 2. A write is in memory `write_cycles` after its last word was taken, in the order of the words;
//    then comes its response. So a host that sees a write sees all earlier ones.
// 3. A word that is not in the memory of its function is answered with DECERR, and changes nothing.
// 4. Memory may be shared with a process that runs meanwhile: aligned numbers are read and written
//    whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "queue.h"

namespace netkv {

constexpr uint64_t NO_EVENT = UINT64_MAX;

// The memory that a function may use.
class AddressSpace {
 public:
  void map(uint64_t address, uint8_t* bytes, uint64_t length) {
    regions_.push_back({address, length, bytes});
  }

  void clear() {
    regions_.clear();
    last_ = 0;
  }

  bool overlaps(uint64_t address, uint64_t length) const {
    return std::any_of(regions_.begin(), regions_.end(), [&](const Region& it) {
      return address < it.address + it.length && it.address < address + length;
    });
  }

  // Where `length` bytes are; null if they are not in one region.
  uint8_t* find(uint64_t address, uint64_t length) {
    for (size_t turn = 0; turn < regions_.size(); ++turn) {
      const size_t at = (last_ + turn) % regions_.size();
      const Region& it = regions_[at];
      if (address >= it.address && address - it.address < it.length &&
          length <= it.length - (address - it.address)) {
        last_ = at;
        return it.bytes + (address - it.address);
      }
    }
    return nullptr;
  }

 private:
  struct Region {
    uint64_t address;
    uint64_t length;
    uint8_t* bytes;
  };
  std::vector<Region> regions_;
  size_t last_ = 0;
};

// Copies `WORD` bytes from aligned memory, eight at a time.
template <uint32_t WORD>
void load_word(uint8_t* to, const uint8_t* from) {
  for (uint32_t at = 0; at < WORD; at += 8) {
    const uint64_t value =
        __atomic_load_n(reinterpret_cast<const uint64_t*>(from + at), __ATOMIC_RELAXED);
    std::memcpy(to + at, &value, 8);
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// Copies the bytes of a strobe to aligned memory, in the largest aligned pieces.
template <uint32_t WORD>
void store_word(uint8_t* to, const uint8_t* from, uint64_t strobe) {
  __atomic_thread_fence(__ATOMIC_RELEASE);
  const auto piece = [&]<typename Number>(uint32_t at, Number value) {
    std::memcpy(&value, from + at, sizeof value);
    __atomic_store_n(reinterpret_cast<Number*>(to + at), value, __ATOMIC_RELAXED);
  };
  for (uint32_t at = 0; at < WORD;) {
    const uint64_t rest = strobe >> at;
    if ((rest & 0xff) == 0xff && at % 8 == 0) {
      piece(at, uint64_t{});
      at += 8;
    } else if ((rest & 0xf) == 0xf && at % 4 == 0) {
      piece(at, uint32_t{});
      at += 4;
    } else if ((rest & 0x3) == 0x3 && at % 2 == 0) {
      piece(at, uint16_t{});
      at += 2;
    } else {
      if (rest & 1) piece(at, uint8_t{});
      ++at;
    }
  }
}

// The bus between a design and the memory.
template <typename Top, uint32_t FUNCTIONS, uint32_t WORD>
class HostBus {
 public:
  AddressSpace spaces[FUNCTIONS];
  uint64_t faults[FUNCTIONS] = {};  // words that were not in memory

  void set(uint64_t read_cycles, uint64_t write_cycles) {
    read_cycles_ = read_cycles;
    write_cycles_ = write_cycles;
  }

  void reset(Top& top) {
    reads_.clear();
    writes_.clear();
    words_.clear();
    answers_.clear();
    stored_ = accepted_;
    presents_ = false;
    top.m_axi_rvalid = top.m_axi_bvalid = 0;
    top.m_axi_arready = top.m_axi_awready = top.m_axi_wready = 0;
  }

  // Transactions that are under way.
  uint64_t pending() const { return reads_.size() + words_.size() + writes_.size() + answers_.size(); }

  // The first cycle at which the bus has something to do.
  uint64_t next() const {
    uint64_t first = NO_EVENT;
    if (!reads_.empty()) first = reads_.front().due;
    if (!words_.empty()) first = std::min(first, words_.front().due);
    if (!answers_.empty()) first = 0;
    return first;
  }

  // Sets the inputs of the design for this cycle. Returns a bit for each function whose memory the
  // design has changed.
  uint64_t drive(Top& top, uint64_t cycle) {
    uint64_t changed = 0;
    while (!words_.empty() && !writes_.empty() && words_.front().due <= cycle) {
      changed |= store(words_.pop());
      ++stored_;
    }
    // The memory may be a guest's, which runs meanwhile: it sees the writes before the next read.
    if (changed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    top.m_axi_bvalid = !answers_.empty();
    if (!answers_.empty()) {
      top.m_axi_bid = answers_.front().id;
      top.m_axi_bresp = answers_.front().response;
    }
    if (!presents_ && !reads_.empty() && reads_.front().due <= cycle &&
        reads_.front().writes <= stored_) {
      present(top);
    }
    top.m_axi_rvalid = presents_;
    top.m_axi_arready = reads_.size() < MAX_READS;
    top.m_axi_awready = writes_.size() < MAX_WRITES;
    top.m_axi_wready = words_.size() < MAX_WORDS;
    return changed;
  }

  // Takes what the design hands over in this cycle.
  void observe(Top& top, uint64_t cycle) {
    if (presents_ && top.m_axi_rready) {
      presents_ = false;
      Read& read = reads_.front();
      read.address += WORD;
      if (--read.words == 0) reads_.pop();
    }
    if (!answers_.empty() && top.m_axi_bvalid && top.m_axi_bready) answers_.pop();
    if (top.m_axi_arvalid && top.m_axi_arready) {
      reads_.push({checked(top.m_axi_araddr, top.m_axi_arlen, top.m_axi_aruser),
                   uint32_t{top.m_axi_arlen} + 1, top.m_axi_arid, top.m_axi_aruser,
                   cycle + 1 + read_cycles_, accepted_});
    }
    if (top.m_axi_awvalid && top.m_axi_awready) {
      writes_.push({checked(top.m_axi_awaddr, top.m_axi_awlen, top.m_axi_awuser),
                    uint32_t{top.m_axi_awlen} + 1, top.m_axi_awid, top.m_axi_awuser, 0});
    }
    if (top.m_axi_wvalid && top.m_axi_wready) {
      Word word;
      std::memcpy(word.bytes, &top.m_axi_wdata, WORD);
      std::memcpy(&word.strobe, &top.m_axi_wstrb, WORD / 8);
      word.last = top.m_axi_wlast;
      word.due = cycle + 1 + write_cycles_;
      words_.push(word);
      ++accepted_;
    }
  }

 private:
  static constexpr size_t MAX_READS = 64;
  static constexpr size_t MAX_WRITES = 64;
  static constexpr size_t MAX_WORDS = 1024;
  static constexpr uint8_t OKAY = 0;
  static constexpr uint8_t DECERR = 3;

  struct Read {
    uint64_t address;  // of the next word
    uint32_t words;    // left
    uint8_t id;
    uint8_t function;
    uint64_t due;
    uint64_t writes;   // words that were written before it
  };
  struct Write {
    uint64_t address;
    uint32_t words;
    uint8_t id;
    uint8_t function;
    uint8_t response;
  };
  struct Word {
    uint8_t bytes[WORD];
    uint64_t strobe = 0;
    uint64_t due = 0;
    bool last = false;
  };
  struct Answer {
    uint8_t id;
    uint8_t response;
  };

  // The aligned address of the first word; a burst that AXI forbids ends the design.
  uint64_t checked(uint64_t address, uint32_t length, uint32_t function) {
    address &= ~uint64_t{WORD - 1};
    if (function >= FUNCTIONS) {
      throw std::runtime_error("The design used the bus for function " + std::to_string(function) +
                               ", which it does not have.");
    }
    if ((address ^ (address + uint64_t{WORD} * length)) >> 12) {
      throw std::runtime_error("The design sent a burst that crosses a boundary of 4 KiB.");
    }
    return address;
  }

  void present(Top& top) {
    const Read& read = reads_.front();
    uint8_t bytes[WORD] = {};
    const uint8_t* found = spaces[read.function].find(read.address, WORD);
    if (found) {
      load_word<WORD>(bytes, found);
    } else {
      ++faults[read.function];
    }
    std::memcpy(&top.m_axi_rdata, bytes, WORD);
    top.m_axi_rid = read.id;
    top.m_axi_rresp = found ? OKAY : DECERR;
    top.m_axi_rlast = read.words == 1;
    presents_ = true;
  }

  uint64_t store(const Word& word) {
    Write& write = writes_.front();
    uint8_t* found = spaces[write.function].find(write.address, WORD);
    if (found) {
      store_word<WORD>(found, word.bytes, word.strobe);
    } else {
      ++faults[write.function];
      write.response = DECERR;
    }
    write.address += WORD;
    if ((--write.words == 0) != word.last) {
      throw std::runtime_error("The design ended a burst before or after its last word.");
    }
    const uint64_t changed = uint64_t{1} << write.function;
    if (word.last) {
      answers_.push({write.id, write.response});
      writes_.pop();
    }
    return changed;
  }

  uint64_t read_cycles_ = 0;
  uint64_t write_cycles_ = 0;
  Queue<Read> reads_;
  Queue<Write> writes_;
  Queue<Word> words_;
  Queue<Answer> answers_;
  uint64_t accepted_ = 0;  // words that the design has written
  uint64_t stored_ = 0;    // those that are in memory
  bool presents_ = false;  // a word of the first read is at the design's inputs
};

}  // namespace netkv
