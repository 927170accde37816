// SPDX-License-Identifier: MIT
#include "doctest.h"

#include "contains.h"
#include "each_of.h"
#include "error.h"
#include "redis/wire/uri.h"

using redlock::Error;
using redlock::ExitStatus;
using redlock::redis::Endpoint;
using redlock::redis::parse_uri;
using redlock::tests::contains;

namespace {

std::string refusal_of(const std::string& uri) {
  try {
    (void)parse_uri(uri);
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::usage);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("of more than three nodes, a message names the first one and how many more there are") {
  const auto brief = [](std::string_view uri) { return parse_uri(uri).brief(); };
  CHECK(brief("redis://db1") == "redis://db1:6379");
  CHECK(brief("redis+cluster://a,b,c") == "redis+cluster://a:6379,b:6379,c:6379");
  CHECK(brief("rediss+cluster://u:p@a,b:1,c,d,e,f") == "rediss+cluster://u:***@a:6379 and 5 more");
  CHECK(brief("redis+sentinel://a,b,c,d/svc/1") == "redis+sentinel://a:26379/svc/1 and 3 more");
  CHECK(parse_uri("redis+cluster://a,b,c,d").display() ==
        "redis+cluster://a:6379,b:6379,c:6379,d:6379");
}

TEST_CASE("uri: a URI and the one form it is shown in, which means the same when read again") {
  struct Row {
    std::string uri;
    std::string shown;
  };
  const std::vector<Row> rows = {
      {"redis://db1", "redis://db1:6379"},
      {"redis://db1/", "redis://db1:6379"},
      {"valkey://db1:1/0", "redis://db1:1"},
      {"rediss://db1", "rediss://db1:6379"},
      {"valkeys://u:p@db1:1/2", "rediss://u:***@db1:1/2"},
      {"REDIS://DB1:65535/2147483647", "redis://DB1:65535/2147483647"},
      {"redis://10.0.0.1:7000/3", "redis://10.0.0.1:7000/3"},
      {"redis://[::1]", "redis://[::1]:6379"},
      {"redis://[fe80::1%25eth0]:6380", "redis://[fe80::1%25eth0]:6380"},
      {"redis://:secret@db1", "redis://:***@db1:6379"},
      {"redis://backup:secret@db1:6379/2", "redis://backup:***@db1:6379/2"},
      {"redis://backup:@db1", "redis://backup:@db1:6379"},
      {"redis://a%40b:s%3A%2F%40%3F@db1", "redis://a%40b:***@db1:6379"},
      {"unix:///run/redis/redis.sock", "unix:///run/redis/redis.sock"},
      {"unix:///run/redis@1.sock?db=4", "unix:///run/redis@1.sock?db=4"},
      {"unix://u:p@/run/a%20b.sock", "unix://u:***@/run/a%20b.sock"},
      {"unix:///a?db=0", "unix:///a"},
      {"redis+cluster://db1,db2:7000,[::1]:1", "redis+cluster://db1:6379,db2:7000,[::1]:1"},
      {"rediss+cluster://u:p@db1/0", "rediss+cluster://u:***@db1:6379"},
      {"Valkeys+Cluster://db1", "rediss+cluster://db1:6379"},
      {"redis+sentinel://s1,s2:1/svc", "redis+sentinel://s1:26379,s2:1/svc"},
      {"redis+sentinel://s1/svc/", "redis+sentinel://s1:26379/svc"},
      {"valkey+sentinel://u:p@s1/my%20svc/3?sentinel_username=x&sentinel_password=y",
       "redis+sentinel://u:***@s1:26379/my%20svc/3"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.uri);
    CHECK(parse_uri(row.uri).display() == row.shown);
    CHECK(parse_uri(row.shown).display() == row.shown);
  }
}

TEST_CASE("uri: parts are decoded") {
  const Endpoint tcp = parse_uri("redis://a%40b:p:w%2F%40%25@db1:7/1");
  CHECK(tcp.kind == Endpoint::Kind::tcp);
  CHECK(tcp.credentials.user == "a@b");
  CHECK(tcp.credentials.password == "p:w/@%");
  CHECK(tcp.address.host == "db1");
  CHECK(tcp.address.port == 7);
  CHECK(tcp.db == 1);
  CHECK_FALSE(tcp.tls);
  CHECK(parse_uri("rediss://db1").tls);
  CHECK(parse_uri("ValkeyS://db1").tls);
  const Endpoint unix_socket = parse_uri("unix://:x@/run/a%3Fb?db=5");
  CHECK(unix_socket.kind == Endpoint::Kind::unix_socket);
  CHECK(unix_socket.path == "/run/a?b");
  CHECK(unix_socket.credentials.user.empty());
  CHECK(unix_socket.credentials.password == "x");
  CHECK(unix_socket.db == 5);
  CHECK(parse_uri("redis://[fe80::1%25eth0]").address.host == "fe80::1%eth0");
}

TEST_CASE("uri: refused, with the reason") {
  struct Row {
    std::string uri;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {"", "is empty"},
      {"db1", "not a valid server URI; put redis:// before the host: redis://HOST:PORT"},
      {"db1:6379", "not a valid server URI; put redis:// before the host"},
      {"/run/redis.sock", "not a valid server URI; put unix:// before the path: unix:///PATH"},
      {"redis://a,redis://b", "separate several servers by blanks, not by commas"},
      {"redis://a:6379,redis://b:6379", "separate several servers by blanks, not by commas"},
      {"redis://a;redis://b", "separate several servers by blanks, not by semicolons"},
      {"redis://a,", "separate several servers by blanks, not by commas"},
      {"redis:/db1", "not a valid server URI"},
      {"http://db1", "unknown scheme"},
      {"://db1", "unknown scheme"},
      {"unix+cluster:///a", "unknown scheme"},
      {"redis+galaxy://db1", "unknown scheme"},
      {"redis+cluster://", "no host"},
      {"redis+cluster://db1,,db2", "no host"},
      {"redis+cluster://db1,", "separate several servers by blanks"},
      {"redis+cluster://db1,redis+cluster://db2", "separate several servers by blanks"},
      {"redis+cluster://db1:1,db1:1", "db1:1 occurs twice"},
      {"redis+cluster://db1/1", "has only database 0"},
      {"redis+cluster://db1?db=1", "takes no ?query"},
      {"redis+cluster://::1,db1", "must be in brackets"},
      {"redis+sentinel://db1", "the name that the Sentinels have for the primary is missing"},
      {"redis+sentinel://db1/", "the name that the Sentinels have for the primary is missing"},
      {"redis+sentinel://db1/svc/x", "the database must be a number"},
      {"redis+sentinel://db1/svc?db=1", "the only query keys are sentinel_username"},
      {"redis+sentinel://db1/svc?sentinel_password", "the only query keys are"},
      {"redis+sentinel://db1/svc?sentinel_password=", "sentinel_password is empty"},
      {"redis+sentinel://db1/svc?sentinel_username=u", "needs a sentinel_password"},
      {"redis+sentinel://db1/svc?sentinel_password=a&sentinel_password=b", "is given twice"},
      {"redis://", "no host"},
      {"redis://:6379", "no host"},
      {"redis:///0", "no host"},
      {"redis://db1:", "port"},
      {"redis://db1:0", "port"},
      {"redis://db1:65536", "port"},
      {"redis://db1:+1", "port"},
      {"redis://db1:63x", "port"},
      {"redis://db1:99999999999999999999", "port"},
      {"redis://db1/x", "database"},
      {"redis://db1/-1", "database"},
      {"redis://db1/1/2", "database"},
      {"redis://db1/2147483648", "database"},
      {"redis://db1?db=1", "written /N"},
      {"redis://db1#1", "%23"},
      {"redis://::1:6379", "brackets"},
      {"redis://h1:26379,h2:26379", "redis+cluster://HOST,HOST, or Sentinels, redis+sentinel://"},
      {"rediss://:p@h1,h2/0", "several independent servers are one URI each"},
      {"redis://[::1", "without"},
      {"redis://[::1]6379", "may follow"},
      {"redis://[db1]", "not an IPv6 address"},
      {"redis://d b", "spaces"},
      {"redis://db1\n", "control bytes"},
      {"redis://d%62", "letters"},
      {"redis://x@db1:7/2", "redis://:PASSWORD@HOST or redis://USER:PASSWORD@HOST "},
      {"valkey://x@db1", "valkey://:PASSWORD@HOST or valkey://USER:PASSWORD@HOST "},
      {"unix://x@/run/a", "unix://:PASSWORD@/PATH or unix://USER:PASSWORD@/PATH "},
      {"redis://@db1", "no user and no password"},
      {"redis://:@db1", "no user and no password"},
      {"redis://:p@ss@db1", "%40"},
      {"redis://:p/ss@db1", "%2F"},
      {"redis://:p%zz@db1", "hex"},
      {"redis://:p%4@db1", "hex"},
      {"redis://:p%@db1", "hex"},
      {"redis://:p%0A@db1", "control bytes"},
      {"redis://:p%00@db1", "control bytes"},
      {"unix://", "no path"},
      {"unix://?db=1", "no path"},
      {"unix://run/redis.sock", "absolute"},
      {"unix://u:p@run/redis.sock", "absolute"},
      {"unix:///", "directory"},
      {"unix:///run/", "directory"},
      {"unix:///a?db=", "database"},
      {"unix:///a?db=x", "database"},
      {"unix:///a?db=1&db=2", "twice"},
      {"unix:///a?password=geheim", "only query key"},
      {"unix:///" + std::string(107, 'a'), "107 bytes"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.uri);
    const std::string why = refusal_of(row.uri);
    CHECK_MESSAGE(contains(why, row.reason), why);
  }
  CHECK(refusal_of("unix:///" + std::string(106, 'a')) == "accepted");
}

TEST_CASE("uri: at most 64 nodes") {
  for (const std::string scheme : {"redis+cluster://", "redis+sentinel://"}) {
    std::string nodes = scheme + "node1";
    for (int node = 2; node <= 64; ++node) nodes += ",node" + std::to_string(node);
    const std::string service = scheme.find("sentinel") == std::string::npos ? "" : "/service";
    CHECK(refusal_of(nodes + service) == "accepted");
    CHECK(contains(refusal_of(nodes + ",node65" + service), "more than 64 nodes"));
  }
}

TEST_CASE("uri: no message holds a secret") {
  for (const std::string uri : redlock::tests::each_of(
           "redis://geheim@db1", "unix://geheim@/a", "redis://ge@heim@db1",
           "redis://geheim@db1@db2", "redis://:geheim@db1:x", "redis://u:geheim@", "u:geheim@db1",
           "redis://:ge/geheim@db1", "redis://:a?geheim@db1", "redis://:a#geheim@db1",
           "redis://:geheim@a@b", "rediss://geheim@db1", "redis://:geheim%zz@db1",
           "redis://:geheim\n@db1", "unix://:geheim@run", "unix:///a?password=geheim",
           "redis://db1?password=geheim", "geheim@", "x://geheim@y://z", "redis://x@ge/geheim@db1",
           "redis://db1:geheim", "redis://db1/geheim", "redis://geheim!", "redis://[geheim]",
           "redis://:a@geheim b", "unix://x@/geheim", "unix://geheim", "geheim", "redis:geheim",
           "redis:/u:p@geheim", "geheim:x://db1", ":geheim@db1://x",
           "redis+sentinel://a,u:geheim/svc", "redis+sentinel://a/svc?sentinel_password=geheim&x=y",
           "redis+cluster://u:geheim/x@a,b", "redis://u:p?ge@h#geheim")) {
    CAPTURE(uri);
    const std::string why = refusal_of(uri);
    CHECK(why != "accepted");
    CHECK_FALSE(contains(why, "geheim"));
  }
}

TEST_CASE("uri: a rejected URI is shown if it is a place alone") {
  const auto shown = [](const std::string& uri) {
    return refusal_of(uri).starts_with('"' + uri + "\": ");
  };
  CHECK(shown("redis://db1:99999"));
  CHECK(shown("redis://db1:"));
  CHECK(shown("http://db1.example/2"));
  CHECK(shown("redis+cluster://db1,db_2:0"));
  CHECK(shown("redis+sentinel://db1"));
  CHECK(shown("unix:///run/redis/"));
  // Without its host, a password stands where a port does.
  for (const std::string rest :
       {"alice:20240117", "db1:0,alice:123456", "db1:6379x", "db1/x", ":99999", "u@db1", "db1:0?x",
        "db1:0#x", "[::1]:0", "db1:0/1/2", "db!", "d%62"}) {
    CAPTURE(rest);
    CHECK(refusal_of("redis://" + rest).starts_with("\"redis://***\": "));
  }
  for (const std::string uri :
       {"db1", "db1:0", "/run/redis.sock", "u:0@db1", "://db1", "a b://db1"}) {
    CAPTURE(uri);
    CHECK_FALSE(refusal_of(uri).starts_with('"'));
  }
  CHECK_FALSE(shown("redis://" + std::string(100, 'a') + ":0"));
}

TEST_CASE("uri: a password in a file is its first line, which may end as on Windows") {
  for (const std::string text : {"geheim", "geheim\n", "geheim\r\n", "geheim\r"}) {
    CHECK(redlock::redis::password_in(text) == "geheim");
  }
  CHECK(redlock::redis::password_in("geheim\n\n").empty());
}
