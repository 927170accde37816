// SPDX-License-Identifier: MIT
//
// redlock_ask SOCKET [-a PASSWORD] [-n DATABASE] WORD…: sends one command to the server on that
// Unix socket and prints its reply as redis-cli does, which takes six times as long: it starts
// OpenSSL first. The tests send more than ten thousand commands.

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

void print(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      std::printf("%lld", reply.integer);
      break;
    case REDIS_REPLY_ARRAY:
      for (std::size_t i = 0; i < reply.elements; ++i) {
        if (i > 0) std::putchar('\n');
        print(*reply.element[i]);
      }
      break;
    case REDIS_REPLY_NIL:
      break;
    default:
      std::fwrite(reply.str, 1, static_cast<std::size_t>(reply.len), stdout);
      if (reply.type == REDIS_REPLY_ERROR) std::putchar('\n');
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  redisContext* server = redisConnectUnix(argv[1]);
  const auto** words = const_cast<const char**>(argv + 2);
  int count = argc - 2;
  void* reply = nullptr;
  if (server != nullptr && server->err == 0) {
    for (; count > 2 && words[0][0] == '-'; words += 2, count -= 2) {
      const bool password = std::strcmp(words[0], "-a") == 0;
      reply = redisCommand(server, password ? "AUTH %s" : "SELECT %s", words[1]);
      if (reply == nullptr || static_cast<redisReply*>(reply)->type == REDIS_REPLY_ERROR) break;
      reply = nullptr;
    }
    if (reply == nullptr) reply = redisCommandArgv(server, count, words, nullptr);
  }
  if (reply == nullptr) {
    std::fprintf(stderr, "%s: %s\n", argv[1], server != nullptr ? server->errstr : "no memory");
    return 1;
  }
  print(*static_cast<redisReply*>(reply));
  std::putchar('\n');
}
