// Constants and types of virtio network functions (virtio 1.2).
package virtio_pkg;
  localparam int HEADER_BYTES = 12;  // struct virtio_net_hdr with num_buffers
  localparam int MIN_FRAME_BYTES = 14;
  localparam int MAX_FRAME_BYTES = 9216;
  localparam int BURST_BYTES = 1024;  // a burst ends at a multiple of it, so never crosses 4 KiB

  localparam int QUEUES = 2;
  localparam int RECEIVE = 0;   // queue numbers
  localparam int TRANSMIT = 1;

  localparam logic [15:0] NO_VECTOR = 16'hffff;

  // Feature bits that a function offers.
  localparam int FEATURE_MAC = 5;
  localparam int FEATURE_STATUS = 16;
  localparam int FEATURE_VERSION_1 = 32;

  // Bits of device_status.
  localparam int STATUS_DRIVER_OK = 2;
  localparam int STATUS_FEATURES_OK = 3;
  localparam int STATUS_NEEDS_RESET = 6;

  // Flags of a descriptor.
  localparam int FLAG_NEXT = 0;
  localparam int FLAG_WRITE = 1;
  localparam int FLAG_INDIRECT = 2;

  // What a driver has set up for a queue.
  typedef struct packed {
    logic [63:0] desc;    // address of the descriptor table
    logic [63:0] driver;  // address of the available ring
    logic [63:0] device;  // address of the used ring
    logic [15:0] size;    // entries; a power of two
    logic [15:0] start;   // index of the first entry
  } queue_t;

  // A descriptor of a chain.
  typedef struct packed {
    logic [15:0] head;    // of the chain
    logic        last;    // of the chain
    logic        write;   // the device writes the buffer
    logic        bad;     // an indirect table, which was not negotiated
    logic [31:0] length;
    logic [63:0] address;
  } piece_t;

  // An element of the used ring.
  typedef struct packed {
    logic [31:0] length;  // bytes that were written
    logic [15:0] head;
  } used_t;
  localparam int USED_BITS = 48;

  // What the write that a response belongs to was for.
  typedef enum logic [1:0] {
    WRITE_FRAME,
    WRITE_ELEMENT,  // of the used ring
    WRITE_INDEX     // of the used ring
  } write_kind_t;

  // Counters of a function. Transmit: frames from the driver; receive: frames for the driver.
  typedef struct packed {
    logic [31:0] tx_frames;
    logic [63:0] tx_bytes;
    logic [31:0] tx_dropped;     // frames that were taken but not sent
    logic [31:0] tx_bad_chains;  // chains that could not be used
    logic [31:0] rx_frames;
    logic [63:0] rx_bytes;
    logic [31:0] rx_dropped;     // frames without a usable buffer or without a driver
    logic [31:0] rx_bad_chains;
  } function_counters_t;
  localparam int FUNCTION_COUNTERS_BITS = 320;
endpackage
