// Types of the LaKe module: memory lines, and the requests of processing elements
// (PEs) to the shared services.
package lake_pkg;
  localparam int LINE_BYTES = 64;
  localparam int LINE_BITS = 8 * LINE_BYTES;
  localparam int WINDOW_BYTES = 32;  // a PE handles keys and values in windows of this size
  localparam int WINDOW_BITS = 8 * WINDOW_BYTES;
  localparam int ADDRESS_BITS = 30;  // of a line

  // As in memcached_pkg: yosys takes no names of one package in another.
  localparam int GUARD_REQUEST_BITS = 15;
  localparam int VERSION_BITS = 24;
  localparam int NOW_BITS = 48;

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

  // A server's address and UDP port. They keep the order of their bytes on the wire.
  typedef struct packed {
    logic [31:0] address;
    logic [15:0] port;
  } server_t;

  // The first 32 bytes of a chunk; key and value follow.
  typedef struct packed {
    logic [15:0]           value_sum;  // one's complement sum of the value, first byte at even offset
    logic [31:0]           store_id;   // tells the uses of a chunk apart
    server_t               server;
    logic [NOW_BITS-1:0]   stored_time;
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

  typedef struct packed {
    logic [1:0]              kind;      // memcached_pkg::request_kind_t
    logic [31:0]             hash;      // CRC32 of the key
    logic [7:0]              key_length;
    logic [VERSION_BITS-1:0] version;   // of the guard table when the request passed
    logic [31:0]             store_id;  // SET: of the chunk
    logic [ADDRESS_BITS-1:0] chunk;     // SET
  } miss_entry_t;

  typedef struct packed {
    logic [7:0]  opcode;
    logic [31:0] opaque;
    logic [31:0] client_address;
    logic [15:0] client_port;
    server_t     server;
  } miss_tag_t;

  typedef struct packed {
    logic [2:0]             command;  // memcached_pkg::miss_command_t
    logic [7:0]             slot;
    logic [2:0]             window;
    miss_tag_t              tag;
    miss_entry_t            entry;
    logic [WINDOW_BITS-1:0] key;
  } miss_request_t;

  typedef struct packed {
    logic                   hit;
    logic                   ambiguous;
    logic [7:0]             slot;
    miss_entry_t            entry;
    logic [WINDOW_BITS-1:0] key;
  } miss_response_t;

  localparam int MAX_ITEM_BYTES = 480;  // key and value that fit the largest chunk

  // Settings of the module, from its registers.
  typedef struct packed {
    logic                    udp_header;   // datagrams begin with memcached's frame header of 8 bytes
    logic                    safe_writes;  // a SET is visible after its acknowledgement only
    logic                    fill;         // replies to misses are stored
    logic                    single_use;   // a tag serves one request in a lifetime
    logic [NOW_BITS-1:0]     max_age;      // of a value that is served; 0: no limit
    logic [ADDRESS_BITS-1:0] bucket_mask;
  } settings_t;

  // One bit for each event of a PE, high for a cycle.
  typedef struct packed {
    logic hit;
    logic miss;
    logic stored;       // a SET wrote its value
    logic visible;      // an acknowledgement made it visible
    logic filled;       // a reply to a miss wrote its value
    logic fill_refused; // the guard table, the epoch or an ambiguous tag forbade it
    logic invalidated;
    logic evicted;
    logic uncached;     // no chunk was free
    logic malformed;
    logic forwarded;
    logic replied;
    logic advance_epoch;
    logic delayed_flush;
  } events_t;
  localparam int EVENTS = 14;
  localparam int EVENTS_STRIDE = 32;  // bits from the events of one PE to those of the next

  // Totals of `events_t`, in the same order.
  typedef struct packed {
    logic [31:0] hit;
    logic [31:0] miss;
    logic [31:0] stored;
    logic [31:0] visible;
    logic [31:0] filled;
    logic [31:0] fill_refused;
    logic [31:0] invalidated;
    logic [31:0] evicted;
    logic [31:0] uncached;
    logic [31:0] malformed;
    logic [31:0] forwarded;
    logic [31:0] replied;
    logic [31:0] advance_epoch;
    logic [31:0] delayed_flush;
  } counters_t;

  // Counters of the memory system.
  typedef struct packed {
    logic [31:0]      dram_read_cycles;
    logic [31:0]      hash_hits;
    logic [31:0]      hash_misses;
    logic [31:0]      hash_fills;
    logic [31:0]      data_hits;
    logic [31:0]      data_misses;
    logic [31:0]      data_fills;
    logic [31:0]      dram_reads;
    logic [31:0]      dram_writes;
    logic [31:0]      sram_reads;
    logic [31:0]      sram_writes;
    logic [31:0]      alloc_failures;
    logic [31:0]      lost_chunks;
    logic [31:0]      miss_inserts;
    logic [31:0]      miss_full;
    logic [31:0]      miss_ambiguous;
    logic [31:0]      miss_expired;
    logic [3:0][31:0] chunks_in_use;
    logic [31:0]      miss_live;
  } memory_counters_t;

  // Widths of the requests.
  localparam int LINE_REQUEST_BITS = 1 + ADDRESS_BITS + LINE_BITS;
  localparam int SLAB_REQUEST_BITS = 3 + ADDRESS_BITS;
  localparam int MISS_TAG_BITS = 136;
  localparam int MISS_ENTRY_BITS = 74 + VERSION_BITS + ADDRESS_BITS;
  localparam int MISS_REQUEST_BITS = 14 + MISS_TAG_BITS + MISS_ENTRY_BITS + WINDOW_BITS;

  // Bits from one request to the next in an array. yosys takes no arrays of structs, so arrays of
  // requests are arrays of bits. Each request begins at a multiple of 32 bits: a simulation copies
  // its words, where it would shift them otherwise.
  localparam int LINE_REQUEST_STRIDE = (LINE_REQUEST_BITS + 31) / 32 * 32;
  localparam int SLAB_REQUEST_STRIDE = (SLAB_REQUEST_BITS + 31) / 32 * 32;
  localparam int GUARD_REQUEST_STRIDE = (GUARD_REQUEST_BITS + 31) / 32 * 32;
  localparam int MISS_REQUEST_STRIDE = (MISS_REQUEST_BITS + 31) / 32 * 32;
endpackage
