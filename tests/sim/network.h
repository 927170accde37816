// SPDX-License-Identifier: MIT
//
// Connections between clients and servers, as TCP makes them: what one of them carries stays in
// order, different ones overtake each other; a lost packet is a late one; and when one breaks,
// what was on its way to the server may still be carried out.
#pragma once

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

/// What happens to a connection.
enum class ConnectionEvent : std::uint8_t {
  connected,
  refused,
  broken,
  request,
  run_request,  ///< one that waited while the server was stopped
  response,
  acknowledged,  ///< by the replica, or it is too late for that
  hung_up,       ///< the server has got all
};

struct Connection {
  std::uint8_t client = 0;
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
  virtual ConnectionId dial(std::uint8_t client, std::uint8_t server, std::uint32_t session,
                            bool clean) = 0;
  virtual void send(ConnectionId id, Request request) = 0;
  /// The client closes it: `orderly`, with all that was sent still on its way.
  virtual void hang_up(ConnectionId id, bool orderly) = 0;

 protected:
  ~Transport() = default;
};

class Network final : public Transport {
 public:
  using Happens = std::function<void(ConnectionEvent, ConnectionId)>;
  Network(Timeline& timeline, Random& random, Happens happens)
      : timeline_(timeline), random_(random), happens_(std::move(happens)) {}
  void reset(const Schedule& schedule);

  /// The connection is there, or would be if the server were up.
  void establish(ConnectionId id);
  ConnectionId dial(std::uint8_t client, std::uint8_t server, std::uint32_t session,
                    bool clean) override;
  void send(ConnectionId id, Request request) override;
  void hang_up(ConnectionId id, bool orderly) override;
  void respond(ConnectionId id, lock::Answer answer);
  /// The same, but not before `at`, and if the server has not died by then.
  void respond_later(ConnectionId id, lock::Answer answer, Time at);
  void acknowledge(ConnectionId id);
  /// It breaks; the client gets to know soon. A random part of what is on its way arrives.
  void cut(ConnectionId id);
  void cut(std::uint8_t client, std::uint8_t server);

  void hold(std::uint8_t client, std::uint8_t server, bool to_server, Time until);
  void heal();

  void server_down(std::uint8_t server);
  void server_up(std::uint8_t server) { down_[server] = false; }
  void server_stopped(std::uint8_t server) { stopped_[server] = true; }
  void server_continued(std::uint8_t server);

  /// A request has arrived at the server's kernel. True: it is the server's turn to carry it out.
  bool arrive(ConnectionId id);
  /// The event of a request that waited while the server was stopped.
  [[nodiscard]] bool may_run(ConnectionId id) const;
  Request take_request(ConnectionId id);
  bool take_answer(ConnectionId id, lock::Answer& answer);

  [[nodiscard]] Connection& at(ConnectionId id) { return connections_[id]; }

 private:
  void free(ConnectionId id);
  [[nodiscard]] Time delay();
  void schedule(ConnectionEvent kind, ConnectionId id, Time at);

  Timeline& timeline_;
  Random& random_;
  Happens happens_;
  const Schedule* schedule_ = nullptr;
  std::vector<Connection> connections_;
  std::vector<ConnectionId> free_;
  std::size_t used_ = 0;
  bool calm_ = false;
  using Held = std::array<std::array<Time, kMostServers>, kMostClients>;
  Held to_server_{};  ///< held up until
  Held to_client_{};
  std::array<bool, kMostServers> down_{};
  std::array<bool, kMostServers> stopped_{};
};

}  // namespace redlock::sim
