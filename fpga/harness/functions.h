// The virtio functions of a design: their memory, registers, interrupts and drivers.
//
// Each function has the built-in driver (virtio_driver.h) or, after `attach`, one of the caller's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "host_memory.h"
#include "mac.h"
#include "netkv_fpga.h"
#include "virtio_driver.h"

namespace netkv {

template <typename Top, uint32_t COUNT, uint32_t WORD>
class Functions {
 public:
  static constexpr uint64_t CAUSES = 3;  // interrupts of a function: configuration, receive, transmit
  static_assert(COUNT <= 8, "a design has at most 8 functions");
  static_assert(WORD <= 64, "a design with functions has words of at most 64 bytes");
  static_assert(sizeof(std::remove_reference_t<decltype(Top::m_axi_rdata)>) == WORD,
                "the words of the bus and of the ports differ");

  void set(const netkv_fpga_bus_settings& settings) {
    bus_.set(settings.read_cycles, settings.write_cycles);
    register_cycles_ = settings.register_cycles;
  }

  // Forgets what is under way; `start` must follow.
  void reset(Top& top, Spares& spares) {
    bus_.reset(top);
    top.bar_read = top.bar_write = 0;
    doorbells_.clear();
    rung_ = raised_ = 0;
    changed_ = false;
    for (VirtioDriver& driver : drivers_) driver.drop_waiting(spares);
    for (uint64_t& queued : queued_) queued = 0;
  }

  // Starts the built-in drivers. `access(function, offset, bytes, value)` is one access of
  // registers; a null `value` reads.
  template <typename Access>
  void start(Access&& access) {
    for (uint32_t function = 0; function < COUNT; ++function) {
      if (attached(function)) continue;
      drivers_[function].start(
          bus_.spaces[function],
          [&](uint32_t offset, uint32_t bytes) { return access(function, offset, bytes, nullptr); },
          [&](uint32_t offset, uint32_t bytes, uint32_t value) {
            access(function, offset, bytes, &value);
          });
    }
  }

  // The caller is the driver of a function from now on.
  template <typename Access>
  void attach(uint32_t function, Spares& spares, Access&& access) {
    attached_ |= uint32_t{1} << function;
    access(function, virtio::STATUS, 1, &ZERO);
    VirtioDriver::wait_for_reset(
        [&](uint32_t offset, uint32_t bytes) { return access(function, offset, bytes, nullptr); });
    drivers_[function].drop_waiting(spares);
    drivers_[function] = VirtioDriver();
    queued_[function] = 0;
    bus_.spaces[function].clear();
    raised_ &= ~(ALL_CAUSES << CAUSES * function);
  }

  bool attached(uint32_t function) const { return attached_ >> function & 1; }
  AddressSpace& space(uint32_t function) { return bus_.spaces[function]; }
  uint64_t faults(uint32_t function) const { return bus_.faults[function]; }
  uint64_t pending_bus() const { return bus_.pending() + doorbells_.size(); }

  // Frames of the host that the device has not fetched.
  uint64_t queued(uint32_t function) const { return queued_[function]; }

  void send(uint32_t function, Frame frame) {
    ++queued_[function];
    drivers_[function].send(std::move(frame));
  }

  // Cycles from a frame of the host to the notification of the device.
  uint64_t notification_cycles() const { return register_cycles_; }

  // Interrupts of attached functions since the last call.
  uint64_t interrupts() { return std::exchange(raised_, 0); }

  // Whether a function has told its built-in driver that its configuration has changed.
  bool takes_configuration_change() { return std::exchange(changed_, false); }

  uint64_t next() const {
    uint64_t first = bus_.next();
    if (!doorbells_.empty()) first = std::min(first, doorbells_.front().due);
    for (const VirtioDriver& driver : drivers_) first = std::min(first, driver.next());
    return first;
  }

  // Whether the design gets something in this cycle, after `drive`.
  static bool gives(const Top& top) {
    return top.bar_write || top.bar_read || top.m_axi_rvalid || top.m_axi_bvalid;
  }

  // Sets the inputs of the design for this cycle. `fetched(function, bytes)` hears of frames that
  // the device has fetched, `received(function, bytes, length)` of those that it has delivered.
  template <typename Fetched, typename Received>
  void drive(Top& top, uint64_t cycle, Spares& spares, Fetched&& fetched, Received&& received) {
    const uint64_t written = bus_.drive(top, cycle) & ~attached_;
    for (uint32_t function = 0; function < COUNT; ++function) {
      VirtioDriver& driver = drivers_[function];
      if (written >> function & 1) {
        const bool refilled = driver.poll(
            [&](uint32_t bytes) {
              --queued_[function];
              fetched(function, bytes);
            },
            [&](const uint8_t* bytes, uint32_t length) { received(function, bytes, length); });
        if (refilled) ring(function, virtio::RECEIVE, cycle);
      }
      if (driver.next() <= cycle && driver.run(cycle, spares)) {
        ring(function, virtio::TRANSMIT, cycle);
      }
    }
    if (accesses_) return;
    top.bar_write = 0;
    if (!doorbells_.empty() && doorbells_.front().due <= cycle) {
      const Doorbell bell = doorbells_.pop();
      rung_ &= ~bit(bell.function, bell.queue);
      set_inputs(top, bell.function, virtio::NOTIFY + virtio::NOTIFY_STRIDE * bell.queue, 2,
                 &bell.queue);
    }
  }

  // Takes what the design hands over in this cycle. Returns whether it has interrupted a function
  // of the caller's.
  bool observe(Top& top, uint64_t cycle) {
    bus_.observe(top, cycle);
    if (!top.irq) return false;
    uint64_t mine = 0;
    for (uint32_t function = 0; function < COUNT; ++function) {
      const uint64_t causes = top.irq >> CAUSES * function & ALL_CAUSES;
      if (attached(function)) {
        mine |= causes << CAUSES * function;
      } else if (causes & 1) {
        changed_ = true;
      }
    }
    raised_ |= mine;
    return mine != 0;
  }

  // One access of a function's registers; a null `value` reads. `tick` runs a cycle.
  template <typename Tick>
  uint32_t access(Top& top, uint32_t function, uint32_t offset, uint32_t bytes,
                  const uint32_t* value, Tick&& tick) {
    set_inputs(top, function, offset, bytes, value);
    accesses_ = true;
    tick();
    accesses_ = false;
    top.bar_read = top.bar_write = 0;
    const uint32_t word = top.bar_rdata >> 8 * (offset & 3);
    return bytes == 4 ? word : word & ((1u << 8 * bytes) - 1);
  }

 private:
  static constexpr uint64_t ALL_CAUSES = (1 << CAUSES) - 1;
  static constexpr uint32_t ZERO = 0;

  struct Doorbell {
    uint64_t due;
    uint32_t function;
    uint32_t queue;
  };

  static void set_inputs(Top& top, uint32_t function, uint32_t offset, uint32_t bytes,
                         const uint32_t* value) {
    top.bar_function = function;
    top.bar_address = offset & ~3u;
    top.bar_strobe = ((1u << bytes) - 1) << (offset & 3);
    top.bar_wdata = value ? *value << 8 * (offset & 3) : 0;
    top.bar_write = value != nullptr;
    top.bar_read = value == nullptr;
  }

  static uint32_t bit(uint32_t function, uint32_t queue) { return 1u << (2 * function + queue); }

  // Notifies the device; a notification that is under way already serves as well.
  void ring(uint32_t function, uint32_t queue, uint64_t cycle) {
    if (rung_ & bit(function, queue)) return;
    rung_ |= bit(function, queue);
    doorbells_.push({cycle + register_cycles_, function, queue});
  }

  HostBus<Top, COUNT, WORD> bus_;
  VirtioDriver drivers_[COUNT];
  uint64_t queued_[COUNT] = {};
  Queue<Doorbell> doorbells_;
  uint64_t register_cycles_ = 0;
  uint64_t raised_ = 0;
  uint32_t rung_ = 0;
  uint32_t attached_ = 0;
  bool changed_ = false;
  bool accesses_ = false;  // the inputs of the register bus are those of `access`
};

// A design without functions.
template <typename Top, uint32_t WORD>
class Functions<Top, 0, WORD> {
 public:
  void set(const netkv_fpga_bus_settings&) {}
  void reset(Top&, Spares&) {}
  template <typename Access>
  void start(Access&&) {}
  template <typename Access>
  void attach(uint32_t, Spares&, Access&&) {}
  bool attached(uint32_t) const { return false; }
  AddressSpace& space(uint32_t) { return none_; }
  uint64_t faults(uint32_t) const { return 0; }
  uint64_t pending_bus() const { return 0; }
  uint64_t queued(uint32_t) const { return 0; }
  void send(uint32_t, Frame) {}
  uint64_t notification_cycles() const { return 0; }
  uint64_t interrupts() { return 0; }
  bool takes_configuration_change() { return false; }
  uint64_t next() const { return NO_EVENT; }
  static bool gives(const Top&) { return false; }
  template <typename Fetched, typename Received>
  void drive(Top&, uint64_t, Spares&, Fetched&&, Received&&) {}
  bool observe(Top&, uint64_t) { return false; }
  template <typename Tick>
  uint32_t access(Top&, uint32_t, uint32_t, uint32_t, const uint32_t*, Tick&&) {
    return 0;
  }

 private:
  AddressSpace none_;
};

}  // namespace netkv
