// SPDX-License-Identifier: MIT
#include "redis/wire/trouble.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/printable.h"

namespace redlock::redis {
namespace {

std::string text_of(int error) {
  return std::generic_category().message(error);
}

std::string in_ms(std::chrono::milliseconds limit) {
  return std::to_string(limit.count()) + " ms";
}

lock::Unreachable never_sent(std::string why) {
  return {false, false, std::move(why)};
}
lock::Unreachable maybe(std::string why) {
  return {true, false, std::move(why)};
}

/// Where a refused password comes from, and what may be wrong with it there.
std::string origin_of(const Credentials& who) {
  const std::string& password = who.password;
  if (password.empty()) return who.user.empty() ? "" : " (no password is configured here)";
  const char first = password.front();
  const char last = password.back();
  const bool quoted = password.size() > 1 && first == last && (last == '"' || last == '\'');
  return " (the password is from " + os::printable(who.source) +
         (last == '\n' || last == '\r'                  ? " and ends with a newline"
          : first == ' ' || last == ' ' || last == '\t' ? " and begins or ends with a blank"
          : quoted                                      ? " and is in quotation marks"
                                                        : "") +
         ")";
}

std::string without(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != text.npos; at = text.find(secret, at + 3)) {
    text.replace(at, secret.size(), "***");
  }
  return text;
}

/// A server's text, without secrets and useless parts.
std::string shown(std::string_view raw, const std::string& secret) {
  // "unknown command `AUTH`, with args beginning with: `user`, `password`"
  raw = raw.substr(0, raw.find(", with args beginning with"));
  // "… script: <its hash>, on @user_script:2." is of no use to anybody.
  const std::size_t hash = raw.rfind(" script: ");
  if (hash != raw.npos && raw.find(", on @user_script", hash) != raw.npos)
    raw = raw.substr(0, hash);
  return untrusted(without(std::string(raw), secret));
}

enum class Cure { time, person };  ///< what must come before another try can succeed

struct Known {
  std::string_view code;  ///< a word of the error
  Cure cure;
  bool quote;  ///< append the server's own text
  std::string_view why;
};

constexpr std::string_view kFull = "max number of clients";
// Redis 7 answers this to a request of more than ten words, or a long one, before AUTH.
constexpr std::string_view kUnread = "unauthenticated";
constexpr std::string_view kWantsPassword =
    "wants a password and none is configured; give --password-file or set REDLOCK_PASSWORD";
constexpr std::string_view kWrongPassword = "wrong user or password";
constexpr std::string_view kHasNoPassword =
    "a password is configured here, but the server has none; leave it out, or set requirepass";
constexpr std::string_view kIsHostUp = "; is the host up, and does no firewall drop the packets?";
constexpr std::string_view kNoPermission =
    "the user lacks a permission; redlock check --acl USER [NAME], with the job's -s, --slots, "
    "--once or --build, prints the rules it needs";

constexpr std::string_view kIsCluster =
    "is part of a Redis Cluster; write redis+cluster://HOST:PORT (rediss+cluster:// with TLS), "
    "without a database";
constexpr std::string_view kMovesSlot =
    "is part of a Redis Cluster that moves the lock's slot to another node; that may take a while";

// The error codes with which a server can answer EVAL, AUTH or SELECT: from
// https://redis.io/docs/reference/protocol-spec/ and the server.c of Redis.
constexpr Known kCodes[] = {
    {"NOAUTH", Cure::person, false, kWantsPassword},
    {"WRONGPASS", Cure::person, false, kWrongPassword},
    {"NOPERM", Cure::person, true, kNoPermission},
    {"DENIED", Cure::person, false,
     "is in protected mode and accepts only local connections; set a password or bind there"},
    {"READONLY", Cure::person, false,
     "is a read-only replica and can give no vote; use the address of its primary"},
    {"LOADING", Cure::time, false,
     "has just been started and is still loading its data; it can be used once it is done"},
    {"MASTERDOWN", Cure::time, false,
     "is a replica cut off from its primary; use the address of the primary"},
    {"MISCONF", Cure::time, false,
     "refuses writes since it cannot save to disk; see its log, disk space and permissions there"},
    {"NOSCRIPT", Cure::time, false, "does not know redlock's script"},
    {"OOM", Cure::time, false,
     "refuses writes since its memory is used up; raise maxmemory or make room"},
    // Ours: vouch.lua.
    {"HOLDS", Cure::time, false,
     "has the lock of the run around this one, but its list of holds is missing or too long; did "
     "somebody delete the holder hash?"},
    {"BUSY", Cure::time, true,
     "is busy with another client's long script; SCRIPT KILL (or FUNCTION KILL) there ends one "
     "that hangs"},
    {"NOREPLICAS", Cure::time, false,
     "refuses writes since too few replicas are connected; start them, or lower "
     "min-replicas-to-write there"},
    {"CLUSTERDOWN", Cure::time, false,
     "is part of a Redis Cluster that is down: too few of its primaries are up, or no node serves "
     "this slot"},
    {"MOVED", Cure::person, false, kIsCluster},
    {"ASK", Cure::time, false, kMovesSlot},
    {"TRYAGAIN", Cure::time, false, kMovesSlot},
    {"CROSSSLOT", Cure::person, false, kIsCluster},
};

// Many errors share the code ERR. Their wording tells them apart, here for the versions 5 to 7.2.
constexpr Known kPhrases[] = {
    {kUnread, Cure::person, false, kWantsPassword},
    {kFull, Cure::time, false,
     "has reached its maximum number of clients; raise maxclients or close idle ones"},
    {"The user executing the script can't", Cure::person, true, kNoPermission},
    {"ACL failure in script", Cure::person, true, kNoPermission},
    {"invalid password", Cure::person, false, kWrongPassword},
    {"without any password configured", Cure::person, false, kHasNoPassword},
    {"no password is set", Cure::person, false, kHasNoPassword},
    {"for 'auth' command", Cure::person, false,
     "knows no users (Redis 5); write the URI with a password alone, redis://:password@host"},
    {"DB index", Cure::person, false,
     "has no database of this number; see \"databases\" in its configuration"},
    {"SELECT is not allowed in cluster mode", Cure::person, false, kIsCluster},
    {"scripting support disabled", Cure::person, false,
     "runs no Lua scripts, which redlock needs (Garnet: start it with --lua)"},
    {"unknown command", Cure::person, true,
     "lacks a command; EVAL (Lua scripts) must be there and not renamed; if this is a Sentinel, "
     "write redis+sentinel://HOST:PORT/SERVICE"},
};

const Known* find_known(std::string_view text) {
  const std::string_view first = text.substr(0, text.find(' '));
  for (const Known& known : kCodes) {
    if (first == known.code) return &known;
  }
  for (const Known& known : kPhrases) {
    if (text.find(known.code) != text.npos) return &known;
  }
  // Redis 5 and 6 wrap an error raised inside a script: "ERR Error running script (call to f_…):
  // @user_script:2: @user_script: 2: -OOM command not allowed…".
  const std::size_t script = text.find("@user_script");
  if (script == text.npos) return nullptr;
  for (const Known& known : kCodes) {
    const std::string code = std::string(known.code) + ' ';
    for (const char* const before : {" ", " -"}) {
      if (text.find(before + code, script) != text.npos) return &known;
    }
  }
  return nullptr;
}

/// Null: it is not an error that we know.
const Known* known_error(const Value& reply) {
  return reply.type == Value::Type::error ? find_known(reply.text) : nullptr;
}

/// Of an error that we know, or empty.
std::string_view code_of(const Value& reply) {
  const Known* const known = known_error(reply);
  return known == nullptr ? std::string_view() : known->code;
}

bool hung_up(int error) {
  return error == 0 || error == ECONNRESET || error == EPIPE;
}

lock::Unreachable explain(std::string_view text, Fate fate, const Credentials& who = {}) {
  const Known* const known = find_known(text);
  const bool applied = fate == Fate::maybe_applied;
  if (known == nullptr) {
    return {applied, false, "answered with an error: " + shown(text, who.password)};
  }
  // A server that turns us away says so without reading our request.
  const bool turned_away =
      known->code == "DENIED" || known->code == kFull || known->code == kUnread;
  std::string why(known->why);
  if (known->why == kWrongPassword || known->why == kHasNoPassword) why += origin_of(who);
  if (known->why == kWrongPassword && !who.user.empty()) why += "; or the user is disabled";
  if (known->quote) why += " (it says: " + shown(text, who.password) + ")";
  return {applied && !turned_away, known->cure == Cure::person, std::move(why)};
}

}  // namespace

std::string untrusted(std::string_view text) {
  constexpr std::size_t kMost = 120;
  return os::printable(text, kMost);
}

lock::Unreachable connect_failed(const Endpoint& endpoint, int error) {
  const bool socket_file = endpoint.kind == Endpoint::Kind::unix_socket;
  switch (error) {
    case ECONNREFUSED:
      return never_sent(
          socket_file ? "connection refused: no server listens on this socket; start the server"
                      : "connection refused; is the server running, and is the port right?");
    case ENOENT:
    case ENOTDIR:
      return never_sent(
          "no such socket file; is the server running, and does its unixsocket setting name this "
          "file?");
    case EACCES:
    case EPERM:
      return never_sent(socket_file ? "permission denied on the socket; give this user access "
                                      "(its group, or unixsocketperm)"
                                    : "the system forbids this connection; see the firewall here");
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
      return never_sent(text_of(error) + "; is this host's network up, and the address right?");
    case ETIMEDOUT:  // the kernel gave up (TCP_USER_TIMEOUT) just before we did
      return never_sent("no answer to connecting" + std::string(kIsHostUp));
    case EMFILE:
    case ENFILE:
      return never_sent("cannot open a socket: " + text_of(error) +
                        "; raise the limit (ulimit -n)");
    default:
      return never_sent("cannot connect: " + text_of(error));
  }
}

lock::Unreachable connect_timed_out(const Endpoint& endpoint, Step step,
                                    std::chrono::milliseconds limit) {
  switch (step) {
    case Step::securing:
      return never_sent("no TLS handshake within " + in_ms(limit) +
                        "; it is stopped or overloaded, or does not speak TLS on this port (then "
                        "give its TLS port, or write redis://)");
    case Step::locating:
      return never_sent("no Sentinel named the primary within " + in_ms(limit));
    case Step::resolving:
      return never_sent("its name was not resolved within " + in_ms(limit) +
                        "; see DNS here, or use an address");
    case Step::authenticating:
      return never_sent("took the connection, but did not answer the first command within " +
                        in_ms(limit) + "; it is stopped or overloaded");
    case Step::connecting:
      break;
  }
  if (endpoint.kind == Endpoint::Kind::unix_socket) {
    return never_sent("did not accept a connection within " + in_ms(limit) +
                      "; it is stopped or overloaded");
  }
  return never_sent("no connection within " + in_ms(limit) + std::string(kIsHostUp));
}

lock::Unreachable lookup_failed(const Endpoint& endpoint, int error, int system_error) {
  const std::string host = "cannot resolve \"" + endpoint.address.host + "\": ";
  if (error == EAI_SYSTEM) return never_sent(host + text_of(system_error));
  if (error == EAI_AGAIN) {
    return never_sent(host + "the name server does not answer; see DNS here, or use an address");
  }
  if (error == EAI_NONAME || error == EAI_NODATA) {
    return {false, true, host + "no such host; is the name right?"};
  }
  return never_sent(host + gai_strerror(error));
}

lock::Unreachable connection_lost(int error) {
  if (hung_up(error)) return maybe("closed the connection; was it restarted? See its log");
  if (error == ETIMEDOUT) {
    return maybe("the connection broke: the host acknowledges nothing; is it up, and the network?");
  }
  return maybe("the connection broke: " + text_of(error));
}

lock::Unreachable lost_before_a_word(const Endpoint& endpoint, int error) {
  const bool socket_file = endpoint.kind == Endpoint::Kind::unix_socket;
  if (!hung_up(error) || socket_file) return connection_lost(error);
  return maybe(endpoint.tls
                   ? "closed the connection right after the TLS handshake; does it want a client "
                     "certificate (--tls-cert)? See its log"
                   : "closed the connection without an answer; does it want TLS (rediss://), or "
                     "was it restarted? See its log");
}

lock::Unreachable request_timed_out(std::chrono::milliseconds limit) {
  return maybe("did not answer within " + in_ms(limit) +
               "; it is stopped, overloaded or cut off (if only far away, raise --server-timeout)");
}

lock::Unreachable not_redis(Fate fate) {
  return {fate == Fate::maybe_applied, true,
          "does not speak the Redis protocol; is this the right port?"};
}

bool is_redirection(const Value& reply) {
  return reply.type == Value::Type::error &&
         (reply.text.starts_with("MOVED ") || is_for_one_request(reply.text));
}

bool is_momentary(const Value& reply) {
  return reply.type == Value::Type::error &&
         (reply.text.starts_with("TRYAGAIN") || reply.text.starts_with("CLUSTERDOWN"));
}

bool is_about_keys(const Value& reply) {
  return reply.type == Value::Type::error &&
         (reply.text.starts_with("TRYAGAIN") ||
          (reply.text.starts_with("NOPERM") && reply.text.find(" key") != std::string::npos));
}

bool is_about_hash(const Value& reply) {
  const auto names = [&reply](std::string_view command) {
    return reply.text.find(command) != std::string::npos;
  };
  return reply.type == Value::Type::error &&
         (reply.text.starts_with("NOSCRIPT") || names("evalsha") || names("EVALSHA"));
}

bool passes_with_time(const Value& reply) {
  const Known* const known = known_error(reply);
  return known != nullptr && known->cure == Cure::time;
}

bool turns_away(const Value& error) {
  constexpr std::string_view kAll[] = {"NOAUTH", "DENIED", "ERR max", "ERR Protocol"};
  return std::ranges::any_of(kAll, [&](auto start) { return error.text.starts_with(start); });
}

bool is_for_one_request(std::string_view redirection) {
  return redirection.starts_with("ASK ");
}

lock::Unreachable slot_is_moving() {
  return never_sent(std::string(kMovesSlot));
}

bool is_of_replica(const Value& reply) {
  const std::string_view code = code_of(reply);
  return code == "READONLY" || code == "MASTERDOWN" ||
         (reply.type == Value::Type::array && reply.elements.size() == 2 &&
          reply.elements.front().text == "replica");
}

std::optional<lock::Unreachable> outdated(const Value& reply) {
  if (is_of_replica(reply)) {
    return never_sent("has become a replica; is a fail-over in progress?");
  }
  if (code_of(reply) == "CLUSTERDOWN") return explain(reply.text, Fate::never_sent);
  return std::nullopt;
}

lock::Unreachable error_reply(std::string_view text) {
  return explain(text, Fate::maybe_applied);
}

lock::Unreachable handshake_refused(const Value& reply, const Credentials& credentials) {
  if (reply.type != Value::Type::error) {
    return {false, true,
            "answered AUTH or SELECT with something other than OK; is it a Redis server?"};
  }
  return explain(reply.text, Fate::never_sent, credentials);
}

lock::Unreachable unexpected_reply(const Value& reply) {
  if (reply.type == Value::Type::error) return error_reply(reply.text);
  return maybe("gave an answer that redlock's script does not give; is there a proxy in between?");
}

}  // namespace redlock::redis
