// SPDX-License-Identifier: MIT
//
// Connections between clients and servers, as TCP makes them: what one of them carries stays in
// order, different ones overtake each other; a lost packet is a late one; and when one breaks,
// what was on its way to the server may still be carried out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "clock.h"
#include "lock/vote.h"
#include "random.h"
#include "request.h"
#include "schedule.h"

namespace redlock::sim {

using ConnectionId = std::uint32_t;
inline constexpr ConnectionId kNoConnection = ~ConnectionId{0};

struct Connection {
  std::uint32_t client = 0;
  std::uint8_t server = 0;
  std::uint32_t session = 0;       ///< the client's
  bool used = false;               ///< the slot is
  bool open = false;               ///< at the client's end
  bool served = false;             ///< at the server's end
  bool breaking = false;           ///< the client will be told
  bool over = false;               ///< … and has been
  bool fin = false;                ///< the client has hung up in good order
  bool clean = true;               ///< the session had no other one to this server that failed
  std::uint32_t arrived = 0;       ///< requests that wait in the server's kernel
  bool waiting = false;            ///< the server waits for its replica, and carries out no other
  lock::Answer answer{};           ///< … before it sends this
  std::deque<Request> requests{};  ///< on their way, or arrived
  std::deque<lock::Answer> answers{};  ///< on their way
  Time established{};                  ///< what happens to the server before that is nothing to it
  Time last_request{};
  Time last_response{};
  std::uint32_t stamp = 0;   ///< grows when the slot is used again: old events are void
  std::uint32_t coming = 0;  ///< events that are still to come
};

/// What a client gets from the network, in order.
struct Inbound {
  enum class Kind : std::uint8_t { connected, refused, broken, answer };
  Kind kind;
  lock::Answer answer{};
};

/// What a Link needs of the network.
class Transport {
 public:
  virtual ConnectionId dial(std::uint32_t client, std::uint8_t server, std::uint32_t session,
                            bool clean) = 0;
  virtual void send(ConnectionId id, Request request) = 0;
  /// The client closes it: `orderly`, with all that was sent still on its way.
  virtual void hang_up(ConnectionId id, bool orderly) = 0;

 protected:
  ~Transport() = default;
};

/// What a network asks and tells the world that it is in.
class NetworkUser {
 public:
  /// How long a packet takes, either way; and how much longer a connection takes than its packets.
  virtual Time delay(std::uint32_t client, std::uint8_t server) = 0;
  virtual Time connects_after(std::uint32_t, std::uint8_t) { return {}; }
  /// The server carries this out, and then responds.
  virtual void serve(ConnectionId id, const Request& request) = 0;
  virtual void take_in(std::uint32_t client, std::uint8_t server, Inbound inbound) = 0;
  /// The server has died, and its subscriptions with it.
  virtual void crashed(std::uint8_t server) = 0;
  /// The client has hung up in good order, and the server has carried out all its requests.
  virtual void hung_up(ConnectionId) {}

 protected:
  ~NetworkUser() = default;
};

class Network final : public Transport {
 public:
  Network(Timeline& timeline, Random& random, NetworkUser& user)
      : timeline_(timeline), random_(random), user_(user) {}
  /// `break_percent`: of the requests break their connection soon.
  void reset(lock::Duration ttl, std::uint32_t break_percent);
  /// A connection breaks if what was sent stays unacknowledged for longer.
  [[nodiscard]] Time user_timeout() const { return user_timeout_; }

  ConnectionId dial(std::uint32_t client, std::uint8_t server, std::uint32_t session,
                    bool clean) override;
  void send(ConnectionId id, Request request) override;
  void hang_up(ConnectionId id, bool orderly) override;
  void respond(ConnectionId id, lock::Answer answer);
  /// The same, but not before `at`, and if the server has not died by then.
  void respond_later(ConnectionId id, lock::Answer answer, Time at);
  /// It breaks; the client gets to know soon. A random part of what is on its way arrives.
  void cut(ConnectionId id);
  void cut(std::uint32_t client, std::uint8_t server);

  void hold(std::uint32_t client, std::uint8_t server, bool to_server, Time until);
  /// Until then nothing gets from one to the other and back.
  [[nodiscard]] Time held_until(std::uint32_t client, std::uint8_t server) const {
    return std::max(held(to_server_, client, server), held(to_client_, client, server));
  }
  /// From now on nothing is held up, and no connection breaks by itself.
  void heal();

  // What happens to a server. It may be stopped, or dead, for several reasons at the same time.
  void stop(std::uint8_t server);
  void go_on(std::uint8_t server);
  void crash(std::uint8_t server);
  void come_back(std::uint8_t server);
  /// It answers.
  [[nodiscard]] bool is_up(std::uint8_t server) const {
    return crashes_[server] == 0 && stops_[server] == 0;
  }

  [[nodiscard]] const Connection& at(ConnectionId id) const { return connections_[id]; }
  [[nodiscard]] Timeline& timeline() const { return timeline_; }
  [[nodiscard]] Random& random() const { return random_; }

 private:
  /// What happens to a connection.
  enum class Event : std::uint8_t {
    connected,
    refused,
    broken,
    request,
    run_request,  ///< one that waited while the server was stopped
    response,
    acknowledged,  ///< by the replica, or it is too late for that
    hung_up,       ///< the server has got all
  };
  using Held = std::vector<std::array<Time, kMostServers>>;  ///< by client: until then

  void happen(Event event, ConnectionId id);
  void free(ConnectionId id);
  void schedule(Event event, ConnectionId id, Time at);
  [[nodiscard]] Time arrival(const Held& way, const Connection& connection) const;
  [[nodiscard]] static Time held(const Held& way, std::uint32_t client, std::uint8_t server) {
    return client < way.size() ? way[client][server] : Time{};
  }
  void take_request(ConnectionId id);
  void serve(ConnectionId id);
  void tell(ConnectionId id, Inbound inbound);
  void acknowledge(ConnectionId id);
  void look_whether_hung_up(ConnectionId id);
  void run_waiting(std::uint8_t server);

  Timeline& timeline_;
  Random& random_;
  NetworkUser& user_;
  Time user_timeout_{};
  std::uint32_t break_percent_ = 0;
  std::vector<Connection> connections_;
  std::vector<ConnectionId> free_;
  std::size_t used_ = 0;
  Held to_server_;
  Held to_client_;
  std::array<std::uint32_t, kMostServers> stops_{};
  std::array<std::uint32_t, kMostServers> crashes_{};
  std::array<bool, kMostServers> stopped_{};  ///< and not dead since then
};

}  // namespace redlock::sim
