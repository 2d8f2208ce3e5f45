// Datagrams of a guest that has no Python: `guest_client ADDRESS PORT`.
// A line "CLIENT HEX" on stdin is sent by the socket of that client, and each answer is such a line on
// stdout. A line "." ends the program.
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 8, BYTES = 2048 };

int main(int count, char** words) {
  struct sockaddr_in server = {.sin_family = AF_INET};
  if (count != 3 || inet_pton(AF_INET, words[1], &server.sin_addr) != 1) return 2;
  server.sin_port = htons(atoi(words[2]));
  struct pollfd ready[CLIENTS + 1] = {{.fd = 0, .events = POLLIN}};
  for (int client = 0; client < CLIENTS; ++client) {
    int made = socket(AF_INET, SOCK_DGRAM, 0);
    if (connect(made, (struct sockaddr*)&server, sizeof server) != 0) return 1;
    ready[client + 1] = (struct pollfd){.fd = made, .events = POLLIN};
  }
  // The poll is about the descriptor, so no line may wait in a buffer of stdio.
  static char line[2 * BYTES + 16];
  size_t filled = 0;
  static unsigned char bytes[BYTES];
  for (;;) {
    if (poll(ready, CLIENTS + 1, -1) < 0) return 1;
    for (int client = 0; client < CLIENTS; ++client) {
      if (!ready[client + 1].revents) continue;
      ssize_t length = recv(ready[client + 1].fd, bytes, sizeof bytes, 0);
      if (length < 0) continue;
      printf("%d ", client);
      for (ssize_t at = 0; at < length; ++at) printf("%02x", bytes[at]);
      printf("\n");
      fflush(stdout);
    }
    if (!ready[0].revents) continue;
    ssize_t more = read(0, line + filled, sizeof line - 1 - filled);
    if (more <= 0) return 1;
    filled += more;
    line[filled] = 0;
    for (char* end; (end = strchr(line, '\n')) != NULL;) {
      if (line[0] == '.') return 0;
      char* hex;
      long client = strtol(line, &hex, 10);
      size_t length = 0;
      unsigned value;
      for (++hex; hex + 1 < end && length < BYTES && sscanf(hex, "%2x", &value) == 1; hex += 2) {
        bytes[length++] = value;
      }
      if (client < 0 || client >= CLIENTS) return 2;
      send(ready[client + 1].fd, bytes, length, 0);
      filled -= end + 1 - line;
      memmove(line, end + 1, filled + 1);
    }
  }
}
