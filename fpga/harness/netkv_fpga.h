/*
 * C interface of a design: a shared library that `netkv fpga build` makes of RTL.
 *
 * The library simulates the design cycle by cycle. It has no clock, thread or I/O of its own: the
 * caller queues frames at ports, runs cycles, and takes the frames that the design has sent.
 *
 * Each port has a MAC. It presents a received frame to the design when the last byte of the frame
 * has arrived, and transmits one frame while a second one waits. A port has a line rate, or none:
 * then frames take no time on the wire. A frame occupies the line for max(length, 60) + 24 bytes:
 * preamble (8), FCS (4) and inter-frame gap (12). Lengths are without FCS everywhere.
 *
 * A design may have virtio functions in place of a host port: network cards as a driver sees them,
 * with registers and virtqueues in the memory of the host. Each function is a port, after those of
 * the network. It has a built-in driver, which sends the frames of port_rx and receives those of
 * port_tx; or, after netkv_fpga_attach, the caller is the driver.
 *
 * Rules
 * 1. A function that can fail returns a code; NETKV_FPGA_OK is 0. The text of the last failure is
 *    netkv_fpga_error(). A failed call changes nothing, but for NETKV_FPGA_DESIGN.
 * 2. NETKV_FPGA_DESIGN: the design itself has failed (an assertion, $stop, $finish). It cannot run
 *    any more; reading and destroying it is allowed.
 * 3. A design is used by one thread at a time. Different designs are independent.
 * 4. Cycles count from 0 after the reset of creation. A later reset does not set the count back.
 */
#ifndef NETKV_FPGA_H
#define NETKV_FPGA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Version of this interface. A caller refuses a library that returns another one. */
#define NETKV_FPGA_ABI 2u

typedef struct netkv_fpga netkv_fpga;

enum {
  NETKV_FPGA_OK = 0,
  NETKV_FPGA_ARGUMENT = 1, /* an argument is wrong; the text says which */
  NETKV_FPGA_FULL = 2,     /* a queue of the host is full: run cycles, then try again */
  NETKV_FPGA_EMPTY = 3,    /* there is no frame */
  NETKV_FPGA_DESIGN = 4,   /* see rule 2 */
  NETKV_FPGA_TRACE = 5     /* the library has no tracing, or the file cannot be written */
};

typedef struct {
  uint32_t ports;          /* of the design; the host port or the functions are the last */
  uint32_t word_bytes;     /* bytes that cross a port in a cycle */
  uint32_t max_frame;      /* longest frame in bytes */
  uint32_t max_queued;     /* frames that port_rx queues at most, for each port */
  uint32_t can_trace;      /* 1: trace_open works */
  uint32_t functions;      /* virtio functions; port `ports - functions + f` is function f */
} netkv_fpga_description;

/* A frame that the design has sent. `bytes` is valid until the next call of netkv_fpga_port_tx for
 * this port. */
typedef struct {
  const uint8_t *bytes;
  uint32_t length;
  uint64_t first_cycle;    /* cycle in which the design handed over the first word */
  uint64_t cycle;          /* cycle in which the design handed over the last word */
  uint64_t wire_cycle;     /* cycle in which the last byte is on the wire; `cycle` without a rate */
} netkv_fpga_frame;

typedef struct {
  uint64_t rx_frames;      /* presented to the design, whole */
  uint64_t rx_bytes;
  uint64_t rx_drops;       /* arrived while the receive buffer was full */
  uint64_t tx_frames;      /* sent by the design */
  uint64_t tx_bytes;
  uint64_t tx_drops;       /* sent, but the host has not taken earlier frames */
  uint64_t tx_malformed;   /* sent with a length that does not fit the words; not delivered */
  uint64_t rx_stalls;      /* cycles in which a word waited for the design */
  uint64_t tx_stalls;      /* cycles in which a word waited for the line */
  uint64_t bus_faults;     /* words of host memory that the function may not use */
} netkv_fpga_port_counters;

/* Settings of a port. 0 in each field is the state after creation. */
typedef struct {
  uint32_t bits_per_1000_cycles; /* line rate; 0: frames take no time on the wire */
  uint32_t rx_frames;      /* frames in the receive buffer of the MAC; 0: 65536 */
  uint32_t tx_frames;      /* sent frames that wait for the host; 0: 65536 */
} netkv_fpga_port_settings;

/* Times of the bus between design and host. A new design has those of its manifest. */
typedef struct {
  uint32_t read_cycles;     /* from a read request to its first word */
  uint32_t write_cycles;    /* until a written word is in memory */
  uint32_t register_cycles; /* until a notification of a built-in driver reaches its function */
} netkv_fpga_bus_settings;

uint32_t netkv_fpga_abi(void);

/* A design that has been reset for 16 cycles, with all random values (memory models, registers without reset) drawn
 * from `seed`. NULL: it failed, and netkv_fpga_error(NULL) says why. */
netkv_fpga *netkv_fpga_create(uint32_t seed);
void netkv_fpga_destroy(netkv_fpga *design);

/* The text of the last failure of a function of this design, in UTF-8. NULL: of the last creation
 * that has failed in this thread. */
const char *netkv_fpga_error(const netkv_fpga *design);

int netkv_fpga_describe(netkv_fpga *design, netkv_fpga_description *out);

/* Holds `rst` for `cycles` cycles. Frames in queues are dropped, settings of ports remain. */
int netkv_fpga_reset(netkv_fpga *design, uint32_t cycles);

/* Changes settings for later frames. */
int netkv_fpga_port_set(netkv_fpga *design, uint32_t port, const netkv_fpga_port_settings *settings);

/* Queues a frame at the receive side of a port. Its first byte is on the wire at `not_before` or
 * later: after the frames that are queued already. The bytes are copied. `presented` (may be NULL)
 * gets the first cycle in which the MAC presents it, if the design has taken earlier frames. */
int netkv_fpga_port_rx(netkv_fpga *design, uint32_t port, const uint8_t *bytes, uint32_t length,
                       uint64_t not_before, uint64_t *presented);

/* The next frame that the design has sent at a port; NETKV_FPGA_EMPTY if there is none. */
int netkv_fpga_port_tx(netkv_fpga *design, uint32_t port, netkv_fpga_frame *out);

int netkv_fpga_port_count(netkv_fpga *design, uint32_t port, netkv_fpga_port_counters *out);

/* Runs cycles until `cycles` are done, or, with `until_frame`, until the cycle in which the design
 * has sent a whole frame at any port or interrupted a function of the caller's. `done` (may be NULL) gets the number of cycles that ran. */
int netkv_fpga_step(netkv_fpga *design, uint64_t cycles, int until_frame, uint64_t *done);

/* Cycles since creation. */
uint64_t netkv_fpga_cycle(const netkv_fpga *design);

/* Received frames that the design has not taken whole. */
uint64_t netkv_fpga_pending_rx(const netkv_fpga *design);

/* Sent frames that the host has not taken, and frames that the design is sending. */
uint64_t netkv_fpga_pending_tx(const netkv_fpga *design);

/* Bit p is 1 if a sent frame waits for the host at port p. */
uint64_t netkv_fpga_ready_tx(const netkv_fpga *design);

/* Accesses the register bus, which takes one cycle. */
int netkv_fpga_register_read(netkv_fpga *design, uint16_t address, uint32_t *value);
int netkv_fpga_register_write(netkv_fpga *design, uint16_t address, uint32_t value);

int netkv_fpga_bus_set(netkv_fpga *design, const netkv_fpga_bus_settings *settings);

/* The caller is the driver of a function from now on: the function is reset, its frames are dropped,
 * and it has no memory. Calls after the first one repeat the reset. */
int netkv_fpga_attach(netkv_fpga *design, uint32_t function);

/* Gives memory to an attached function, at an address of its own. It must stay valid until it is
 * cleared or the design is destroyed, and may be shared with other processes. Address, place and
 * length are multiples of the bytes of a word. */
int netkv_fpga_memory_map(netkv_fpga *design, uint32_t function, uint64_t address, void *bytes,
                          uint64_t length);
int netkv_fpga_memory_clear(netkv_fpga *design, uint32_t function);

/* Accesses 1, 2 or 4 bytes of the registers of an attached function, in one cycle. */
int netkv_fpga_function_read(netkv_fpga *design, uint32_t function, uint16_t offset, uint32_t bytes,
                             uint32_t *value);
int netkv_fpga_function_write(netkv_fpga *design, uint32_t function, uint16_t offset,
                              uint32_t bytes, uint32_t value);

/* Interrupts of attached functions since the last call. Bits of function f: 3f for its
 * configuration, 3f + 1 for the receive queue, 3f + 2 for the transmit queue. */
int netkv_fpga_interrupts(netkv_fpga *design, uint64_t *out);

/* Accesses of host memory and notifications that are under way. */
uint64_t netkv_fpga_pending_bus(const netkv_fpga *design);

/* Records all signals from now on in an FST file. A cycle is 10 time units. */
int netkv_fpga_trace_open(netkv_fpga *design, const char *path);
int netkv_fpga_trace_close(netkv_fpga *design);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
