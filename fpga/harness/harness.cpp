// The interface of netkv_fpga.h around a design that Verilator has translated to class Vtop.
//
// NETKV_PORTS, NETKV_FUNCTIONS, NETKV_WORD_BYTES, NETKV_READ_CYCLES, NETKV_WRITE_CYCLES,
// NETKV_REGISTER_CYCLES and NETKV_TRACE are set by the build.

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "Vtop.h"
#include "functions.h"
#include "mac.h"
#include "netkv_fpga.h"
#include "verilated.h"
#if NETKV_TRACE
#include "verilated_fst_c.h"
#endif

namespace {

using netkv::Frame;
using netkv::Mac;
using netkv::MAX_FRAME;
using netkv::MAX_QUEUED;
using netkv::MIN_FRAME;
using netkv::NEVER;

constexpr uint32_t PORTS = NETKV_PORTS;
constexpr uint32_t FUNCTIONS = NETKV_FUNCTIONS;
constexpr uint32_t MACS = PORTS - FUNCTIONS;  // the first ports have MACs, the last are functions
constexpr uint32_t WORD = NETKV_WORD_BYTES;
constexpr uint64_t ALL_MACS = MACS == 64 ? UINT64_MAX : (uint64_t{1} << MACS) - 1;
constexpr uint32_t RESET_CYCLES = 16;

static_assert(std::endian::native == std::endian::little, "signals are bytes, the lowest first");
static_assert(2 <= PORTS && PORTS <= 64, "a design has 2 to 64 ports");
static_assert(FUNCTIONS < PORTS, "a design has a port to the network");
static_assert(WORD >= 8 && WORD % 8 == 0, "a word has a multiple of 8 bytes");
static_assert(sizeof(std::remove_reference_t<decltype(Vtop::rx_data)>) == MACS * WORD,
              "the ports or bytes of a word differ between manifest and module");
static_assert(sizeof(std::remove_reference_t<decltype(Vtop::tx_data)>) == MACS * WORD,
              "the ports or bytes of a word differ between manifest and module");

// Why the last creation of a design has failed.
thread_local std::string creation_error;

// What the design has printed last, for the text of a failure.
thread_local std::string printed;

// The design cannot go on.
struct DesignFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The caller cannot have what it wants.
struct Refusal {
  int code;
  std::string text;
};

[[noreturn]] void fail(const char* what, const char* file, int line) {
  std::string text = std::string("The design has stopped: ") + what;
  if (file && *file) text += " at " + std::string(file) + ":" + std::to_string(line);
  if (!printed.empty()) text += ": " + printed;
  throw DesignFailure(text + ".");
}

// Cycles that a design allows to skip, and skipping them: a design may have the ports for it.
template <typename Top>
uint64_t idle_cycles(const Top& top) {
  if constexpr (requires { top.skip, top.idle_cycles; }) return top.idle_cycles;
  return 0;
}

template <typename Top>
void set_skip(Top& top, uint64_t cycles) {
  if constexpr (requires { top.skip, top.idle_cycles; }) top.skip = static_cast<uint32_t>(cycles);
}

uint32_t words_of(uint32_t length) { return (length + WORD - 1) / WORD; }

}  // namespace

extern "C" int netkv_fpga_print(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fputs(text, stderr);
  printed = text;
  while (!printed.empty() && (printed.back() == '\n' || printed.back() == '.')) printed.pop_back();
  printed.erase(0, printed.rfind('\n') + 1);
  return length;
}

void vl_finish(const char* file, int line, const char*) { fail("$finish", file, line); }
void vl_stop(const char* file, int line, const char*) { fail("an assertion, or $stop", file, line); }
void vl_fatal(const char* file, int line, const char*, const char* text) { fail(text, file, line); }

struct netkv_fpga {
  // One access of a function's registers; a null `value` reads.
  struct Accessor {
    netkv_fpga& design;
    uint32_t operator()(uint32_t function, uint32_t offset, uint32_t bytes,
                        const uint32_t* value) const {
      return design.access(function, offset, bytes, value);
    }
  };

  explicit netkv_fpga(uint32_t seed) : top_(prepared(seed)) {
    rx_data_ = reinterpret_cast<uint8_t*>(&top_.rx_data);
    rx_length_ = reinterpret_cast<uint8_t*>(&top_.rx_meta_length);
    tx_data_ = reinterpret_cast<const uint8_t*>(&top_.tx_data);
    tx_length_ = reinterpret_cast<const uint8_t*>(&top_.tx_meta_length);
    top_.seed = seed;
    set_bus({NETKV_READ_CYCLES, NETKV_WRITE_CYCLES, NETKV_REGISTER_CYCLES});
    reset(RESET_CYCLES);
    cycle_ = 0;
  }

  ~netkv_fpga() {
    try {
      trace_close();
      top_.final();
    } catch (...) {
      // A design that has failed may fail again.
    }
  }

  void reset(uint32_t cycles) {
    for (Mac& mac : macs_) {
      while (!mac.coming.empty()) spares_.give(mac.coming.pop());
      while (!mac.received.empty()) spares_.give(mac.received.pop());
      while (!mac.sent.empty()) spares_.give(mac.sent.pop());
      mac.last_arrival = 0;
      mac.rx_word = mac.tx_word = 0;
      mac.tx_malformed = false;
      mac.tx_release = NEVER;
      mac.rx_line.reset();
      mac.tx_line.reset();
    }
    pending_rx_ = 0;
    ready_tx_ = 0;
    next_event_ = NEVER;
    rx_valid_ = 0;
    tx_ready_ = 0;
    apply();
    top_.reg_read = top_.reg_write = 0;
    functions_.reset(top_, spares_);
    top_.rst = 1;
    for (uint32_t at = 0; at < cycles; ++at) tick();
    top_.rst = 0;
    tx_ready_ = ALL_MACS;
    apply();
    functions_.start(accessor());
  }

  void set_bus(const netkv_fpga_bus_settings& settings) { functions_.set(settings); }

  void set(uint32_t port, const netkv_fpga_port_settings& settings) {
    if (settings.rx_frames > MAX_QUEUED || settings.tx_frames > MAX_QUEUED) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "A queue has at most " + std::to_string(MAX_QUEUED) +
                                             " frames."};
    }
    Mac& mac = at(port);
    if (port >= MACS && settings.bits_per_1000_cycles) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "Port " + std::to_string(port) +
                                             " is a virtio function; it has no line rate."};
    }
    mac.rx_line.set_rate(settings.bits_per_1000_cycles, cycle_);
    mac.tx_line.set_rate(settings.bits_per_1000_cycles, cycle_);
    mac.rx_limit = settings.rx_frames ? settings.rx_frames : MAX_QUEUED;
    mac.tx_limit = settings.tx_frames ? settings.tx_frames : MAX_QUEUED;
  }

  uint64_t receive(uint32_t port, const uint8_t* bytes, uint32_t length, uint64_t not_before) {
    Mac& mac = at(port);
    if (!bytes) throw Refusal{NETKV_FPGA_ARGUMENT, "The frame is a null pointer."};
    if (length < MIN_FRAME || length > MAX_FRAME) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "A frame of " + std::to_string(length) +
                                             " bytes is not possible; it has " +
                                             std::to_string(MIN_FRAME) + " to " +
                                             std::to_string(MAX_FRAME) + " bytes."};
    }
    if (not_before > (uint64_t{1} << 46)) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "Cycle " + std::to_string(not_before) +
                                             " is too late; the last one is 2^46."};
    }
    if (port >= MACS && functions_.attached(port - MACS)) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "Port " + std::to_string(port) +
                                             " has a driver of its own, which sends its frames."};
    }
    const uint64_t queued = port < MACS ? mac.coming.size() : functions_.queued(port - MACS);
    if (queued >= MAX_QUEUED) {
      throw Refusal{NETKV_FPGA_FULL, "Port " + std::to_string(port) + " has " +
                                         std::to_string(MAX_QUEUED) + " frames queued already."};
    }
    const uint32_t size = words_of(length) * WORD;
    Frame frame = spares_.take(size);
    std::memcpy(frame.bytes.get(), bytes, length);
    std::memset(frame.bytes.get() + length, 0, size - length);
    frame.length = length;
    const uint64_t start = not_before > cycle_ ? not_before : cycle_;
    if (port >= MACS) {
      frame.cycle = std::max(start, mac.last_arrival);
      mac.last_arrival = frame.cycle;
      const uint64_t notified = frame.cycle + functions_.notification_cycles();
      functions_.send(port - MACS, std::move(frame));
      ++pending_rx_;
      return notified;
    }
    frame.cycle = mac.rx_line.send(start, length).end;
    // Without a rate, a frame does not overtake an earlier one that starts later.
    if (frame.cycle < mac.last_arrival) frame.cycle = mac.last_arrival;
    mac.last_arrival = frame.cycle;
    const uint64_t presented = frame.cycle;
    if (presented < next_event_) next_event_ = presented;
    mac.coming.push(std::move(frame));
    ++pending_rx_;
    return presented;
  }

  void transmitted(uint32_t port, netkv_fpga_frame& out) {
    Mac& mac = at(port);
    if (mac.sent.empty()) {
      throw Refusal{NETKV_FPGA_EMPTY, "Port " + std::to_string(port) + " has sent no frame."};
    }
    spares_.give(std::move(mac.taken));
    mac.taken = mac.sent.pop();
    if (mac.sent.empty()) ready_tx_ &= ~(uint64_t{1} << port);
    const Frame& frame = mac.taken;
    out = {frame.bytes.get(), frame.length, frame.first_cycle, frame.cycle, frame.wire_cycle};
  }

  uint64_t step(uint64_t cycles, bool until_frame) {
    frame_sent_ = false;
    uint64_t done = 0;
    while (done < cycles) {
      done += tick(cycles - done);
      if (functions_.takes_configuration_change()) check_functions();
      if (until_frame && frame_sent_) break;
    }
    return done;
  }

  void attach(uint32_t function) {
    check(function);
    const uint64_t dropped = functions_.queued(function);
    functions_.attach(function, spares_, accessor());
    pending_rx_ -= dropped;
  }

  void map_memory(uint32_t function, uint64_t address, void* bytes, uint64_t length) {
    check_attached(function);
    if (!bytes) throw Refusal{NETKV_FPGA_ARGUMENT, "The memory is a null pointer."};
    const auto unaligned = (address | reinterpret_cast<uintptr_t>(bytes) | length) % WORD;
    if (!length || unaligned || address + (length - 1) < address) {
      throw Refusal{NETKV_FPGA_ARGUMENT,
                    "Address, place and length of a memory are multiples of " +
                        std::to_string(WORD) + ", and it ends within 64 bits."};
    }
    auto& space = functions_.space(function);
    if (space.overlaps(address, length)) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "The memory overlaps another one of this function."};
    }
    space.map(address, static_cast<uint8_t*>(bytes), length);
  }

  void clear_memory(uint32_t function) {
    check_attached(function);
    functions_.space(function).clear();
  }

  uint32_t function_access(uint32_t function, uint32_t offset, uint32_t bytes,
                           const uint32_t* value) {
    check_attached(function);
    if ((bytes != 1 && bytes != 2 && bytes != 4) || offset % bytes) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "An access has 1, 2 or 4 bytes at a multiple of them."};
    }
    return access(function, offset, bytes, value);
  }

  uint64_t interrupts() { return functions_.interrupts(); }
  uint64_t pending_bus() const { return functions_.pending_bus(); }
  uint64_t bus_faults(uint32_t port) const {
    return port < MACS ? 0 : functions_.faults(port - MACS);
  }

  uint32_t register_read(uint16_t address) {
    top_.reg_address = address;
    top_.reg_read = 1;
    tick();
    top_.reg_read = 0;
    return top_.reg_rdata;
  }

  void register_write(uint16_t address, uint32_t value) {
    top_.reg_address = address;
    top_.reg_wdata = value;
    top_.reg_write = 1;
    tick();
    top_.reg_write = 0;
  }

  void trace_open(const char* path) {
#if NETKV_TRACE
    if (!path) throw Refusal{NETKV_FPGA_ARGUMENT, "The path is a null pointer."};
    if (trace_) throw Refusal{NETKV_FPGA_TRACE, "The design is traced already."};
    // The writer ends the process if it cannot open the file, so try before.
    std::FILE* file = std::fopen(path, "wb");
    if (!file) {
      throw Refusal{NETKV_FPGA_TRACE, std::string(path) + " cannot be written: " +
                                          std::strerror(errno) + "."};
    }
    std::fclose(file);
    trace_ = std::make_unique<VerilatedFstC>();
    top_.trace(trace_.get(), 99);
    trace_->open(path);
#else
    (void)path;
    throw Refusal{NETKV_FPGA_TRACE, "This library was built without tracing."};
#endif
  }

  void trace_close() {
#if NETKV_TRACE
    if (trace_) {
      trace_->close();
      trace_.reset();
    }
#endif
  }

  Mac& at(uint32_t port) {
    if (port >= PORTS) {
      throw Refusal{NETKV_FPGA_ARGUMENT, "There is no port " + std::to_string(port) +
                                             "; the ports are 0 to " +
                                             std::to_string(PORTS - 1) + "."};
    }
    return macs_[port];
  }

  // Calls `work`; a code of netkv_fpga.h.
  template <typename Work>
  int guarded(bool needs_clock, Work&& work) {
    if (failed_ && needs_clock) return NETKV_FPGA_DESIGN;
    // Random numbers of the design come from the context of the thread.
    Verilated::threadContextp(&context_);
    try {
      work(*this);
      return NETKV_FPGA_OK;
    } catch (const Refusal& refusal) {
      error_ = refusal.text;
      return refusal.code;
    } catch (const std::bad_alloc&) {
      error_ = "There is not enough memory.";
      return NETKV_FPGA_FULL;
    } catch (const std::exception& failure) {
      error_ = failure.what();
    } catch (...) {
      error_ = "The design has stopped for an unknown reason.";
    }
    failed_ = true;
    return NETKV_FPGA_DESIGN;
  }

  uint64_t cycle() const { return cycle_; }
  uint64_t pending_rx() const { return pending_rx_; }
  uint64_t ready_tx() const { return ready_tx_; }
  const char* error() const { return error_.c_str(); }

  uint64_t pending_tx() const {
    uint64_t count = 0;
    for (const Mac& mac : macs_) count += mac.sent.size() + (mac.tx_word > 0);
    return count;
  }

 private:
  VerilatedContext* prepared(uint32_t seed) {
    printed.clear();
    context_.randReset(2);
    // 0 would draw the seed from the clock.
    context_.randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
    context_.fatalOnError(false);
#if NETKV_TRACE
    context_.traceEverOn(true);
#endif
    return &context_;
  }

  void check(uint32_t function) const {
    if (function < FUNCTIONS) return;
    throw Refusal{NETKV_FPGA_ARGUMENT, "There is no virtio function " + std::to_string(function) +
                                           "; the design has " + std::to_string(FUNCTIONS) + "."};
  }

  void check_attached(uint32_t function) const {
    check(function);
    if (functions_.attached(function)) return;
    throw Refusal{NETKV_FPGA_ARGUMENT, "Function " + std::to_string(function) +
                                           " has its built-in driver; attach to it first."};
  }

  uint32_t access(uint32_t function, uint32_t offset, uint32_t bytes, const uint32_t* value) {
    return functions_.access(top_, function, offset, bytes, value, [&] { tick(); });
  }

  Accessor accessor() { return {*this}; }

  // A function has interrupted its built-in driver because of its configuration.
  void check_functions() {
    for (uint32_t function = 0; function < FUNCTIONS; ++function) {
      if (functions_.attached(function)) continue;
      if (access(function, netkv::virtio::STATUS, 1, nullptr) & netkv::virtio::NEEDS_RESET) {
        throw DesignFailure("Function " + std::to_string(function) +
                            " of the design asks its driver for a reset.");
      }
    }
  }

  // One cycle: its inputs are set; what they lead to, then the clock edge, then new inputs.
  // If the design is idle, up to `limit` cycles. Returns the number of cycles.
  uint64_t tick(uint64_t limit = 1) {
    if (cycle_ >= next_event_) events();
    // Outputs may be anything until the reset has reached them.
    const bool has_host = FUNCTIONS > 0 && !top_.rst;
    if (has_host) drive_functions();
    const uint64_t passed = passing(limit);
    set_skip(top_, passed - 1);
    top_.clk = 0;
    top_.eval();
    dump(0);
    const uint64_t ready = top_.rx_ready;
    const uint64_t valid = top_.tx_valid;
    const uint64_t accepted = rx_valid_ & ready;
    if (const uint64_t stalled = rx_valid_ & ~ready) {
      for_each(stalled, [&](uint32_t port) { ++macs_[port].counters.rx_stalls; });
    }
    if (const uint64_t waiting = valid & ~tx_ready_) {
      for_each(waiting, [&](uint32_t port) { ++macs_[port].counters.tx_stalls; });
    }
    if (has_host && functions_.observe(top_, cycle_)) frame_sent_ = true;
    const uint64_t ready_before = tx_ready_;
    for_each(valid & tx_ready_, [&](uint32_t port) { take_word(port); });
    top_.clk = 1;
    top_.eval();
    dump(5);
    cycle_ += passed;
    context_.timeInc(passed);
    if (accepted) {
      for_each(accepted, [&](uint32_t port) { next_word(port); });
      apply();
    } else if (tx_ready_ != ready_before) {
      apply();
    }
    return passed;
  }

  // Cycles until the design or a MAC has something to do: at least 1, at most `limit`.
  uint64_t passing(uint64_t limit) const {
#if NETKV_TRACE
    if (trace_) return 1;
#endif
    if (limit <= 1 || rx_valid_ || functions_.gives(top_)) return 1;
    const uint64_t next = std::min(next_event_, functions_.next());
    return next <= cycle_ ? 1 : std::min({limit, next - cycle_, 1 + idle_cycles(top_)});
  }

  template <typename Work>
  static void for_each(uint64_t ports, Work&& work) {
    for (; ports; ports &= ports - 1) work(static_cast<uint32_t>(std::countr_zero(ports)));
  }

  void dump([[maybe_unused]] uint64_t offset) {
#if NETKV_TRACE
    if (trace_) trace_->dump(10 * cycle_ + offset);
#endif
  }

  void apply() {
    top_.rx_valid = static_cast<std::remove_reference_t<decltype(top_.rx_valid)>>(rx_valid_);
    top_.rx_last = static_cast<std::remove_reference_t<decltype(top_.rx_last)>>(rx_last_);
    top_.tx_ready = static_cast<std::remove_reference_t<decltype(top_.tx_ready)>>(tx_ready_);
  }

  // Frames that are whole now go to receive buffers; lines that are free now take frames.
  void events() {
    next_event_ = NEVER;
    for (uint32_t port = 0; port < MACS; ++port) {
      Mac& mac = macs_[port];
      while (!mac.coming.empty() && mac.coming.front().cycle <= cycle_) {
        Frame frame = mac.coming.pop();
        if (mac.received.size() >= mac.rx_limit) {
          ++mac.counters.rx_drops;
          --pending_rx_;
          spares_.give(std::move(frame));
          continue;
        }
        mac.received.push(std::move(frame));
        if (mac.received.size() == 1) {
          mac.rx_word = 0;
          present(port);
        }
      }
      if (!mac.coming.empty()) next_event_ = std::min(next_event_, mac.coming.front().cycle);
      if (mac.tx_release <= cycle_) {
        mac.tx_release = NEVER;
        tx_ready_ |= uint64_t{1} << port;
      }
      next_event_ = std::min(next_event_, mac.tx_release);
    }
    apply();
  }

  void drive_functions() {
    functions_.drive(
        top_, cycle_, spares_,
        [&](uint32_t function, uint32_t bytes) {
          ++macs_[MACS + function].counters.rx_frames;
          macs_[MACS + function].counters.rx_bytes += bytes;
          --pending_rx_;
        },
        [&](uint32_t function, const uint8_t* bytes, uint32_t length) {
          deliver(MACS + function, bytes, length);
        });
  }

  // A frame has reached the host through a function.
  void deliver(uint32_t port, const uint8_t* bytes, uint32_t length) {
    Mac& mac = macs_[port];
    if (length < MIN_FRAME || length > MAX_FRAME) {
      ++mac.counters.tx_malformed;
      return;
    }
    if (mac.sent.size() >= mac.tx_limit) {
      ++mac.counters.tx_drops;
      return;
    }
    Frame frame = spares_.take(length);
    std::memcpy(frame.bytes.get(), bytes, length);
    frame.length = length;
    frame.first_cycle = frame.cycle = frame.wire_cycle = cycle_;
    ++mac.counters.tx_frames;
    mac.counters.tx_bytes += length;
    mac.sent.push(std::move(frame));
    ready_tx_ |= uint64_t{1} << port;
    frame_sent_ = true;
  }

  // Sets the inputs of a port to the present word of its first received frame.
  void present(uint32_t port) {
    const Mac& mac = macs_[port];
    const Frame& frame = mac.received.front();
    const uint64_t bit = uint64_t{1} << port;
    const uint32_t offset = mac.rx_word * WORD;
    std::memcpy(rx_data_ + port * WORD, frame.bytes.get() + offset, WORD);
    if (mac.rx_word == 0) {
      const auto length = static_cast<uint16_t>(frame.length);
      std::memcpy(rx_length_ + port * sizeof length, &length, sizeof length);
    }
    rx_valid_ |= bit;
    rx_last_ = offset + WORD >= frame.length ? rx_last_ | bit : rx_last_ & ~bit;
  }

  // The design has taken the presented word.
  void next_word(uint32_t port) {
    Mac& mac = macs_[port];
    if (++mac.rx_word < words_of(mac.received.front().length)) {
      present(port);
      return;
    }
    Frame frame = mac.received.pop();
    ++mac.counters.rx_frames;
    mac.counters.rx_bytes += frame.length;
    --pending_rx_;
    spares_.give(std::move(frame));
    mac.rx_word = 0;
    if (mac.received.empty()) {
      rx_valid_ &= ~(uint64_t{1} << port);
    } else {
      present(port);
    }
  }

  // The design hands over a word of a frame.
  void take_word(uint32_t port) {
    Mac& mac = macs_[port];
    if (mac.tx_word == 0) {
      uint16_t length;
      std::memcpy(&length, tx_length_ + port * sizeof length, sizeof length);
      mac.tx_malformed = length < MIN_FRAME || length > MAX_FRAME;
      mac.sending = spares_.take(mac.tx_malformed ? WORD : words_of(length) * WORD);
      mac.sending.length = length;
      mac.sending.first_cycle = cycle_;
    }
    if (mac.tx_word >= words_of(mac.sending.length)) mac.tx_malformed = true;
    if (!mac.tx_malformed) {
      std::memcpy(mac.sending.bytes.get() + mac.tx_word * WORD, tx_data_ + port * WORD, WORD);
    }
    ++mac.tx_word;
    const uint64_t last = top_.tx_last;
    if (last >> port & 1) finish_frame(port);
  }

  void finish_frame(uint32_t port) {
    Mac& mac = macs_[port];
    Frame frame = std::move(mac.sending);
    const bool whole = !mac.tx_malformed && mac.tx_word == words_of(frame.length);
    mac.tx_word = 0;
    if (!whole) {
      ++mac.counters.tx_malformed;
      spares_.give(std::move(frame));
      return;
    }
    frame.cycle = cycle_;
    const auto [start, end] = mac.tx_line.send(cycle_, frame.length);
    frame.wire_cycle = end;
    // A frame waits for the line, so the MAC takes no other before it is on the line.
    if (start > cycle_ + 1) {
      mac.tx_release = start;
      next_event_ = std::min(next_event_, start);
      tx_ready_ &= ~(uint64_t{1} << port);
    }
    if (mac.sent.size() >= mac.tx_limit) {
      ++mac.counters.tx_drops;
      spares_.give(std::move(frame));
      return;
    }
    ++mac.counters.tx_frames;
    mac.counters.tx_bytes += frame.length;
    mac.sent.push(std::move(frame));
    ready_tx_ |= uint64_t{1} << port;
    frame_sent_ = true;
  }

  VerilatedContext context_;
  Vtop top_;
  uint8_t* rx_data_;
  uint8_t* rx_length_;
  const uint8_t* tx_data_;
  const uint8_t* tx_length_;

  uint64_t cycle_ = 0;
  uint64_t next_event_ = NEVER;  // first cycle in which a MAC has something to do
  uint64_t rx_valid_ = 0;        // a bit for each port, as the inputs of the design
  uint64_t rx_last_ = 0;
  uint64_t tx_ready_ = 0;
  uint64_t ready_tx_ = 0;
  uint64_t pending_rx_ = 0;
  bool frame_sent_ = false;
  bool failed_ = false;
  Mac macs_[PORTS];
  netkv::Spares spares_;
  netkv::Functions<Vtop, FUNCTIONS, WORD> functions_;
  std::string error_;
#if NETKV_TRACE
  std::unique_ptr<VerilatedFstC> trace_;
#endif
};

namespace {

int null_pointer() { return NETKV_FPGA_ARGUMENT; }

}  // namespace

extern "C" {

uint32_t netkv_fpga_abi(void) { return NETKV_FPGA_ABI; }

netkv_fpga* netkv_fpga_create(uint32_t seed) {
  try {
    return new netkv_fpga(seed);
  } catch (const std::bad_alloc&) {
    creation_error = "There is not enough memory.";
  } catch (const std::exception& failure) {
    creation_error = failure.what();
  } catch (...) {
    creation_error = "The design has failed for an unknown reason.";
  }
  return nullptr;
}

void netkv_fpga_destroy(netkv_fpga* design) { delete design; }

const char* netkv_fpga_error(const netkv_fpga* design) {
  return design ? design->error() : creation_error.c_str();
}

int netkv_fpga_describe(netkv_fpga* design, netkv_fpga_description* out) {
  if (!design || !out) return null_pointer();
  *out = {PORTS, WORD, MAX_FRAME, MAX_QUEUED, NETKV_TRACE, FUNCTIONS};
  return NETKV_FPGA_OK;
}

int netkv_fpga_reset(netkv_fpga* design, uint32_t cycles) {
  if (!design) return null_pointer();
  return design->guarded(true, [&](netkv_fpga& it) { it.reset(cycles); });
}

int netkv_fpga_port_set(netkv_fpga* design, uint32_t port,
                        const netkv_fpga_port_settings* settings) {
  if (!design || !settings) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) { it.set(port, *settings); });
}

int netkv_fpga_port_rx(netkv_fpga* design, uint32_t port, const uint8_t* bytes, uint32_t length,
                       uint64_t not_before, uint64_t* presented) {
  if (!design) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) {
    const uint64_t cycle = it.receive(port, bytes, length, not_before);
    if (presented) *presented = cycle;
  });
}

int netkv_fpga_port_tx(netkv_fpga* design, uint32_t port, netkv_fpga_frame* out) {
  if (!design || !out) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) { it.transmitted(port, *out); });
}

int netkv_fpga_port_count(netkv_fpga* design, uint32_t port, netkv_fpga_port_counters* out) {
  if (!design || !out) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) {
    *out = it.at(port).counters;
    out->bus_faults = it.bus_faults(port);
  });
}

int netkv_fpga_step(netkv_fpga* design, uint64_t cycles, int until_frame, uint64_t* done) {
  if (!design) return null_pointer();
  const uint64_t before = design->cycle();
  const int code =
      design->guarded(true, [&](netkv_fpga& it) { it.step(cycles, until_frame != 0); });
  if (done) *done = design->cycle() - before;
  return code;
}

uint64_t netkv_fpga_cycle(const netkv_fpga* design) { return design ? design->cycle() : 0; }

uint64_t netkv_fpga_pending_rx(const netkv_fpga* design) {
  return design ? design->pending_rx() : 0;
}

uint64_t netkv_fpga_pending_tx(const netkv_fpga* design) {
  return design ? design->pending_tx() : 0;
}

uint64_t netkv_fpga_ready_tx(const netkv_fpga* design) { return design ? design->ready_tx() : 0; }

int netkv_fpga_register_read(netkv_fpga* design, uint16_t address, uint32_t* value) {
  if (!design || !value) return null_pointer();
  return design->guarded(true, [&](netkv_fpga& it) { *value = it.register_read(address); });
}

int netkv_fpga_register_write(netkv_fpga* design, uint16_t address, uint32_t value) {
  if (!design) return null_pointer();
  return design->guarded(true, [&](netkv_fpga& it) { it.register_write(address, value); });
}

int netkv_fpga_bus_set(netkv_fpga* design, const netkv_fpga_bus_settings* settings) {
  if (!design || !settings) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) { it.set_bus(*settings); });
}

int netkv_fpga_attach(netkv_fpga* design, uint32_t function) {
  if (!design) return null_pointer();
  return design->guarded(true, [&](netkv_fpga& it) { it.attach(function); });
}

int netkv_fpga_memory_map(netkv_fpga* design, uint32_t function, uint64_t address, void* bytes,
                          uint64_t length) {
  if (!design) return null_pointer();
  return design->guarded(
      false, [&](netkv_fpga& it) { it.map_memory(function, address, bytes, length); });
}

int netkv_fpga_memory_clear(netkv_fpga* design, uint32_t function) {
  if (!design) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) { it.clear_memory(function); });
}

int netkv_fpga_function_read(netkv_fpga* design, uint32_t function, uint16_t offset, uint32_t bytes,
                             uint32_t* value) {
  if (!design || !value) return null_pointer();
  return design->guarded(true, [&](netkv_fpga& it) {
    *value = it.function_access(function, offset, bytes, nullptr);
  });
}

int netkv_fpga_function_write(netkv_fpga* design, uint32_t function, uint16_t offset,
                              uint32_t bytes, uint32_t value) {
  if (!design) return null_pointer();
  return design->guarded(
      true, [&](netkv_fpga& it) { it.function_access(function, offset, bytes, &value); });
}

int netkv_fpga_interrupts(netkv_fpga* design, uint64_t* out) {
  if (!design || !out) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) { *out = it.interrupts(); });
}

uint64_t netkv_fpga_pending_bus(const netkv_fpga* design) {
  return design ? design->pending_bus() : 0;
}

int netkv_fpga_trace_open(netkv_fpga* design, const char* path) {
  if (!design) return null_pointer();
  return design->guarded(true, [&](netkv_fpga& it) { it.trace_open(path); });
}

int netkv_fpga_trace_close(netkv_fpga* design) {
  if (!design) return null_pointer();
  return design->guarded(false, [&](netkv_fpga& it) { it.trace_close(); });
}

}  // extern "C"
