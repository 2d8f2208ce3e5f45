// Types of the client-side cache.
package client_cache_pkg;
  localparam int WORD_BITS = 512;
  localparam int FRAME_WORDS = 32;         // of the longest frame that a controller reads
  localparam int MAX_FRAME_WORDS = 144;    // of the longest frame: 9,216 bytes
  localparam int FUNCTION_BITS = 3;
  localparam int KEY_BITS = 512;
  localparam int HASH_BITS = 16;

  // As in memcached_pkg: yosys takes no names of one package in another.
  localparam int VERSION_BITS = 24;
  localparam int NOW_BITS = 48;
  localparam int EPOCH_BITS = 48;

  // What a SET does in the cache.
  typedef enum logic [1:0] {
    SETS_INVALIDATE,  // the paper's mode ii
    SETS_UPDATE,      // the paper's mode i: replace the value of a key that is there
    SETS_STORE        // replace, or store
  } set_mode_t;

  // Settings of the cache, from its registers.
  typedef struct packed {
    logic                udp_header;   // datagrams begin with memcached's frame header
    logic                safe_writes;  // a SET is visible after its acknowledgement only
    logic                fill;         // replies to misses are stored
    logic                single_use;   // a tag serves one request in a lifetime
    set_mode_t           set_mode;
    logic [NOW_BITS-1:0] max_age;      // of a value that is served; 0: no limit
  } settings_t;

  // An entry of the table, without key and value. Addresses, ports, flags and CAS keep the order of
  // their bytes on the wire.
  typedef struct packed {
    logic                     valid;
    logic                     pending;         // not acknowledged by the server
    logic [FUNCTION_BITS-1:0] group;
    logic [31:0]              server_address;
    logic [15:0]              server_port;
    logic [7:0]               key_length;
    logic [15:0]              value_length;
    logic [15:0]              value_sum;       // one's complement, first byte at even offset
    logic [31:0]              flags;
    logic [63:0]              cas;
    logic [EPOCH_BITS-1:0]    epoch;
    logic [NOW_BITS-1:0]      stored_time;
    logic [31:0]              store_id;        // which SET stored the value
  } head_t;

  // What a request and its reply have in common.
  typedef struct packed {
    logic [7:0]               opcode;
    logic [31:0]              opaque;
    logic [31:0]              client_address;
    logic [15:0]              client_port;
    logic [31:0]              server_address;
    logic [15:0]              server_port;
    logic [FUNCTION_BITS-1:0] source;  // the function
  } tag_t;
  localparam int TAG_BITS = 136 + FUNCTION_BITS;

  // A request that the server has not answered.
  typedef struct packed {
    logic [1:0]               kind;        // memcached_pkg::request_kind_t
    logic [HASH_BITS-1:0]     place;       // of the key; its upper bits are the index
    logic [7:0]               key_length;
    logic [VERSION_BITS-1:0]  version;     // of the guard table when it passed
    logic [31:0]              store_id;    // SET: of the value that it stored
  } request_t;
  localparam int REQUEST_BITS = 42 + HASH_BITS + VERSION_BITS;

  // One bit for each event of a controller, high for a cycle.
  typedef struct packed {
    logic corrupt;        // a frame with a wrong checksum or length was sent on, and nothing else
    logic query;
    logic hit;
    logic miss;
    logic stored;         // a SET wrote its value
    logic visible;        // an acknowledgement made it visible
    logic filled;         // a reply to a miss wrote its value
    logic fill_refused;   // the guard table, the epoch or an ambiguous tag forbade it
    logic invalidated;
    logic evicted;        // an entry of another key left
    logic malformed;
    logic forwarded;      // a request went to the network
    logic replied;
    logic advance_epoch;
    logic delayed_flush;
    logic response;       // a reply came from the network
  } events_t;
  localparam int EVENTS = 16;

  // Further events of a function, outside of controllers.
  typedef struct packed {
    logic unread_reply;     // a reply passed by the controller: its queue was full
    logic request_dropped;  // a request found its queue full
    logic sent;             // a frame came from the function
    logic received;         // a frame went to the function
    logic receive_dropped;  // a frame for the function found its queue full
  } path_events_t;
  localparam int PATH_EVENTS = 5;

  // Registers of a function (client_cache_registers).
  localparam int COUNTERS = EVENTS + PATH_EVENTS + 2;  // and bytes each way
  localparam int FUNCTION_STATUSES = 8;

  function automatic logic [15:0] words_of(input logic [15:0] length);
    words_of = (length + 16'd63) >> 6;
  endfunction
endpackage
