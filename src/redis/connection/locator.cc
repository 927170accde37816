// SPDX-License-Identifier: MIT
#include "redis/connection/locator.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "redis/connection/sentinels.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

/// Nodes that disagree about a slot may send us to and fro for ever.
constexpr unsigned kMostRedirections = 5;

/// "MOVED SLOT HOST:PORT", or ASK; an IPv6 address comes without brackets. An empty host: the one
/// that answered.
std::optional<Address> read_redirection(std::string_view text, const std::string& same_host) {
  const std::size_t space = text.rfind(' ');
  const std::size_t colon = text.rfind(':');
  if (space == text.npos || colon == text.npos || colon < space) return std::nullopt;
  Address address{.host = std::string(text.substr(space + 1, colon - space - 1)), .port = 0};
  const std::string_view digits = text.substr(colon + 1);
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, address.port);
  if (error != std::errc{} || stop != end || address.port == 0) return std::nullopt;
  if (address.host.empty()) address.host = same_host;
  return is_host(address.host) ? std::optional(address) : std::nullopt;
}

/// An error in reply to the question does not mean that the place is of no use: a user may lack the
/// permission to ask (NOPERM), a provider may have renamed the command, and a slot that moves is
/// served in part. The requests themselves will show it.
bool is_harmless(std::string_view error) {
  return error.starts_with("NOPERM") || error.starts_with("ASK ") ||
         error.starts_with("TRYAGAIN") || error.starts_with("ERR unknown command");
}

}  // namespace

Locator::Locator(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
                 std::string key)
    : endpoint_(endpoint), tls_(tls), timeouts_(timeouts), key_(std::move(key)), here_(endpoint) {
  here_.kind = endpoint.moves() ? Endpoint::Kind::tcp : endpoint.kind;
}

Locator::~Locator() = default;

void Locator::start(lock::Instant now, lock::Instant deadline) {
  stop();
  deadline_ = deadline;
  if (endpoint_.kind == Endpoint::Kind::cluster) {
    left_.assign(endpoint_.nodes.rbegin(), endpoint_.nodes.rend());
    if (last_) {
      std::erase(left_, *last_);
      left_.push_back(*last_);
    }
    next(now);
  } else if (endpoint_.kind == Endpoint::Kind::sentinel) {
    sentinels_ = std::make_unique<Sentinels>(endpoint_, tls_, timeouts_);
    sentinels_->ask(now);
    turn(now);
  } else {
    place_ = &endpoint_;
    place_deadline_ = deadline_;
  }
}

void Locator::stop() {
  sentinels_.reset();
  place_ = nullptr;
  left_.clear();
  redirections_ = 0;
  failure_.reset();
  place_deadline_ = lock::kNever;
}

void Locator::abandon() {
  if (sentinels_) sentinels_->abandon();
}

bool Locator::next(lock::Instant now) {
  if (left_.empty() || now >= deadline_) return false;
  failure_.reset();
  const Address address = std::move(left_.back());
  left_.pop_back();
  go_to(address, now);
  return true;
}

/// A place has half of the time left if there is another one to try. Equal shares would be too
/// short for a distant Cluster with many nodes.
void Locator::go_to(const Address& address, lock::Instant now) {
  here_.host = address.host;
  here_.port = address.port;
  place_ = &here_;
  place_deadline_ = left_.empty() ? deadline_ : now + (deadline_ - now) / 2;
}

std::string Locator::question() const {
  // Any script will do: a node runs it only if it has the key. One without a key shows whether the
  // node is there and has loaded its data.
  if (endpoint_.kind == Endpoint::Kind::cluster) {
    return key_.empty() ? encode_command({"EVAL", "return 1", "0"})
                        : encode_command({"EVAL", "return 1", "1", key_});
  }
  return endpoint_.kind == Endpoint::Kind::sentinel ? encode_command({"ROLE"}) : std::string();
}

Locator::Verdict Locator::judge(const Value& reply, lock::Instant now) {
  if (is_redirection(reply) && !is_for_one_request(reply.text)) {
    follow(reply.text, now);
    return Verdict::elsewhere;
  }
  if (reply.type == Value::Type::error && !is_harmless(reply.text)) {
    fail(error_reply(reply.text));
    return Verdict::unusable;
  }
  const bool role = reply.type == Value::Type::array && !reply.elements.empty();
  if (role && reply.elements.front().text != "master") {
    fail(not_the_primary());
    return Verdict::unusable;
  }
  if (endpoint_.kind == Endpoint::Kind::cluster) last_ = Address{here_.host, here_.port};
  return Verdict::here;
}

void Locator::redirect(std::string_view moved, lock::Instant now) {
  if (redirections_ == 0 || now >= deadline_) deadline_ = now + timeouts_.connect;
  follow(moved, now);
}

void Locator::follow(std::string_view moved, lock::Instant now) {
  failure_.reset();
  const std::optional<Address> address = read_redirection(moved, here_.host);
  if (!address) return fail(not_redis(Fate::never_sent));
  if (endpoint_.kind != Endpoint::Kind::cluster) return fail(error_reply(moved));
  if (++redirections_ > kMostRedirections) return fail(sent_in_circles(kMostRedirections));
  go_to(*address, now);
}

std::optional<Endpoint> Locator::named_by(std::string_view redirection) const {
  const std::optional<Address> address = read_redirection(redirection, here_.host);
  if (!address) return std::nullopt;
  Endpoint node = here_;
  node.host = address->host;
  node.port = address->port;
  return node;
}

lock::Unreachable Locator::at_place(lock::Unreachable trouble) const {
  if (!endpoint_.moves() || place_ == nullptr) return trouble;
  const std::string what = endpoint_.kind == Endpoint::Kind::cluster ? "node " : "primary ";
  trouble.why = what + Address{here_.host, here_.port}.display() + ": " + trouble.why;
  return trouble;
}

lock::Unreachable Locator::at_every_place(lock::Unreachable trouble) const {
  const std::size_t nodes = endpoint_.nodes.size();
  const bool all_failed = left_.empty() && redirections_ == 0;
  if (endpoint_.kind == Endpoint::Kind::cluster && nodes > 1 && all_failed) {
    trouble.why = "none of its " + std::to_string(nodes) + " nodes can be used; " + trouble.why;
  }
  return trouble;
}

void Locator::fail(lock::Unreachable why) {
  failure_ = at_place(std::move(why));
  place_ = nullptr;
}

void Locator::interests(std::vector<os::Interest>& out) const {
  if (sentinels_) sentinels_->interests(out);
}

lock::Instant Locator::deadline() const {
  return sentinels_ ? sentinels_->deadline() : place_deadline_;
}

void Locator::turn(lock::Instant now) {
  if (!sentinels_) return;
  sentinels_->turn(now);
  if (!sentinels_->finished()) return;
  if (const auto primary = sentinels_->primary()) {
    go_to(*primary, now);
  } else {
    failure_ = sentinels_->failure();
  }
  sentinels_.reset();
}

}  // namespace redlock::redis
