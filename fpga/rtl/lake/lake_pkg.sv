// Types of the LaKe module: kinds of frames, memory lines, and the requests of processing elements
// (PEs) to the shared services.
package lake_pkg;
  typedef enum logic [1:0] {
    KIND_NORMAL,    // not for LaKe
    KIND_QUERY,     // memcached request from the network
    KIND_RESPONSE,  // memcached response from the host
    KIND_OPAQUE     // may change data of the server, but cannot be parsed
  } kind_t;

  localparam int LINE_BYTES = 64;
  localparam int LINE_BITS = 8 * LINE_BYTES;
  localparam int WINDOW_BYTES = 32;  // a PE handles keys and values in windows of this size
  localparam int WINDOW_BITS = 8 * WINDOW_BYTES;
  localparam int ADDRESS_BITS = 30;  // of a line
  localparam int GUARD_BITS = 12;
  localparam int VERSION_BITS = 24;
  localparam int TIME_BITS = 32;
  localparam int EPOCH_BITS = 48;
  localparam int MAX_KEY_BYTES = 250;

  typedef enum logic [1:0] {
    CHUNK_64,
    CHUNK_128,
    CHUNK_256,
    CHUNK_512
  } chunk_class_t;

  // One of eight in a line of the hash table (paper, figure 5).
  typedef struct packed {
    logic                    valid;
    logic                    pending;  // stored, but the server has not acknowledged it
    chunk_class_t            chunk_class;
    logic [7:0]              key_length;
    logic [15:0]             signature;  // upper bits of the key's CRC32
    logic [ADDRESS_BITS-1:0] chunk;      // first line of the chunk
    logic [5:0]              unused;
  } descriptor_t;

  // The first 32 bytes of a chunk; key and value follow.
  typedef struct packed {
    logic [15:0]           unused;
    logic [15:0]           value_sum;  // one's complement sum of the value, first byte at even offset
    logic [31:0]           sequence;   // number of the store operation, to tell reuses of a chunk apart
    logic [EPOCH_BITS-1:0] epoch;
    logic [TIME_BITS-1:0]  stored_time;
    logic [63:0]           cas;
    logic [31:0]           flags;
    logic [15:0]           value_length;
  } chunk_header_t;  // 256 bits

  // Hash memory and data memory. A write has no response. The response to a read is the line.
  typedef struct packed {
    logic                    write;
    logic [ADDRESS_BITS-1:0] address;
    logic [LINE_BITS-1:0]    data;
  } line_request_t;

  // Slab allocator. A free has no response.
  typedef struct packed {
    logic                    free;  // 1: give `chunk` back; 0: allocate
    chunk_class_t            chunk_class;
    logic [ADDRESS_BITS-1:0] chunk;
  } slab_request_t;

  typedef struct packed {
    logic                    ok;  // 0: no chunk of this class is free
    logic [ADDRESS_BITS-1:0] chunk;
  } slab_response_t;

  // Guard table. ACK has no response.
  typedef enum logic [1:0] {
    GUARD_READ,
    GUARD_MUTATE,
    GUARD_ACK
  } guard_command_t;

  typedef struct packed {
    guard_command_t        command;
    logic [GUARD_BITS-1:0] index;
    logic                  expiring;  // MUTATE: the mutation has an expiry
  } guard_request_t;

  typedef struct packed {
    logic [VERSION_BITS-1:0] version;   // after the command
    logic [7:0]              inflight;  // mutations without reply, after the command; saturates
    logic                    uncacheable;
  } guard_response_t;

  // Miss table. WRITE_KEY and RELEASE have no response.
  typedef enum logic [2:0] {
    MISS_INSERT,     // -> slot; replaces the oldest entry, if none is free
    MISS_WRITE_KEY,  // key window of `slot`
    MISS_TAKE,       // by opaque, address and port -> hit, slot, entry; it matches no more
    MISS_READ_KEY,   // -> key window of `slot`
    MISS_RELEASE     // `slot` may be used again after a TAKE
  } miss_command_t;

  typedef struct packed {
    logic                    is_set;    // a SET without reply yet; otherwise a GET
    logic [31:0]             hash;      // CRC32 of the key
    logic [7:0]              key_length;
    logic [VERSION_BITS-1:0] version;   // of the guard table when the request passed
    logic [31:0]             sequence;  // SET: of the chunk
    logic [ADDRESS_BITS-1:0] chunk;     // SET
  } miss_entry_t;

  typedef struct packed {
    miss_command_t          command;
    logic [7:0]             slot;
    logic [2:0]             window;
    logic [31:0]            opaque;
    logic [31:0]            client_address;
    logic [15:0]            client_port;
    miss_entry_t            entry;
    logic [WINDOW_BITS-1:0] key;
  } miss_request_t;

  typedef struct packed {
    logic                   hit;
    logic [7:0]             slot;
    miss_entry_t            entry;
    logic [WINDOW_BITS-1:0] key;
  } miss_response_t;
endpackage
