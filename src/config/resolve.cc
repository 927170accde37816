// SPDX-License-Identifier: MIT
#include "config/table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "config/value.h"
#include "error.h"
#include "os/fd.h"
#include "os/printable.h"

namespace redlock::config {
namespace {

using redis::Endpoint;

/// The content of a file. /dev/null counts as a file, and so does a pipe without a name (`<(…)`,
/// /dev/stdin). A named pipe (FIFO) does not: it may have no writer.
struct FileRead {
  int error = 0;      ///< errno; 0: no error
  bool fifo = false;  ///< a named pipe; nothing was read
  std::string text;
  struct stat status {};

  /// Why the file is unusable; empty: it is usable.
  [[nodiscard]] std::string trouble() const {
    if (fifo) return "it is a named pipe (FIFO), not a file";
    return error == 0 ? std::string() : std::generic_category().message(error);
  }
};

constexpr long kPipeFileSystem = 0x50495045;  // PIPEFS_MAGIC of linux/magic.h

/// `name`: what messages call the setting that names the file.
[[noreturn]] void reject_file(const std::string& name, const std::string& path,
                              const std::string& why) {
  throw Error(ExitStatus::config, name + " \"" + os::printable(path) + "\": " + why);
}

/// The descriptor with the content, by `lines` in the form of kPipesVariable; or empty.
os::Fd kept_content(std::string_view lines, const std::string& path) {
  for (const std::string_view line : parts_of(lines, "\n")) {
    const std::size_t blank = line.find(' ');
    if (line.substr(blank + 1) != path) continue;
    return os::Fd(os::whole_number<int>(line.substr(0, blank)).value_or(-1));
  }
  return {};
}

/// Reads the file, or more than `most` bytes of a file that is longer. Takes the content of a
/// pipe that an earlier redlock has read from there (draft.earlier_pipes). Stores that of a pipe in
/// draft.settings.pipes.
FileRead read_file(const std::string& path, std::size_t most, Draft& draft) {
  FileRead file;
  const os::Fd kept = kept_content(draft.earlier_pipes, path);
  const std::string where = kept ? "/proc/self/fd/" + std::to_string(kept.get()) : path;
  // O_NONBLOCK: open(2) must not wait for the writer of a pipe.
  const os::Fd fd(::open(where.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd || ::fstat(fd.get(), &file.status) != 0) {
    file.error = errno;
    return file;
  }
  const mode_t mode = file.status.st_mode;
  struct statfs system {};
  file.fifo =
      S_ISFIFO(mode) && ::fstatfs(fd.get(), &system) == 0 && system.f_type != kPipeFileSystem;
  if (file.fifo) return file;
  file.error = os::read_all(fd.get(), file.text, most);
  // A terminal, too, gives each line to one reader only.
  const bool once = kept || !S_ISREG(mode);
  if (once && !file.text.empty()) draft.settings.pipes.push_back({path, file.text});
  return file;
}

/// A file that others can open by this path, too: no pipe, and not what the shell opened for us
/// alone (/dev/stdin, /dev/fd/63).
bool is_kept(const FileRead& file, const std::string& path) {
  return S_ISREG(file.status.st_mode) && !path.starts_with("/dev/fd/") && path != "/dev/stdin" &&
         !path.starts_with("/proc/");
}

/// Warns if others may write the file, or read it although its content is secret. The group of a
/// file that root owns is the administrator's choice.
void warn_of_exposure(const FileRead& file, const std::string& path, Content content,
                      Settings& settings) {
  const mode_t mode = file.status.st_mode;
  const bool of_root = file.status.st_uid == 0;
  if (!is_kept(file, path)) return;
  const bool secret = content == Content::secret;
  if (!of_root && file.status.st_uid != ::geteuid() && (secret || !settings.on_lost.empty())) {
    settings.warnings.push_back("another user (uid " + std::to_string(file.status.st_uid) +
                                ") owns " + quote(path) + ", which " +
                                (secret ? "holds a password" : "may set what --on-lost runs") +
                                "; chown it to root, or to the user who runs redlock");
  }
  const mode_t others = mode & (of_root ? S_IRWXO : S_IRWXG | S_IRWXO);
  const bool read = secret && (others & (S_IRGRP | S_IROTH)) != 0;
  const bool write = (others & (S_IWGRP | S_IWOTH)) != 0;
  if (!read && !write) return;
  const std::string may = read && write ? "read and write" : read ? "read" : "write";
  const std::string whom = of_root ? "o" : "go";
  settings.warnings.push_back(
      "others may " + may + ' ' + quote(path) +
      (secret ? ", which holds a password" : ", which controls what redlock does") + "; chmod " +
      whom + (secret ? "-rwx " : "-w ") + path);
}

void add_environment(Draft& draft, const Environment& environment) {
  for (const Row& row : table()) {
    // A flag overrides even a broken variable, so redlock does not read that variable.
    if (row.environment == nullptr || draft.origin(row.name) == Origin::flag) continue;
    const std::string value = variable(environment, row.environment);
    if (!value.empty()) store(row, draft, value, {Origin::environment});
  }
}

/// The name of a row's flag in messages: `-w/--wait`.
std::string flag_name(const Row& row) {
  const std::vector<std::string_view> flags = parts_of(row.flags, ",");
  const auto longer =
      std::ranges::find_if(flags, [](std::string_view flag) { return flag.starts_with("--"); });
  const std::string first(flags.front());
  return longer == flags.begin() ? first : first + "/" + std::string(*longer);
}

/// How a message about a row's value begins, which is from `source` and no default: `-w/--wait`,
/// `REDLOCK_TTL`, `/etc/redlock.toml:3: ttl`.
std::string place(const Row& row, const Draft& draft, const Source& source) {
  if (source.origin == Origin::flag) return flag_name(row);
  if (source.origin == Origin::environment) return row.environment;
  return draft.config_file + ":" + std::to_string(source.line) + ": " + file_key(row);
}

std::string place(const Draft& draft, std::string_view name) {
  return place(*std::ranges::find(table(), name, &Row::name), draft, draft.of(name));
}

constexpr std::size_t kLongestFile = 256 * std::size_t{1024};

/// Without draft.config_file it reads kDefaultFile, which need not exist. See read_toml().
void add_file(Draft& draft) {
  const bool named = !draft.config_file.empty();
  if (!named) draft.config_file = kDefaultFile;
  const std::string& path = draft.config_file;
  const FileRead file = read_file(path, kLongestFile, draft);
  draft.no_file = !named && (file.error == ENOENT || file.error == ENOTDIR);
  if (draft.no_file) return;
  const std::string name = named ? place(draft, key::config_file) : "configuration file";
  if (const std::string why = file.trouble(); !why.empty()) {
    reject_file(
        name, path,
        why + (named ? "" : "; make it readable, or use --config /dev/null to read no file"));
  }
  if (file.text.size() > kLongestFile) {
    reject_file(name, path, "it is too long: more than 256 KiB");
  }
  if (file.text.empty()) return;
  warn_of_exposure(file, path, read_toml(file.text, draft), draft.settings);
}

/// What two URIs of one server have in common.
std::vector<std::string> marks_of(const Endpoint& server) {
  if (server.kind == Endpoint::Kind::unix_socket) return {server.path};
  if (server.kind == Endpoint::Kind::tcp) return {server.address.display()};
  std::vector<std::string> marks;
  for (const redis::Address& node : server.nodes) {
    // The same Sentinels may know several primaries.
    marks.push_back(node.display() + (server.service.empty() ? "" : "/" + server.service));
  }
  return marks;
}

ExitStatus status_of(Origin origin) {
  return origin == Origin::flag ? ExitStatus::usage : ExitStatus::config;
}

void check_servers(const Draft& draft) {
  const auto& servers = draft.settings.servers;
  if (servers.empty() && draft.acl_user.empty()) {
    const std::string file =
        draft.config_file == "/dev/null"
            ? ""
            : ", or write servers = [\"redis://HOST\"] into " + draft.config_file;
    throw Error(ExitStatus::config,
                "no servers are configured: give --server redis://HOST, or set REDLOCK_SERVERS" +
                    file + " (to try redlock without any: redlock sandbox)");
  }
  std::map<std::string, const Endpoint*> known;
  for (const Endpoint& server : servers) {
    for (const std::string& mark : marks_of(server)) {
      const Endpoint& first = *known.emplace(mark, &server).first->second;
      if (&first == &server) continue;
      throw Error(status_of(draft.origin(key::server)),
                  place(draft, key::server) + ": " + first.display() +
                      " occurs twice, and a server has one vote, whatever the database");
    }
  }
}

redis::Credentials read_password(const std::string& path, Draft& draft) {
  constexpr std::size_t kLongest = 64 * std::size_t{1024};
  const FileRead file = read_file(path, kLongest, draft);
  const std::string name = place(draft, key::password_file);
  if (const std::string why = file.trouble(); !why.empty()) reject_file(name, path, why);
  if (file.text.size() > kLongest) reject_file(name, path, "too long for a password");
  const std::string password = redis::password_in(file.text);
  if (password.empty()) {
    const bool blank = file.text.find_first_not_of("\r\n") == std::string::npos;
    reject_file(name, path, blank ? "it is empty" : "expected one line");
  }
  warn_of_exposure(file, path, Content::secret, draft.settings);
  redis::Credentials secret{.user = {}, .password = password, .source = path};
  std::error_code unknown;  // then we do not read it again
  // A keeper has another directory.
  if (is_kept(file, path)) secret.file = std::filesystem::absolute(path, unknown);
  return secret;
}

/// The password and the file may have different origins: the higher origin wins, then the password.
redis::Credentials choose_password(Draft& draft) {
  const std::string& file = draft.settings.password_file;
  const bool by_file =
      !file.empty() &&
      (draft.password.empty() || draft.origin(key::password_file) > draft.origin(key::password));
  if (by_file) return read_password(file, draft);
  if (!draft.password.empty()) return {{}, draft.password, origin_of(draft, key::password)};
  return {{}, draft.rediscli_auth, "REDISCLI_AUTH"};
}

void add_password(Draft& draft) {
  const std::string in_uri = "its URI in " + origin_of(draft, key::server);
  std::optional<redis::Credentials> chosen;
  for (Endpoint& server : draft.settings.servers) {
    redis::Credentials& who = server.credentials;
    server.sentinel_credentials.source = who.source = in_uri;
    if (!who.password.empty()) continue;
    if (!chosen) chosen = choose_password(draft);
    who = {who.user, chosen->password, chosen->source, chosen->file};
  }
}

/// How messages of OpenSSL's files name the settings.
void name_tls_files(Draft& draft) {
  redis::TlsSettings::Names& names = draft.settings.tls.names;
  for (std::string* const name : {&names.ca, &names.ca_dir, &names.cert, &names.key}) {
    const std::string_view row = std::string_view(*name).substr(2);  // without --
    if (draft.origin(row) != Origin::built_in) *name = place(draft, row);
  }
}

/// `-S redis://db1 --prefix app:`, for any command. The next one finds variables and files itself.
std::vector<std::string> options_to_repeat(const Draft& draft) {
  std::vector<std::string> words;
  for (const Row& row : table()) {
    const bool for_all = of_servers(row) && (row.commands & kLook) == kLook;
    if (!for_all || draft.origin(row.name) != Origin::flag) continue;
    const std::vector<std::string_view> flags = parts_of(row.flags, ",");
    if (row.name == key::server) {
      for (const Endpoint& server : draft.settings.servers) {
        words.insert(words.end(), {std::string(flags.front()), server.display()});
      }
      continue;
    }
    words.emplace_back(flags.front());
    if (row.type != Type::toggle) words.push_back(draft.of(row.name).text);
  }
  return words;
}

/// Without verification, the answer may come from anyone on the network path.
void warn_of_trust(Settings& settings) {
  if (settings.tls.verify != redis::TlsSettings::Verify::nothing) return;
  if (std::ranges::none_of(settings.servers, &Endpoint::tls)) return;
  settings.warnings.push_back(
      "certificates are not verified (--tls-insecure): anyone on the network path can pose as a "
      "server; instead, give the servers' authority to --tls-ca");
}

/// What redlock sets for jobs and for the redlocks that these start.
constexpr std::string_view kExported[] = {"REDLOCK_FENCE", "REDLOCK_FENCES", "REDLOCK_HELD",
                                          "REDLOCK_NAME",  "REDLOCK_SLOT",   "REDLOCK_STAGE",
                                          kPipesVariable,  "REDLOCK_TOKEN"};

/// A variable that redlock does not know may be mistyped. Kubernetes sets variables for a service
/// named "redlock-…", which nobody has typed.
void warn_of_unknown_variables(Settings& settings) {
  constexpr std::string_view kPrefix = "REDLOCK_";
  std::vector<std::string> settable;
  for (const Row& row : table()) {
    const std::string_view variable = row.environment == nullptr ? "" : row.environment;
    if (variable.starts_with(kPrefix)) settable.emplace_back(variable.substr(kPrefix.size()));
  }
  for (const char* const* entry = environ; *entry != nullptr; ++entry) {
    const std::string_view whole(*entry);
    const std::string_view name = whole.substr(0, whole.find('='));
    if (!name.starts_with(kPrefix) || std::ranges::count(kExported, name) > 0) continue;
    const std::string_view rest = name.substr(kPrefix.size());
    if (std::ranges::count(settable, rest) > 0) continue;
    const bool by_kubernetes = name.find("_SERVICE_") != name.npos ||
                               name.find("_PORT_") != name.npos ||
                               whole.substr(name.size()).starts_with("=tcp://");
    if (by_kubernetes) continue;
    const std::string near = nearest(rest, settable);
    settings.warnings.push_back(
        "unknown variable " + quote(name) +
        (near.empty() ? "" : ", did you mean " + std::string(kPrefix) + near + "?"));
  }
}

}  // namespace

std::string origin_of(const Draft& draft, std::string_view name) {
  const Source source = draft.of(name);
  if (source.origin == Origin::built_in) return {};
  if (source.origin != Origin::file) return place(draft, name);
  return draft.config_file + ":" + std::to_string(source.line);
}

void store(const Row& row, Draft& draft, std::string_view value, Source source) {
  try {
    row.parse(draft, value);
  } catch (const Error& error) {
    throw Error(status_of(source.origin), place(row, draft, source) + ": " + error.what());
  }
  if (row.type != Type::secret && row.type != Type::uri_list) source.text = value;
  draft.given[row.name] = std::move(source);
}

std::string variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

void complete(Draft& draft, const Environment& environment) {
  if (draft.nonblocking) draft.settings.wait = std::chrono::nanoseconds::zero();
  draft.earlier_pipes = variable(environment, kPipesVariable);
  warn_of_unknown_variables(draft.settings);
  add_environment(draft, environment);
  add_file(draft);
  check_servers(draft);
  draft.settings.where = options_to_repeat(draft);  // a URI without a password stays so there
  add_password(draft);
  name_tls_files(draft);
  warn_of_trust(draft.settings);
}

void check_kill_after(const Draft& draft) {
  const Settings& settings = draft.settings;
  if (!settings.kill_after || settings.grace_fits()) return;
  throw Error(status_of(std::max(draft.origin(key::kill_after), draft.origin(key::ttl))),
              place(draft, key::kill_after) + ": expected at most a third of the ttl of " +
                  format_duration(settings.ttl) + ", not " + format_duration(*settings.kill_after));
}

/// A restarted server may have forgotten a lock. It must not vote before that lock has expired.
void check_restart_grace(const Draft& draft) {
  const Settings& settings = draft.settings;
  if (settings.servers.size() < 2 || settings.ttl_fits()) return;
  const std::string ttl = format_duration(settings.ttl);
  const std::string grace = format_duration(settings.restart_grace);
  // The message names the value whose origin overrides the other's: that one is to be changed.
  const bool grace_is_later = draft.origin(key::restart_grace) > draft.origin(key::ttl);
  const std::string_view later = grace_is_later ? key::restart_grace : key::ttl;
  throw Error(status_of(draft.origin(later)),
              place(draft, later) + ": " +
                  (grace_is_later ? grace + " is less than the ttl of " + ttl
                                  : ttl + " is more than the --restart-grace of " + grace) +
                  ": a restarted server would vote again while a lock that it forgot still lasts; "
                  "raise --restart-grace on every host");
}

}  // namespace redlock::config
