// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/table.h"

namespace redlock::config {
namespace {

TEST_CASE("toml_file: what is TOML passes") {
  const std::vector<std::string> texts = {
      "",
      "\n\r\n  # nothing \xc3\xa9 \xff\n",
      "\xef\xbb\xbfttl = 50",
      "ttl=50",
      "ttl = \"50s\" # as text\r\nprefix = 'a\\'\r\n",
      "servers = [\n  \"redis://db1\", # one\n\n  'redis://db2',\n]\n",
      "servers = []",
      "on-lost = \"\"\"\nlogger \\\"x\\\" \"\"\"\"\n",
      "on-lost = '''\n[= \xc3\xa4 '' '''",
      "prefix = \"\xc3\xa4\"",
      "prefix = \"\\u00e4\\U0010FFFF\\n\\\\\\\"\"",
      "prefix = \"\"\"\\\n  a\\\r\n\"\"\"",
      "prefix = \"\"\"\\ \n\n  a\xc3\xa4\n\xef\xba\xbf\"\"\"",
      "\"\xc3\xa4\" = 1",
      "a.\"b c\" . d = { x = 1, 'y' = [true, [inf]] }",
      "[a]\n[[ a . b ]] # more\nx = -1.5e-3",
      "ttl = 2026-11-21\nwhen = 2026-11-21T02:30:00Z",
      "ttl = s3cret",
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK_NOTHROW(check_toml(text));
  }
}

TEST_CASE("toml_file: a text that is not TOML is refused, with its line") {
  struct Row {
    std::string text;
    unsigned line;
  };
  const std::vector<Row> rows = {
      {"[=", 1},
      {"\n[ =", 2},
      {"[[=", 1},
      {"[[[", 1},
      {"[.", 1},
      {"[]", 1},
      {"[a", 1},
      {"[a]x", 1},
      {"[[a]", 1},
      {"[a.=", 1},
      {"\xc3\xa4 = 1", 1},
      {"ttl = 1\na.\xc3\xa4 = 1", 2},
      {"[\xc3\xa4]", 1},
      {"ttl = \xc3\xa4", 1},
      {"servers = [\n\xc3\xa4]", 2},
      {"ttl = {\xc3\xa4=1}", 1},
      {"ttl = [}", 1},
      {"ttl = [,]", 1},
      {"ttl = [1 2]", 1},
      {"ttl = {1}", 1},
      {"ttl = {a=1,}", 1},
      {"ttl = {a=1\n}", 1},
      {"ttl = 1979-05-27true", 1},
      {"ttl = 07:32:0", 1},
      {"ttl = 1-2", 1},
      {"ttl = 1 2", 1},
      {"ttl =", 1},
      {"ttl = # nothing", 1},
      {"= 1", 1},
      {"ttl", 1},
      {".a = 1", 1},
      {"a. = 1", 1},
      {"\"\"\"a\"\"\" = 1", 1},
      {"\n\"a = 1", 2},
      {"ttl = \"a", 1},
      {"ttl = 'a\n'", 1},
      {"ttl = \"a\\\n\"", 1},
      {"\nttl = \"\"\"\n\n", 2},
      {"ttl = \"\"\"\\\"\"\"", 1},
      {"ttl = \"\\\xc3\xa4\"", 1},
      {"\nttl = \"\"\"\n\\\xc3\xa4\"\"\"", 3},
      {"ttl = \"\"\"\\ \xef\xba\xbf\"\"\"", 1},
      {"ttl = \"\"\"\\\n\xc3\xa4\"\"\"", 2},
      {"ttl = \"\"\"a\\\r\n\n \t\xef\xba\xbf\"\"\"", 3},
      {"ttl = \"\\u00\xc3\xa4\"", 1},
      {"ttl = \"\\U0010fff\"", 1},
      {"ttl = \"\\", 1},
      {"ttl = 1\rprefix = 2", 1},
      {"\x01", 1},
      {std::string("ttl = \0", 7), 1},
      {"\xff", 1},
      {"ttl = " + std::string(5000, '['), 1},
      {"ttl = " + std::string(100, '[') + std::string(100, ']'), 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    try {
      check_toml(row.text);
      FAIL_CHECK("not refused");
    } catch (const NotToml& trouble) {
      CHECK(trouble.line == row.line);
    }
  }
}

}  // namespace
}  // namespace redlock::config
