// SPDX-License-Identifier: MIT
#include <netdb.h>
#include "doctest.h"

#include <algorithm>
#include <cerrno>

#include "commands.h"
#include "contains.h"
#include "redis/tls/stream.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

using lock::Unreachable;
using tests::contains;
using tests::error_of;

TEST_CASE("trouble: error replies to EVAL") {
  struct Row {
    std::string reply;
    bool permanent;
    std::string why;
  };
  const std::string script =
      "ERR Error running script (call to f_1): @user_script:2: @user_script: 2: ";
  const std::vector<Row> rows = {
      {"NOAUTH Authentication required.", true, "wants a password"},
      {"ERR Protocol error: unauthenticated multibulk length", true, "wants a password"},
      {"ERR Protocol error: unauthenticated bulk length", true, "wants a password"},
      {"NOPERM this user has no permissions to run the 'eval' command", true, "'eval'"},
      {"DENIED Redis is running in protected mode because…", true, "protected mode"},
      {"READONLY You can't write against a read only replica.", true, "primary"},
      {script + "-READONLY You can't write against a read only replica.", true, "primary"},
      {script + "READONLY You can't write against a read only replica.", true, "primary"},
      {script + "-OOM command not allowed when used memory > 'maxmemory'.", false, "maxmemory"},
      {"OOM command not allowed when used memory > 'maxmemory'. script: f, on @user_script:2.",
       false, "maxmemory"},
      {script + "-MISCONF Redis is configured to save RDB snapshots, but…", false, "disk"},
      {script + "The user executing the script can't run this command or subcommand", true,
       "permission"},
      {"ERR ACL failure in script: User u has no permissions to run the 'set' command", true,
       "'set'"},
      {"HOLDS list missing or too long", false, "list of holds"},
      {"LOADING Redis is loading the dataset in memory", false, "loading"},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", false,
       "primary"},
      {"BUSY Redis is busy running a script. You can only call SCRIPT KILL", false, "SCRIPT KILL"},
      {"NOREPLICAS Not enough good replicas to write.", false, "replicas"},
      {"CLUSTERDOWN Hash slot not served", false, "Cluster that is down"},
      {"MOVED 3999 127.0.0.1:6381", true, "write redis+cluster://"},
      {"ASK 3999 127.0.0.1:6381", false, "moves the lock's slot"},
      {"TRYAGAIN Multiple keys request during rehashing of slot", false, "moves the lock's slot"},
      {"CROSSSLOT Keys in request don't hash to the same slot", true, "Cluster"},
      {"ERR max number of clients reached", false, "maxclients"},
      {"ERR max number of clients + cluster connections reached", false, "maxclients"},
      {"ERR unknown command `EVAL`, with args beginning with: `local x`", true, "EVAL"},
      {"ERR something new", false, "answered with an error: ERR something new"},
      {"", false, "answered with an error"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reply);
    const Unreachable trouble = error_reply(row.reply);
    // Turned away at the door: the server does not even read the request.
    const bool turned_away = row.reply.find("DENIED") == 0 ||
                             row.reply.find("unauthenticated") != std::string::npos ||
                             row.reply.find("max number of clients") != std::string::npos;
    CHECK(trouble.maybe_applied == !turned_away);
    CHECK(trouble.permanent == row.permanent);
    const bool known = !contains(trouble.why, "answered with an error");
    CHECK(passes_with_time(error_of(row.reply)) == (known && !row.permanent));
    const bool momentary =
        row.reply.starts_with("TRYAGAIN") || row.reply.starts_with("CLUSTERDOWN");
    CHECK(is_momentary(error_of(row.reply)) == momentary);
    CHECK_MESSAGE(contains(trouble.why, row.why), trouble.why);
    CHECK_FALSE(contains(trouble.why, "local x"));
  }
}

TEST_CASE("trouble: a code is a word, not a part of one, and not an argument's") {
  CHECK(contains(error_reply("ERR BUSY is a fine name").why, "answered with an error"));
  CHECK(contains(error_reply("ERR @user_script:1: BUSYBODY").why, "answered with an error"));
  CHECK(contains(error_reply("OOMPH x").why, "answered with an error"));
}

TEST_CASE("trouble: AUTH and SELECT refused") {
  struct Row {
    std::string reply;
    std::string why;
  };
  const std::vector<Row> rows = {
      {"WRONGPASS invalid username-password pair or user is disabled.", "wrong user or password"},
      {"ERR invalid password", "wrong user or password"},
      {"ERR Client sent AUTH, but no password is set", "leave it out"},
      {"ERR AUTH <password> called without any password configured for the default user. Are you "
       "sure your configuration is correct?",
       "leave it out"},
      {"ERR wrong number of arguments for 'auth' command", "Redis 5"},
      {"ERR DB index is out of range", "database"},
      {"ERR invalid DB index", "database"},
      {"ERR SELECT is not allowed in cluster mode", "Cluster"},
      {"NOPERM this user has no permissions to run the 'select' command", "'select'"},
      {"ERR unknown command `AUTH`, with args beginning with: `u`, `geheim`, ", "lacks a command"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reply);
    const Unreachable trouble = handshake_refused(error_of(row.reply), {"u", "geheim"});
    CHECK_FALSE(trouble.maybe_applied);
    CHECK(trouble.permanent);
    CHECK_MESSAGE(contains(trouble.why, row.why), trouble.why);
    CHECK_FALSE(contains(trouble.why, "geheim"));
  }
  CHECK(handshake_refused(Value{}, {}).permanent);
  CHECK_FALSE(handshake_refused(error_of("LOADING x"), {}).permanent);
}

TEST_CASE("trouble: a refused password: where it comes from, and what may be wrong with it there") {
  const auto why = [](const Credentials& who) {
    return handshake_refused(error_of("WRONGPASS invalid"), who).why;
  };
  const std::string from_file = "wrong user or password (the password is from /etc/secret";
  CHECK(why({"", "geheim", "/etc/secret"}) == from_file + ")");
  CHECK(why({"u", "geheim", "/etc/secret"}) == from_file + "); or the user is disabled");
  CHECK(why({"", "geheim\n", "/etc/secret"}) == from_file + " and ends with a newline)");
  CHECK(why({"", "geheim\r", "/etc/secret"}) == from_file + " and ends with a newline)");
  for (const std::string password : {"geheim ", "geheim\t", " geheim"}) {
    CHECK(why({"", password, "/etc/secret"}) == from_file + " and begins or ends with a blank)");
  }
  for (const std::string password : {"\"geheim\"", "'geheim'"}) {
    CHECK(why({"", password, "/etc/secret"}) == from_file + " and is in quotation marks)");
  }
  CHECK(why({"", "\"", "/etc/secret"}) == from_file + ")");
  CHECK(why({"u", "", ""}) ==
        "wrong user or password (no password is configured here); or the user is disabled");
  CHECK(contains(handshake_refused(error_of("ERR no password is set"), {"", "x", "V"}).why,
                 "the server has none; leave it out, or set requirepass (the password is from V)"));
}

TEST_CASE("trouble: what a server says is cut, cleaned, and never repeats a password") {
  const std::string nasty = "ERR \x1b[31m\r\n" + std::string(5000, 'x');
  const std::string why = error_reply(nasty).why;
  CHECK(why.size() < 200);
  CHECK(std::ranges::none_of(
      why, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  CHECK(contains(error_reply("ERR \x9bm \xc2\x9bm \xe2\x80\xaegpj \xd8\x9c.").why,
                 "ERR ?m ?m ?gpj ?."));
  const Unreachable echo =
      handshake_refused(error_of("ERR no geheim, geheimgeheim"), {"", "geheim"});
  CHECK_FALSE(contains(echo.why, "geheim"));
  // A password that is part of an error is no reason not to understand the error.
  CHECK(contains(handshake_refused(error_of("ERR max number of clients"), {"", "x"}).why,
                 "maxclients"));
  // A character of two bytes on the cut is left out as a whole.
  const std::string umlauts = error_reply("ERR x" + std::string(114, 'x') + "ää").why;
  CHECK(contains(umlauts, "x..."));
}

TEST_CASE("trouble: connecting") {
  Endpoint tcp;
  tcp.address.host = "db1";
  Endpoint unix_socket;
  unix_socket.kind = Endpoint::Kind::unix_socket;
  struct Row {
    int error;
    std::string over_tcp;
    std::string over_socket;
  };
  const std::string network = "; is this host's network up, and the address right?";
  const std::vector<Row> rows = {
      {ECONNREFUSED, "is the port right?", "no server listens on this socket"},
      {ENOENT, "no such socket file", "no such socket file"},
      {ENOTDIR, "no such socket file", "no such socket file"},
      {EACCES, "see the firewall here", "permission denied on the socket"},
      {EPERM, "see the firewall here", "permission denied on the socket"},
      {ENETUNREACH, network, network},
      {EHOSTUNREACH, network, network},
      {EADDRNOTAVAIL, network, network},
      {ETIMEDOUT, "no answer to connecting; is the host up", "no answer to connecting"},
      {EMFILE, "raise the limit (ulimit -n)", "raise the limit (ulimit -n)"},
      {ENFILE, "raise the limit (ulimit -n)", "raise the limit (ulimit -n)"},
      {EINVAL, "cannot connect: Invalid argument", "cannot connect: Invalid argument"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.error);
    for (const bool socket : {false, true}) {
      const Unreachable trouble = connect_failed(socket ? unix_socket : tcp, row.error);
      CHECK_MESSAGE(contains(trouble.why, socket ? row.over_socket : row.over_tcp), trouble.why);
      CHECK_FALSE(trouble.maybe_applied);
      CHECK_FALSE(trouble.permanent);
    }
  }
  const auto lookup = [&](int error, const std::string& why) {
    const Unreachable trouble = lookup_failed(tcp, error, EMFILE);
    CHECK_MESSAGE(contains(trouble.why, "cannot resolve \"db1\": " + why), trouble.why);
    return trouble.permanent;
  };
  CHECK(lookup(EAI_NONAME, "no such host"));
  CHECK(lookup(EAI_NODATA, "no such host"));
  CHECK_FALSE(lookup(EAI_AGAIN, "the name server does not answer"));
  CHECK_FALSE(lookup(EAI_SYSTEM, "Too many open files"));
  CHECK_FALSE(lookup(EAI_FAIL, gai_strerror(EAI_FAIL)));
  using std::chrono::milliseconds;
  const auto late = [&](const Endpoint& endpoint, Step step, const std::string& why) {
    const Unreachable trouble = connect_timed_out(endpoint, step, milliseconds(250));
    CHECK_FALSE(trouble.maybe_applied);
    CHECK_MESSAGE(contains(trouble.why, why + " within 250 ms"), trouble.why);
    return contains(trouble.why, "firewall");
  };
  CHECK(late(tcp, Step::connecting, "no connection"));
  CHECK_FALSE(late(unix_socket, Step::connecting, "did not accept a connection"));
  CHECK_FALSE(late(tcp, Step::locating, "no Sentinel named the primary"));
  CHECK_FALSE(late(tcp, Step::resolving, "its name was not resolved"));
  CHECK_FALSE(late(tcp, Step::securing, "no TLS handshake"));
  CHECK_FALSE(late(tcp, Step::authenticating, "did not answer the first command"));
  CHECK(request_timed_out(milliseconds(200)).maybe_applied);
  CHECK(contains(request_timed_out(milliseconds(200)).why, "did not answer within 200 ms"));
  CHECK(not_redis(Fate::maybe_applied).permanent);
  CHECK(not_redis(Fate::maybe_applied).maybe_applied);
  CHECK_FALSE(not_redis(Fate::never_sent).maybe_applied);
}

TEST_CASE("trouble: how a connection ended, which may have carried out the request") {
  for (const auto& [error, why] : std::vector<std::pair<int, std::string>>{
           {0, "was it restarted?"},
           {ECONNRESET, "was it restarted?"},
           {EPIPE, "was it restarted?"},
           {ETIMEDOUT, "the host acknowledges nothing"},
           {EIO, "the connection broke: Input/output error"}}) {
    const Unreachable trouble = connection_lost(error);
    CHECK_MESSAGE(contains(trouble.why, why), trouble.why);
    CHECK(trouble.maybe_applied);
    CHECK_FALSE(trouble.permanent);
    // Before the first word, a server that hangs up may want TLS, or a certificate.
    const bool hung_up = error == 0 || error == ECONNRESET || error == EPIPE;
    for (const char* const uri : {"redis://db1", "rediss://db1", "unix:///a"}) {
      const std::string early = lost_before_a_word(parse_uri(uri), error).why;
      CHECK((early == trouble.why) == (!hung_up || uri[0] == 'u'));
    }
  }
}

TEST_CASE("tls trouble: alerts, before the first answer and after") {
  struct Row {
    int number;
    bool ours;
    std::string part;
  };
  const std::string refused = "refuses our certificate (--tls-cert): ";
  const std::vector<Row> rows = {
      {116, false, "wants a client certificate"},
      {40, false, "does it want a client certificate"},
      {42, true, refused + "bad certificate; see its log"},
      {43, true, refused + "unsupported certificate; see its log"},
      {44, true, refused + "certificate revoked; see its log"},
      {45, true, refused + "certificate expired; see its log"},
      {46, true, refused + "certificate not accepted; see its log"},
      {48, true, refused + "unknown authority; see its log"},
      {49, true, refused + "access denied; see its log"},
      {48, false, "does it want a client certificate"},
      {70, false, "no TLS from 1.2 on"},
      {112, false, "does not answer to this name"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.number);
    const Unreachable early = alerted({row.number, row.ours, true});
    CHECK_MESSAGE(contains(early.why, row.part), early.why);
    CHECK(early.permanent);
    CHECK_FALSE(early.maybe_applied);
    const Unreachable late = alerted({row.number, row.ours, false});
    CHECK_FALSE(late.permanent);
    CHECK(late.maybe_applied);
  }
  // With a certificate of ours, the handshake did not fail for the lack of one.
  CHECK(contains(alerted({40, true, true}).why, "alert 40"));
  const Unreachable unknown = alerted({80, false, true});
  CHECK(contains(unknown.why, "alert 80"));
  CHECK_FALSE(unknown.permanent);
}

TEST_CASE("tls trouble: hung up before a word, with TLS and without") {
  const Unreachable plain = lost_before_a_word(parse_uri("redis://db1"), 0);
  CHECK(contains(plain.why, "does it want TLS (rediss://)"));
  CHECK(plain.maybe_applied);
  CHECK(contains(lost_before_a_word(parse_uri("rediss://db1"), 0).why, "client certificate"));
}

}  // namespace
}  // namespace redlock::redis
