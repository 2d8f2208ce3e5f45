// What caches of memcached's items share: kinds of frames, the binary protocol, and the requests to
// guard table and miss table.
package memcached_pkg;
  // What a frame is to a cache between clients and servers.
  typedef enum logic [2:0] {
    KIND_NORMAL,    // nothing
    KIND_QUERY,     // of a client: memcached's request, which the cache can read
    KIND_RESPONSE,  // of a server: memcached's reply
    KIND_OPAQUE,    // of a client: may change data of a server, but cannot be read
    KIND_ORDERED    // of a client: changes nothing, but keeps its place among OPAQUE frames
  } kind_t;
  localparam int KIND_BITS = 3;

  localparam int MAX_KEY_BYTES = 250;
  localparam int GUARD_BITS = 12;
  localparam int VERSION_BITS = 24;
  localparam int TIME_BITS = 32;  // of the times that services keep
  localparam int NOW_BITS = 48;   // of the clock
  localparam int EPOCH_BITS = 48;

  localparam logic [7:0] OPCODE_GET = 8'h00;
  localparam logic [7:0] OPCODE_SET = 8'h01;
  localparam logic [7:0] OPCODE_DELETE = 8'h04;
  localparam logic [7:0] OPCODE_GETQ = 8'h09;
  localparam logic [7:0] OPCODE_GETK = 8'h0c;
  localparam logic [7:0] OPCODE_GETKQ = 8'h0d;

  // One operation of memcached's binary protocol, decoded. Fields that are passed on (opaque, cas,
  // flags) keep the order of their bytes on the wire.
  typedef struct packed {
    logic        ok;             // its lengths fit the datagram and each other
    logic        refused;        // of one that is not ok: the server changes nothing, and drops the rest
    logic        last;           // it ends where the datagram ends
    logic        response;
    logic [7:0]  opcode;
    logic [7:0]  key_length;
    logic [7:0]  extras_length;
    logic [15:0] body_length;
    logic        status_ok;
    logic [31:0] opaque;
    logic [63:0] cas;
    logic [31:0] flags;
    logic        get;
    logic        echoes_key;     // its reply repeats the key
    logic        quiet;          // it has no reply if all is well (GETQ: on a miss)
    logic        flush;
    logic        delayed_flush;
    logic        mutation;       // it may change the item of its key
    logic        storable;       // a SET that is unconditional, without expiry, and not too long
    logic        expiring;       // a mutation that may give its item an expiry
  } operation_t;

  // Guard table. Every command has a response.
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
  localparam int GUARD_REQUEST_BITS = 3 + GUARD_BITS;

  // Miss table. WRITE_KEY, RELEASE and MARK have no response.
  //
  // A tag is what a request and its reply have in common: opcode, opaque, addresses, ports. Two
  // requests with one tag cannot be told apart by their replies, so an entry is ambiguous if another
  // request with its tag may still be answered: a live entry, or a MARK within the lifetime (kept in
  // a small table by the tag's hash).
  // INSERT makes the older entry ambiguous, too. A live entry is never replaced: with a full table
  // INSERT answers hit = 0, and marks the tag.
  typedef enum logic [2:0] {
    MISS_INSERT,     // -> hit (stored), slot
    MISS_WRITE_KEY,  // key window of `slot`
    MISS_TAKE,       // -> hit, ambiguous, slot, entry; the entry matches no more
    MISS_READ_KEY,   // -> key window of `slot`
    MISS_RELEASE,    // `slot` may be used again after a TAKE
    MISS_MARK        // a request with this tag passed that has no entry
  } miss_command_t;

  typedef enum logic [1:0] {
    REQUEST_GET,
    REQUEST_SET,      // its value is stored, pending
    REQUEST_MUTATION  // any other mutation with a reply
  } request_kind_t;
endpackage
