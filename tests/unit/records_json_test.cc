// SPDX-License-Identifier: MIT
#include "records/records.h"

#include "doctest.h"

#include <limits>

namespace redlock::records {
namespace {

std::string written(const Json& value) {
  return value.output();
}

TEST_CASE("objects and arrays: indented, keys in the order given, empty ones in one line") {
  const Json value = Json::object({{"z", 1},
                                   {"a", Json::array({true, nullptr, "x"})},
                                   {"none", std::optional<int>()},
                                   {"in", Json::object({{"deep", Json::array({Json::array({})})}})},
                                   {"empty", Json::object({})}});
  CHECK(written(value) == R"({
  "z": 1,
  "a": [
    true,
    null,
    "x"
  ],
  "none": null,
  "in": {
    "deep": [
      []
    ]
  },
  "empty": {}
}
)");
}

TEST_CASE("numbers: whole ones as they are, others never look like them") {
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615\n");
  CHECK(written(-2.0) == "-2.0\n");
  CHECK(written(29.999) == "29.999\n");
  CHECK(written(1e15) == "1e+15\n");
  CHECK(written(std::numeric_limits<double>::infinity()) == "null\n");
}

TEST_CASE("printed texts are ASCII; each byte that is not UTF-8 is replaced") {
  CHECK(written("a\"b\\c/\n") == "\"a\\\"b\\\\c/\\n\"\n");
  CHECK(written("\x1b[2J\x7f") == "\"\\u001b[2J\\u007f\"\n");
  CHECK(written(std::string("\0", 1)) == "\"\\u0000\"\n");
  CHECK(written("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") == "\"\\u00e4\\u20ac\\ud83d\\ude00\"\n");
  CHECK_MESSAGE(written("\xff") == "\"\\ufffd\"\n", "begins nothing");
  CHECK_MESSAGE(written("\xe2\x82x") == "\"\\ufffdx\"\n", "goes on as something else");
}

TEST_CASE("a record is one line, and keeps what is UTF-8") {
  const std::string record = to_json(Holder{.host = "h", .user = "J\xc3\xb6rg\n\xff", .pid = -1});
  CHECK(record == "{\"command\":\"\",\"host\":\"h\",\"pid\":-1,\"protocol\":" +
                      std::to_string(lock::kProtocol) +
                      ",\"since\":0,\"ttl\":0,\"user\":\"J\xc3\xb6rg\\n\xef\xbf\xbd\"}");
}

TEST_CASE("fields: those of the outermost object only; of several with one key the last counts") {
  const auto read = read_holder(
      R"({"host":"x","b":{"host":"deep","ttl":1},"d":[7,{"host":"deeper"}],"message":{"user":"deep"},
          "pid":1,"pid":"y","since":1,"since":[2],"protocol":2,"protocol":3})");
  REQUIRE(read);
  CHECK(read->host == "x");
  CHECK(read->user.empty());
  CHECK(read->message.empty());
  CHECK(read->ttl.count() == 0);
  CHECK(read->pid == 0);
  CHECK(read->since.count() == 0);
  CHECK(read->protocol == 3);
}

TEST_CASE("fields of what is very deep") {
  const std::string deep(100'000, '[');
  CHECK_FALSE(read_holder("{\"a\":" + deep));
  const auto read = read_holder("{\"a\":" + deep + std::string(100'000, ']') + ",\"pid\":1}");
  REQUIRE(read);
  CHECK(read->pid == 1);
}

}  // namespace
}  // namespace redlock::records
