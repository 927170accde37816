// SPDX-License-Identifier: MIT
//
// A file that is replaced, whatever stands in its place; the file that a command's name stands for.
#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "contains.h"
#include "error.h"
#include "forked.h"
#include "os/fd.h"
#include "os/process.h"

namespace redlock::os {
namespace {

/// A folder that ends with the test.
class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(at(name)) << text;
    REQUIRE(::chmod(at(name).c_str(), mode) == 0);
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(at(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                  std::filesystem::directory_iterator()));
  }

 private:
  std::string path_ = "/tmp/redlock-unit.XXXXXX";
};

TEST_CASE("files: what stands in the place of a file that is read or replaced") {
  struct Place {
    const char* what;
    std::function<void(const Folder& folder)> make;
    int replaced;  ///< errno
    int read;
    std::size_t others = 0;
  };
  const std::vector<Place> places = {
      {"nothing", [](const Folder&) {}, 0, ENOENT},
      {"a file", [](const Folder& in) { in.write("f", "old"); }, 0, 0},
      {"a file too long", [](const Folder& in) { in.write("f", "longer"); }, 0, E2BIG},
      {"a link",
       [](const Folder& in) {
         in.write("other", "old");
         REQUIRE(::symlink("other", in.at("f").c_str()) == 0);
       },
       ELOOP, EINVAL, 1},
      {"a link to nothing",
       [](const Folder& in) { REQUIRE(::symlink("none", in.at("f").c_str()) == 0); }, ELOOP,
       EINVAL},
      {"a pipe", [](const Folder& in) { REQUIRE(::mkfifo(in.at("f").c_str(), 0600) == 0); }, EINVAL,
       EINVAL},
      {"a socket",
       [](const Folder& in) {
         sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
         in.at("f").copy(name.sun_path, sizeof name.sun_path - 1);
         const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
         REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
       },
       EINVAL, EINVAL},
      {"a folder", [](const Folder& in) { REQUIRE(::mkdir(in.at("f").c_str(), 0700) == 0); },
       EINVAL, EINVAL}};
  for (const Place& place : places) {
    CAPTURE(place.what);
    const Folder folder;
    place.make(folder);
    const std::size_t before = folder.size();
    const WholeFile file(folder.at("f"));
    std::string text;
    CHECK(file.read(5, text) == place.read);
    // No room for it: the old file stays, and nothing else.
    CHECK(tests::forked([&] {
            std::signal(SIGXFSZ, SIG_IGN);
            const rlimit short_files{3, 3};
            ::setrlimit(RLIMIT_FSIZE, &short_files);
            return file.replace("longer") == (place.replaced == 0 ? EFBIG : place.replaced) ? 0 : 1;
          }) == 0);
    CHECK(folder.size() == before);
    CHECK(file.replace("new") == place.replaced);
    CHECK(folder.size() == (place.replaced == 0 ? 1 : before));
    if (place.replaced == 0) CHECK(folder.text("f") == "new");
    if (place.others > 0) CHECK(folder.text("other") == "old");
  }
}

TEST_CASE("files: a file keeps its mode, owner and group, but not what a stranger chose") {
  if (::geteuid() != 0) return;
  constexpr uid_t kFolders = 1001;
  const gid_t shared = 1003;
  const auto check = [&](uid_t owner, uid_t user) {
    CAPTURE(owner);
    CAPTURE(user);
    const Folder folder;
    folder.write("f", "old");
    REQUIRE(::chown(folder.path().c_str(), kFolders, shared) == 0);
    REQUIRE(::chmod(folder.path().c_str(), 0770) == 0);
    REQUIRE(::chown(folder.at("f").c_str(), owner, shared) == 0);
    REQUIRE(::chmod(folder.at("f").c_str(), 06646) == 0);
    CHECK(tests::forked([&] {
            ::umask(027);
            if (::setgroups(1, &shared) != 0 || ::setuid(user) != 0) return 1;
            return WholeFile(folder.at("f")).replace("new");
          }) == 0);
    struct stat status {};
    REQUIRE(::stat(folder.at("f").c_str(), &status) == 0);
    const bool stranger = owner != user && owner != kFolders;
    CHECK((status.st_mode & 07777) == (stranger ? 0640 : 0646));     // and no set-user-ID
    CHECK(status.st_uid == (stranger || user != 0 ? user : owner));  // only root gives files away
    CHECK(status.st_gid == (stranger ? 0 : shared));
  };
  for (const uid_t user : {uid_t{0}, uid_t{1004}}) {
    for (const uid_t owner : {user, kFolders, uid_t{1002}}) check(owner, user);
  }
}

TEST_CASE("files: a command without a slash is looked for in PATH; an empty part: this folder") {
  const Folder folder;
  for (const char* each : {"a", "b", "c"}) REQUIRE(::mkdir(folder.at(each).c_str(), 0700) == 0);
  folder.write("a/run", "", 0700);
  folder.write("b/run", "", 0600);  // must not run
  REQUIRE(::mkdir(folder.at("c/run").c_str(), 0700) == 0);
  const std::string a = folder.at("a"), b = folder.at("b"), c = folder.at("c");
  struct Look {
    std::string path, here, found;
  };
  const std::vector<Look> looks = {{a, "/", a + "/run"},
                                   {b + ":" + a, "/", a + "/run"},
                                   {c + ":" + a, "/", a + "/run"},
                                   {"", a, "run"},
                                   {":" + b, a, "run"},
                                   {b + ":", a, "run"},
                                   {b + "::" + c, a, "run"},
                                   {a + ":" + b, "/", a + "/run"},
                                   {b + ":" + c, "/", c + "/run"}};
  for (const Look& look : looks) {
    CAPTURE(look.path);
    CHECK(tests::forked([&] {
            if (::chdir(look.here.c_str()) != 0) return 1;
            ::setenv("PATH", look.path.c_str(), 1);
            return file_of("run") == look.found ? 0 : 2;
          }) == 0);
    CHECK(file_of("./run") == "./run");
  }
}

TEST_CASE("files: what is kept in memory is for nobody else, and for no other program") {
  const Fd file = make_memory_file("secret");
  struct stat status {};
  REQUIRE(::fstat(file.get(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK((::fcntl(file.get(), F_GETFD) & FD_CLOEXEC) != 0);
  std::string text;
  CHECK(read_all(file.get(), text, 10) == 0);
  CHECK(text == "secret");
}

TEST_CASE("files: how many descriptors are missing is said, and none stays open") {
  for (const std::size_t free : {0U, 1U, 3U}) {
    for (std::size_t needed = 0; needed < 6; ++needed) {
      CAPTURE(free);
      CAPTURE(needed);
      CHECK(tests::forked([&] {
              const auto next = static_cast<std::size_t>(Fd(::dup(STDIN_FILENO)).get());
              const rlimit few{next + free, next + free};
              ::setrlimit(RLIMIT_NOFILE, &few);
              try {
                require_free_descriptors(needed);
                return needed <= free && static_cast<bool>(Fd(::dup(STDIN_FILENO))) == (free > 0)
                           ? 0
                           : 1;
              } catch (const Error& error) {
                const std::string missing =
                    ", " + std::to_string(needed - free) + " more are needed";
                return needed > free && tests::contains(error.what(), missing) ? 0 : 2;
              }
            }) == 0);
    }
  }
}

TEST_CASE("files: the environment of a job: dropped by the whole name, added at the end") {
  CHECK(tests::forked([] {
          ::clearenv();
          ::setenv("ONE", "1", 1);
          ::setenv("ONES", "2", 1);
          ::setenv("TWO", "3", 1);
          const std::vector<std::string> made = environment_with({"ONE", "TWO", ""}, {"TWO=4"});
          return made == std::vector<std::string>{"ONES=2", "TWO=4"} ? 0 : 1;
        }) == 0);
}

}  // namespace
}  // namespace redlock::os
