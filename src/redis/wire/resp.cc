// SPDX-License-Identifier: MIT
#include "redis/wire/resp.h"

#include <hiredis.h>

#include <new>
#include <utility>

namespace redlock::redis {
namespace {

constexpr int kMaxDepth = 7;

// Recursive, as deep as create_small_array allows.
Value convert(const redisReply& reply) {
  const auto text = [&reply](Value::Type type) {
    return Value{.type = type, .text = {reply.str, reply.len}};
  };
  switch (reply.type) {
    case REDIS_REPLY_STRING:
      return text(Value::Type::string);
    case REDIS_REPLY_STATUS:
      return text(Value::Type::status);
    case REDIS_REPLY_ERROR:
      return text(Value::Type::error);
    case REDIS_REPLY_INTEGER:
      return {.type = Value::Type::integer, .integer = reply.integer};
    case REDIS_REPLY_NIL:
      return {};
    case REDIS_REPLY_ARRAY:
      break;
    default:
      return {.type = Value::Type::other};
  }
  Value array{.type = Value::Type::array};
  array.elements.reserve(reply.elements);
  for (std::size_t i = 0; i < reply.elements; ++i) {
    const redisReply* const element = reply.element[i];
    array.elements.push_back(element == nullptr ? Value{} : convert(*element));
  }
  return array;
}

}  // namespace

void append_command(std::string& wire, std::span<const std::string_view> words) {
  wire += "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    wire.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
  }
}

struct ReplyParser::Impl {
  const ReplyLimits limits;
  std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader{redisReaderCreate(),
                                                                  &redisReaderFree};
  redisReplyObjectFunctions functions{};
  decltype(functions.createArray) create_array = nullptr;  // hiredis' own
  std::size_t pending = 0;   // bytes that were fed and belong to no complete reply yet
  std::size_t elements = 0;  // of the reply so far
  bool exceeded = false;     // the reader gave up at an array over the limits
  bool broken = false;

  explicit Impl(const ReplyLimits& most) : limits(most) {
    if (!reader) throw std::bad_alloc();
    functions = *reader->fn;
    create_array = std::exchange(functions.createArray, &create_small_array);
    reader->fn = &functions;
    reader->privdata = this;
  }

  /// hiredis allocates an array as soon as it has read the announced length, be it two thousand
  /// million (and up to 1.0.0 it miscounts the bytes, CVE-2021-32765). `Count`: int up to hiredis
  /// 0.14, size_t from 1.0 on.
  template <typename Count>
  static void* create_small_array(const redisReadTask* task, Count count) {
    // hiredis 0.14 refuses deeper nesting itself; some 1.x do not, and convert() recurses.
    int depth = 1;
    for (const redisReadTask* at = task->parent; at != nullptr; at = at->parent) ++depth;
    // An element of four bytes on the wire takes more than a hundred bytes here.
    auto& self = *static_cast<Impl*>(task->privdata);
    self.elements += static_cast<std::size_t>(count);
    self.exceeded = static_cast<std::size_t>(count) > self.limits.of_array || depth > kMaxDepth ||
                    self.elements > self.limits.of_reply;
    return self.exceeded ? nullptr : self.create_array(task, count);
  }
};

ReplyParser::ReplyParser(ReplyLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
ReplyParser::~ReplyParser() = default;

void ReplyParser::feed(std::string_view bytes) {
  if (impl_->broken) return;
  impl_->pending += bytes.size();
  // The only failure there is.
  if (redisReaderFeed(impl_->reader.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    throw std::bad_alloc();
  }
}

std::optional<Value> ReplyParser::next() {
  if (impl_->broken) return std::nullopt;
  void* reply = nullptr;
  redisReader* const reader = impl_->reader.get();
  if (redisReaderGetReply(reader, &reply) != REDIS_OK) {
    impl_->broken = true;
    // If we refuse an array, hiredis believes that memory is used up.
    if (reader->err == REDIS_ERR_OOM && !impl_->exceeded) throw std::bad_alloc();
    return std::nullopt;
  }
  if (reply == nullptr) {
    // Counts parsed bytes, too: otherwise nested arrays could grow without end.
    impl_->broken = impl_->pending > impl_->limits.bytes;
    return std::nullopt;
  }
  impl_->pending = reader->len - reader->pos;
  impl_->elements = 0;
  const std::unique_ptr<void, decltype(&freeReplyObject)> owner(reply, &freeReplyObject);
  return convert(*static_cast<const redisReply*>(reply));
}

bool ReplyParser::broken() const {
  return impl_->broken;
}

}  // namespace redlock::redis
