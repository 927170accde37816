// SPDX-License-Identifier: MIT
//
// A name that ends with .test resolves once the file $ANSWER is there, to 127.0.0.1.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char* host, const char* port, const struct addrinfo* hints, struct addrinfo** list) {
  int (*real)(const char*, const char*, const struct addrinfo*, struct addrinfo**) = dlsym(RTLD_NEXT, "getaddrinfo");
  if (strstr(host, ".test") == NULL) return real(host, port, hints, list);
  while (access(getenv("ANSWER"), F_OK) != 0) usleep(10000);
  return real("127.0.0.1", port, hints, list);
}
