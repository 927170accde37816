// SPDX-License-Identifier: MIT
#include "doctest.h"

#include <map>
#include <string>
#include <vector>

#include "config/table.h"
#include "error.h"

namespace redlock::config {
namespace {

Draft read(const std::string& text) {
  Draft draft;
  draft.config_file = "f";
  read_toml(text, draft);
  return draft;
}

/// The message for a text with a mistake, without "f:".
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::config);
    return std::string(error.what()).substr(2);
  }
  return "no error";
}

TEST_CASE("toml_file: strings as TOML writes them") {
  const std::map<std::string, std::string> strings = {
      {R"("")", ""},
      {R"("a b")", "a b"},
      {R"('a\')", "a\\"},
      {R"("\"\\\b\t\n\f\r")", "\"\\\b\t\n\f\r"},
      {R"("\u00e4\u20AC\U0001f512")", "\u00e4\u20ac\U0001f512"},
      {"\"\u00e4\"", "\u00e4"},
      {"\"a\tb\" # a comment", "a\tb"},
      {"\"# no comment\"", "# no comment"},
      {"\"\"\"\none\r\ntwo\"\"\"", "one\ntwo"},
      {"'''one\n  two\\n'''", "one\n  two\\n"},
      {"\"\"\"a\\\n\r\n  b \\ \r\n c\"\"\"", "ab c"},
      {R"("""""a"" b""""")", "\"\"a\"\" b\"\""},
      {"''''a'''''", "'a''"},
  };
  for (const auto& [written, expected] : strings) {
    const std::string text = written;  // clang 14 captures no structured binding
    CAPTURE(text);
    CHECK(read("on-lost = " + text + "\n").settings.on_lost == expected);
  }
}

TEST_CASE("toml_file: numbers as TOML writes them") {
  const std::vector<std::pair<std::string, int>> numbers = {
      {"30", 30'000},   {"+30", 30'000},  {"3_0", 30'000},    {"0x1e", 30'000},
      {"0o36", 30'000}, {"0b1_1", 3'000}, {"2.5", 2'500},     {"1_0.2_5", 10'250},
      {"3e1", 30'000},  {"25E-1", 2'500}, {"0.1e+2", 10'000}, {"0", 0},
      {"-0", 0},        {"1e-9", 0},      {"0.000000001", 0}, {"3155760000", -1},
  };
  for (const auto& [written, expected] : numbers) {
    const std::string text = written;
    CAPTURE(text);
    if (expected < 0) {
      CHECK(refusal("server-wait = " + text).starts_with("1: server-wait: expected a time ("));
    } else {
      CHECK(read("server-wait = " + text).settings.server_wait.count() == expected);
    }
  }
  for (const std::string text :
       {"030", "1__0", "_1", "1_", "1.", ".5", "1e", "1e1.5", "0X1", "+0x1", "1-2", "inf", "-nan",
        "1979-05-27", "07:32:00", "s3cret", "{a=1}"}) {
    CAPTURE(text);
    CHECK(refusal("server-wait = " + text) ==
          "1: server-wait: expected a time such as \"30s\", or a number of seconds");
  }
}

TEST_CASE("toml_file: keys, arrays, comments and ends of lines") {
  const Draft draft = read(
      "\xef\xbb\xbf# \u00e4\r\n\n\t'ttl'=50\r\n"
      "\"server-w\\u0061it\" = '7'#\n"
      "servers = [ # one\n  \"redis://db1\" , # two\n\r\n  'redis://db2',\n]\n"
      "tls-insecure = true");
  CHECK(draft.settings.ttl.count() == 50'000);
  CHECK(draft.settings.server_wait.count() == 7'000);
  CHECK(draft.settings.servers.size() == 2);
  CHECK(draft.settings.tls.verify == redis::TlsSettings::Verify::nothing);
  CHECK(draft.of("ttl").line == 3);
  CHECK(draft.of("server").line == 5);
  for (const std::string nothing : {"", "\n", "# ttl = 3", "\xef\xbb\xbf", " \t\r\n#\r\n"}) {
    CHECK(read(nothing).given.empty());
  }
}

TEST_CASE("toml_file: whether the file has a password") {
  const std::map<std::string, Content> files = {
      {"password = 'x'", Content::secret},
      {"password = ''", Content::settings},
      {"servers = ['redis://:x@one']", Content::secret},
      {"servers = ['redis://one']", Content::settings},
  };
  for (const auto& [text, expected] : files) {
    Draft draft;
    CHECK(read_toml(text, draft) == expected);
  }
}

TEST_CASE("toml_file: each mistake has its line and a cure") {
  const std::string a_string = "expected a string in quotes";
  const std::string a_list = "expected an array of strings, such as [\"redis://db1\"]";
  const std::string key_value = "expected KEY = VALUE (a comment begins with #)";
  const std::string no_tables = "there are no [tables] in this file; remove this line";
  const std::string no_dots = "a key has no dots, as there are no [tables] in this file";
  const std::string unclosed = "a string has no closing quote";
  const std::string escape =
      "no escape begins with this \\; write \\\\, or put the string in single quotes";
  const std::string rest =
      "unexpected text after the value (a comment begins with #; a quote in \"...\" is \\\")";
  const std::string characters = "expected text in UTF-8 without control characters";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"[redlock]\nttl = 3", "1: " + no_tables},
      {"\n[[a.b]]", "2: " + no_tables},
      {"ttl.x = 1", "1: " + no_dots},
      {"a" + std::string(130'000, '.') + "a = 1", "1: " + no_dots},
      {"ttl", "1: " + key_value},
      {"ttl\n= 3", "1: " + key_value},
      {"ttl: 30s", "1: " + key_value},
      {"= 3", "1: " + key_value},
      {"'' = true", "1: " + key_value},
      {"\u00e4 = 3", "1: " + key_value},
      {"\"\"\"ttl\"\"\" = 3", "1: " + key_value},
      {"\n\ntll = 3", "3: unknown key 'tll', did you mean ttl? (see redlock.toml(5))"},
      {"color = 'never'", "1: unknown key 'color' (see redlock.toml(5))"},
      {"ttl = 50\n\nttl = 50", "3: ttl: line 1 sets it, too; remove one of the two"},
      {"ttl =", "1: ttl: expected a value"},
      {"ttl =\n3", "1: ttl: expected a value"},
      {"ttl = # 3", "1: ttl: expected a value"},
      {"ttl = 30 s", "1: ttl: " + rest},
      {"ttl = \"30s\"\rprefix = 'p'", "1: " + characters},
      {"prefix = \"a\"b\"", "1: prefix: " + rest},
      {"prefix = \"a", "1: prefix: " + unclosed},
      {"prefix = 'a\n'", "1: prefix: " + unclosed},
      {"\non-lost = \"\"\"\n\n", "2: on-lost: " + unclosed},
      {"on-lost = '''a''", "1: on-lost: " + unclosed},
      {"on-lost = \"a\\", "1: on-lost: " + escape},
      {"on-lost = \"C:\\dir\"", "1: on-lost: " + escape},
      {"on-lost = \"\\u00g4\"", "1: on-lost: " + escape},
      {"on-lost = \"\\ud800\"", "1: on-lost: " + escape},
      {"on-lost = \"\\UFFFFFFFF\"", "1: on-lost: " + escape},
      {"on-lost = \"\"\"\n\\\u00e4\"\"\"", "2: on-lost: " + escape},
      {"on-lost = \"a\\\nb\"", "1: on-lost: " + escape},
      {"servers = 'redis://a', 'redis://b'", "1: servers: " + a_list},
      {"servers = redis://a", "1: servers: " + a_list},
      {"servers = [\n3]", "2: servers: " + a_list},
      {"servers = []", "1: servers: expected at least one"},
      {"servers = ['redis://a b']", "1: servers: expected one URI in each string"},
      {"\nservers = ['redis://a',\n\n", "2: servers: an array has no closing ]"},
      {"servers = ['redis://a'", "1: servers: an array has no closing ]"},
      {"servers = ['redis://a'\n'redis://b']", "2: servers: expected a , or ] after each string"},
      {"servers = [,]", "1: servers: expected a value"},
      {"servers = [['redis://a']]", "1: servers: " + a_list},
      {"ttl = " + std::string(130'000, '['), "1: ttl: an array has no closing ]"},
      {"prefix = true", "1: prefix: " + a_string},
      {"password = s3cret", "1: password: " + a_string},
      {"tls-insecure = 1", "1: tls-insecure: expected true or false, without quotes"},
      {"replicas = '1'", "1: replicas: expected a whole number, without quotes"},
      {"replicas = 1.0", "1: replicas: expected a whole number, without quotes"},
      {"# a\xff", "1: " + characters},
      {"ttl = 50\n\x01", "2: " + characters},
      {std::string("ttl = 5\0", 8), "1: " + characters},
      {"prefix = \"\xed\xa0\x80\"", "1: " + characters},
  };
  for (const auto& [written, expected] : mistakes) {
    const std::string text = written;
    CAPTURE(text.substr(0, 80));
    CHECK(refusal(text) == expected);
  }
}

}  // namespace
}  // namespace redlock::config
