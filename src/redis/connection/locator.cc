// SPDX-License-Identifier: MIT
#include "redis/connection/locator.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>

#include "redis/connection/link.h"
#include "redis/requests/answer.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {

namespace {

/// Nodes that disagree about a slot may send us to and fro without end.
constexpr unsigned kMostRedirections = 5;

/// A waiter may ask for the lock ten times in a second: the Sentinels are asked less often.
constexpr std::chrono::seconds kBetweenQuestions{1};

/// 0 if the text is not a port.
std::uint16_t read_port(std::string_view text) {
  const std::uint64_t number = read_number(text).value_or(0);
  return number <= 65535 ? static_cast<std::uint16_t>(number) : std::uint16_t{0};
}

/// The reply to SENTINEL MASTER: names and values in turn.
std::string_view field(const Value& reply, std::string_view name) {
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    if (reply.elements[i].text == name) return reply.elements[i + 1].text;
  }
  return {};
}

/// What an error reply to SENTINEL MASTER means.
lock::Unreachable refused(std::string_view error, const std::string& service) {
  if (error.starts_with("ERR No such master")) {
    return {false, true,
            "monitors no primary of the name " + untrusted(service) +
                "; see \"sentinel monitor\" in its configuration"};
  }
  if (error.starts_with("ERR unknown command")) {
    return {false, true,
            "is not a Sentinel; give the addresses of the Sentinels, which have ports of their own "
            "(26379)"};
  }
  if (error.starts_with("NOAUTH")) {
    return {false, true,
            "wants a password of its own; append ?sentinel_password=PASSWORD to the URI"};
  }
  return error_reply(error);
}

/// "MOVED SLOT HOST:PORT", or ASK; an IPv6 address comes without brackets. An empty host, or "?" (a
/// node that announces no name), is the one that answered.
std::optional<Address> read_redirection(std::string_view text, const std::string& same_host) {
  const std::size_t space = text.rfind(' ');
  const std::size_t colon = text.rfind(':');
  if (space == text.npos || colon == text.npos || colon < space) return std::nullopt;
  Address address{.host = std::string(text.substr(space + 1, colon - space - 1)),
                  .port = read_port(text.substr(colon + 1))};
  if (address.port == 0) return std::nullopt;
  if (address.host.empty() || address.host == "?") address.host = same_host;
  return is_host(address.host) ? std::optional(address) : std::nullopt;
}

/// After these errors in reply to the question, the place may be of use all the same: the requests
/// will show it. A user may lack the permission to ask, a provider may have renamed the command or
/// refuse a script without a key, and a Cluster serves a slot that moves in part.
bool is_harmless(std::string_view error, Endpoint::Kind kind) {
  const bool moving = error.starts_with("ASK ") || error.starts_with("TRYAGAIN");
  return error.starts_with("NOPERM ") || error.starts_with("ERR unknown command") ||
         error.starts_with("ERR Lua scripts without any input keys") ||
         (moving && kind == Endpoint::Kind::cluster);
}

}  // namespace

/// Asks all Sentinels at the same time which server is the primary of a service now
/// (https://redis.io/docs/latest/develop/reference/sentinel-clients/). After a fail-over, one that
/// was cut off still names the old primary: so a majority must answer, and the newest configuration
/// (config-epoch) counts. If no majority answers in time, those that did decide. The links outlive
/// the question: a slow look-up of a name goes on for the next one.
class Sentinels {
 public:
  Sentinels(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts)
      : service_(endpoint.service), patience_(timeouts.connect / 2) {
    for (const Address& node : endpoint.nodes) {
      Endpoint sentinel;
      sentinel.tls = endpoint.tls;
      sentinel.address = node;
      sentinel.credentials = endpoint.sentinel_credentials;
      links.emplace_back(sentinel, tls, timeouts, "");
    }
  }

  /// `known`: the epoch of the newest configuration that we know; a majority must know it, too.
  void ask(std::uint64_t known, lock::Instant now) {
    end();
    asking = true;
    finished = false;
    primary.reset();
    epoch = 0;
    enough_at_ = now + patience_;
    known_ = known;
    answered_ = certain_ = failed_ = permanent_ = 0;
    for (Link& link : links) {
      link.ask({.attempt = lock::kNoAttempt}, {{{.words = {"SENTINEL", "MASTER", service_}}}}, now);
    }
  }

  /// No answer is of interest any more.
  void end() {
    asking = false;
    std::ranges::for_each(links, &Link::end);
  }

  [[nodiscard]] lock::Instant deadline() const {
    lock::Instant earliest = answered_ > 0 ? enough_at_ : lock::kNever;
    for (const Link& link : links) earliest = std::min(earliest, link.deadline());
    return earliest;
  }

  void turn(lock::Instant now) {
    for (Link& link : links) {
      for (const Link::Arrival& arrival : link.turn(now)) take(link, arrival);
    }
    const bool majority = answered_ > links.size() / 2 && epoch >= known_;
    const bool all = answered_ + failed_ == links.size();
    if (!finished && failed_ == links.size() && failed_ > 1) {
      failure.why =
          "none of its " + std::to_string(failed_) + " Sentinels names the primary; " + failure.why;
    }
    finished = majority || all || (answered_ > 0 && now >= enough_at_);
  }

  std::deque<Link> links;          ///< to each Sentinel; a deque, since a Link cannot move
  bool asking = false;             ///< from ask() to end()
  bool finished = false;           ///< since then
  std::optional<Address> primary;  ///< if there is none once it is finished, `failure` says why
  lock::Unreachable failure;
  std::uint64_t epoch = 0;  ///< of the configuration with that primary
  /// Each Sentinel has answered: there is no newer configuration.
  [[nodiscard]] bool all_answered() const { return certain_ == links.size(); }

 private:
  void take(const Link& link, const Link::Arrival& arrival) {
    const auto fail = [&](lock::Unreachable why) {
      why.why = "Sentinel " + link.place().address.display() + ": " + why.why;
      why.maybe_applied = false;
      // A permanent trouble says more than a Sentinel that is down, but time may help while one is.
      if (failed_ == 0 || (why.permanent && permanent_ == 0)) failure = why;
      if (why.permanent) ++permanent_;
      ++failed_;
      failure.permanent = permanent_ == failed_;
    };
    if (const auto* silence = std::get_if<lock::Unreachable>(&arrival.content)) {
      return fail(*silence);
    }
    const Value& reply = std::get<Value>(arrival.content);
    if (reply.type == Value::Type::error) {
      return fail(refused(reply.text, service_));
    }
    Address named{.host = std::string(field(reply, "ip")), .port = read_port(field(reply, "port"))};
    if (!is_host(named.host) || named.port == 0) return fail(not_redis(Fate::never_sent));
    std::uint64_t of_named = read_number(field(reply, "config-epoch")).value_or(0);
    // The Sentinel that leads a fail-over has the new epoch already while it names the old primary.
    const bool leads = field(reply, "flags").find("failover_in_progress") != std::string_view::npos;
    if (leads) of_named = 0;
    certain_ += leads ? 0 : 1;
    ++answered_;
    if (primary && of_named <= epoch) return;
    primary = std::move(named);
    epoch = of_named;
  }

  const std::string service_;
  const lock::Duration patience_;
  lock::Instant enough_at_;  ///< from then on, one answer will do
  std::uint64_t known_ = 0;
  std::size_t answered_ = 0;  ///< Sentinels that name a primary
  std::size_t certain_ = 0;   ///< those of them that are not changing it
  std::size_t failed_ = 0;
  std::size_t permanent_ = 0;  ///< of those that failed
};

Locator::Locator(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts)
    : endpoint_(endpoint), timeouts_(timeouts), here_(endpoint) {
  here_.kind = endpoint.moves() ? Endpoint::Kind::tcp : endpoint.kind;
  if (endpoint.kind == Endpoint::Kind::sentinel) {
    sentinels_ = std::make_unique<Sentinels>(endpoint, tls, timeouts);
  }
}

Locator::~Locator() = default;

void Locator::start(lock::Instant now, lock::Instant deadline) {
  stop();
  deadline_ = deadline;
  place_deadline_ = deadline;
  if (endpoint_.kind == Endpoint::Kind::cluster) {
    left_.assign(endpoint_.nodes.rbegin(), endpoint_.nodes.rend());
    if (last_) {
      std::erase(left_, *last_);
      left_.push_back(*last_);
    }
    next(now);
  } else if (endpoint_.kind == Endpoint::Kind::sentinel) {
    ask(now);
    turn(now);
  } else {
    place_ = &endpoint_;
  }
}

void Locator::ask(lock::Instant now) {
  asked_ = now;
  sentinels_->ask(epoch_, now);
}

void Locator::ask_again(lock::Instant now) {
  if (sentinels_ && !sentinels_->asking && now - asked_ >= kBetweenQuestions) ask(now);
}

bool Locator::asks() const {
  return sentinels_ && sentinels_->asking;
}

void Locator::stop() {
  if (sentinels_) sentinels_->end();
  superseded_ = false;
  place_ = nullptr;
  left_.clear();
  redirections_ = 0;
  failure_.reset();
  trouble_.reset();
  place_deadline_ = lock::kNever;
}

void Locator::close() {
  if (sentinels_) std::ranges::for_each(sentinels_->links, &Link::close);
  stop();
}

std::optional<lock::Unreachable> Locator::leave(const lock::Unreachable& why, lock::Instant now) {
  if (!trouble_ || (trouble_->permanent && !why.permanent)) trouble_ = why;
  if (next(now)) return std::nullopt;
  const std::size_t nodes = endpoint_.nodes.size();
  const bool each_failed = left_.empty() && redirections_ == 0;
  if (endpoint_.kind == Endpoint::Kind::cluster && nodes > 1 && each_failed) {
    lock::Unreachable of_all = *trouble_;
    of_all.why = "none of its " + std::to_string(nodes) + " nodes can be used; " + of_all.why;
    return of_all;
  }
  return trouble_;
}

bool Locator::next(lock::Instant now) {
  if (left_.empty() || now >= deadline_) return false;
  failure_.reset();
  const Address address = std::move(left_.back());
  left_.pop_back();
  go_to(address, now);
  return true;
}

/// A place has half of the time left if there is another one. Equal shares would be too short for a
/// distant Cluster with many nodes.
void Locator::go_to(const Address& address, lock::Instant now) {
  here_.address = address;
  place_ = &here_;
  place_deadline_ = left_.empty() ? deadline_ : now + (deadline_ - now) / 2;
}

std::optional<Command> Locator::question(std::string_view key) const {
  // A node runs a script only if it has the key. One without a key shows whether the node is there
  // and has loaded its data.
  if (endpoint_.kind == Endpoint::Kind::cluster) {
    static constexpr Script kNothing{"return 1"};
    Command nothing{&kNothing};
    if (!key.empty()) nothing.keys.emplace_back(key);
    return nothing;
  }
  if (endpoint_.kind == Endpoint::Kind::sentinel) return Command{.words = {"ROLE"}};
  return std::nullopt;
}

bool Locator::is_confirmed_by(const Value& reply, lock::Instant now) {
  if (is_redirection(reply) && !is_for_one_request(reply.text)) {
    follow(reply.text, now);
    return false;
  }
  const bool error = reply.type == Value::Type::error;
  if (error && !is_harmless(reply.text, endpoint_.kind)) {
    fail(error_reply(reply.text));
    return false;
  }
  if (endpoint_.kind == Endpoint::Kind::cluster) last_ = here_.address;
  // If the user may not ask for the role, the lock's scripts tell whether this is a replica.
  if (error || endpoint_.kind == Endpoint::Kind::cluster) return true;
  const bool role = reply.type == Value::Type::array && !reply.elements.empty() &&
                    reply.elements.front().type == Value::Type::string &&
                    !reply.elements.front().text.empty();
  if (role && reply.elements.front().text == "master") return true;
  fail(role ? lock::Unreachable{.maybe_applied = false,
                                .why = "is a replica, though the Sentinels name it as the primary; "
                                       "is a fail-over in progress?"}
            : unexpected_reply(reply));
  return false;
}

void Locator::redirect(std::string_view moved, lock::Instant now) {
  trouble_.reset();
  if (redirections_ == 0 || now >= deadline_) deadline_ = now + timeouts_.connect;
  follow(moved, now);
}

void Locator::follow(std::string_view moved, lock::Instant now) {
  failure_.reset();
  const std::optional<Address> address = read_redirection(moved, here_.address.host);
  if (!address) return fail(not_redis(Fate::never_sent));
  if (endpoint_.kind != Endpoint::Kind::cluster) return fail(error_reply(moved));
  if (*address == here_.address && moved.find(" ?:") != moved.npos) {
    return fail({false, true,
                 "does not name the node that has the lock's slot; set cluster-announce-hostname "
                 "on every node"});
  }
  if (++redirections_ > kMostRedirections) {
    return fail({false, false,
                 "is the end of " + std::to_string(kMostRedirections) +
                     " redirections from node to node, and names yet another one; do the nodes "
                     "agree about their slots (redis-cli --cluster check)?"});
  }
  go_to(*address, now);
}

std::optional<Endpoint> Locator::named_by(std::string_view redirection) const {
  const std::optional<Address> address = read_redirection(redirection, here_.address.host);
  if (!address) return std::nullopt;
  Endpoint node = here_;
  node.address = *address;
  return node;
}

lock::Unreachable Locator::at_place(lock::Unreachable trouble) const {
  if (!endpoint_.moves() || place_ == nullptr) return trouble;
  const std::string what = endpoint_.kind == Endpoint::Kind::cluster ? "node " : "primary ";
  trouble.why = what + here_.address.display() + ": " + trouble.why;
  return trouble;
}

void Locator::fail(lock::Unreachable why) {
  failure_ = at_place(std::move(why));
  place_ = nullptr;
}

void Locator::interests(std::vector<os::Interest>& out) const {
  if (!asks()) return;
  for (const Link& link : sentinels_->links) link.interests(out);
}

lock::Instant Locator::deadline() const {
  return asks() ? std::min(place_deadline_, sentinels_->deadline()) : place_deadline_;
}

void Locator::turn(lock::Instant now) {
  if (!asks()) return;
  sentinels_->turn(now);
  if (!sentinels_->finished) return;
  take_primary(now);
  sentinels_->end();
}

/// A Sentinel that lags names the primary of an older configuration. Without a place, we do not go
/// back there, unless all Sentinels say so: then somebody has set them up from scratch. Nor do we
/// leave a place for an older one.
void Locator::take_primary(lock::Instant now) {
  const std::optional<Address>& primary = sentinels_->primary;
  const std::uint64_t epoch = sentinels_->epoch;
  if (place_ != nullptr) {
    const bool newer = epoch > epoch_ || (epoch < epoch_ && sentinels_->all_answered());
    if (!primary || !newer) return;
    epoch_ = epoch;
    superseded_ = *primary != here_.address;
  } else if (!primary) {
    failure_ = sentinels_->failure;
  } else if (epoch < epoch_ && !sentinels_->all_answered()) {
    failure_ = {false, false,
                "the Sentinels that answer have not heard of the latest fail-over; are the "
                "others up?"};
  } else {
    epoch_ = epoch;
    go_to(*primary, now);
  }
}

}  // namespace redlock::redis
