// SPDX-License-Identifier: MIT
#include "network.h"

#include <algorithm>

namespace redlock::sim {

using namespace std::chrono_literals;

void Network::reset(lock::Duration ttl, std::uint32_t break_percent) {
  free_.clear();
  for (std::size_t i = 0; i < used_; ++i) {
    ++connections_[i].stamp;
    connections_[i].used = false;
  }
  used_ = 0;
  heal();
  // TCP_USER_TIMEOUT, as redis/servers/server_set.cc sets it.
  user_timeout_ = std::max<Time>(1s, ttl / 6);
  break_percent_ = break_percent;
  stops_ = crashes_ = {};
  stopped_ = {};
}

/// Of what is sent now.
Time Network::arrival(const Held& way, const Connection& connection) const {
  const Time from = std::max(timeline_.now(), held(way, connection.client, connection.server));
  return from + user_.delay(connection.client, connection.server);
}

/// If it was the last event of the connection, the slot is free again.
void Network::schedule(Event event, ConnectionId id, Time at) {
  ++connections_[id].coming;
  timeline_.at(at, [this, event, id, stamp = connections_[id].stamp] {
    if (connections_[id].stamp != stamp) return;
    happen(event, id);
    const Connection& connection = connections_[id];
    if (--connections_[id].coming == 0 && !connection.open && connection.arrived == 0) free(id);
  });
}

void Network::free(ConnectionId id) {
  connections_[id].used = false;
  ++connections_[id].stamp;
  free_.push_back(id);
}

void Network::happen(Event event, ConnectionId id) {
  Connection& connection = connections_[id];
  switch (event) {
    case Event::connected:
      // Down in the meantime: requests do not get there, and the client learns that.
      connection.served = connection.served && crashes_[connection.server] == 0;
      return tell(id, {Inbound::Kind::connected, {}});
    case Event::refused:
      return tell(id, {Inbound::Kind::refused, {}});
    case Event::broken:
      return tell(id, {Inbound::Kind::broken, {}});
    case Event::request:
      return take_request(id);
    case Event::run_request:
      if (!connection.served || stopped_[connection.server] || connection.waiting ||
          connection.arrived == 0)
        return;
      --connection.arrived;
      return serve(id);
    case Event::response: {
      Inbound answer{Inbound::Kind::answer, std::move(connection.answers.front())};
      connection.answers.pop_front();
      return tell(id, std::move(answer));
    }
    case Event::acknowledged:
      return acknowledge(id);
    case Event::hung_up:
      return look_whether_hung_up(id);
  }
}

void Network::tell(ConnectionId id, Inbound inbound) {
  Connection& connection = connections_[id];
  if (!connection.open || connection.over) return;
  connection.over = inbound.kind == Inbound::Kind::refused || inbound.kind == Inbound::Kind::broken;
  user_.take_in(connection.client, connection.server, std::move(inbound));
}

/// In the server's kernel.
void Network::take_request(ConnectionId id) {
  Connection& connection = connections_[id];
  if (!connection.served || connection.requests.size() <= connection.arrived) return;
  if (!stopped_[connection.server] && !connection.waiting) return serve(id);
  ++connection.arrived;
}

void Network::serve(ConnectionId id) {
  const Request request = std::move(connections_[id].requests.front());
  connections_[id].requests.pop_front();
  user_.serve(id, request);
  look_whether_hung_up(id);
}

void Network::look_whether_hung_up(ConnectionId id) {
  const Connection& connection = connections_[id];
  if (connection.fin && connection.served && connection.requests.empty()) user_.hung_up(id);
}

ConnectionId Network::dial(std::uint32_t client, std::uint8_t server, std::uint32_t session,
                           bool clean) {
  ConnectionId id;
  if (!free_.empty()) {
    id = free_.back();
    free_.pop_back();
  } else {
    id = static_cast<ConnectionId>(used_++);
    if (used_ > connections_.size()) connections_.emplace_back();
  }
  Time at = std::max(timeline_.now(), held_until(client, server)) + user_.delay(client, server);
  at += user_.delay(client, server);
  at += user_.connects_after(client, server);
  connections_[id] = {.client = client,
                      .server = server,
                      .session = session,
                      .used = true,
                      .open = true,
                      .served = true,
                      .clean = clean,
                      .established = at,
                      .stamp = connections_[id].stamp};
  schedule(crashes_[server] > 0 ? Event::refused : Event::connected, id, at);
  return id;
}

void Network::send(ConnectionId id, Request request) {
  Connection& connection = connections_[id];
  if (connection.breaking || !connection.served) {
    if (!connection.breaking) cut(id);  // the other end is gone: the first packet tells
    return;
  }
  const Time limit = timeline_.now() + user_timeout_;
  if (held_until(connection.client, connection.server) > limit) {
    connection.breaking = true;
    schedule(Event::broken, id, limit);
    if (held(to_server_, connection.client, connection.server) > limit) return;
  }
  connection.last_request = std::max(connection.last_request, arrival(to_server_, connection));
  connection.requests.push_back(std::move(request));
  schedule(Event::request, id, connection.last_request);
  if (break_percent_ > 0 && random_.percent(break_percent_)) cut(id);
}

void Network::respond(ConnectionId id, lock::Answer answer) {
  Connection& connection = connections_[id];
  if (!connection.open || connection.breaking) return;
  connection.last_response = std::max(connection.last_response, arrival(to_client_, connection));
  connection.answers.push_back(std::move(answer));
  schedule(Event::response, id, connection.last_response);
}

void Network::respond_later(ConnectionId id, lock::Answer answer, Time at) {
  Connection& connection = connections_[id];
  connection.waiting = true;
  connection.answer = std::move(answer);
  schedule(Event::acknowledged, id, at);
}

void Network::acknowledge(ConnectionId id) {
  Connection& connection = connections_[id];
  if (!connection.waiting) return;
  if (stopped_[connection.server]) {
    return schedule(Event::acknowledged, id, timeline_.now() + 5ms);
  }
  connection.waiting = false;
  respond(id, std::move(connection.answer));
  for (std::uint32_t i = 0; i < connection.arrived; ++i) {
    schedule(Event::run_request, id, timeline_.now());
  }
}

void Network::hang_up(ConnectionId id, bool orderly) {
  Connection& connection = connections_[id];
  connection.open = false;
  connection.fin = orderly && connection.clean && !connection.breaking;
  if (connection.fin) schedule(Event::hung_up, id, connection.last_request);
  if (connection.coming == 0 && connection.arrived == 0) free(id);
}

void Network::cut(ConnectionId id) {
  Connection& connection = connections_[id];
  if (connection.breaking) return;
  connection.breaking = true;
  const auto on_their_way = static_cast<std::uint32_t>(connection.requests.size());
  const std::size_t arrive = random_.below(on_their_way + 1);
  connection.requests.resize(std::max<std::size_t>(arrive, connection.arrived));
  connection.last_response = std::max(connection.last_response, arrival(to_client_, connection));
  schedule(Event::broken, id, connection.last_response);
}

void Network::cut(std::uint32_t client, std::uint8_t server) {
  for (ConnectionId id = 0; id < used_; ++id) {
    const Connection& connection = connections_[id];
    if (connection.used && connection.open && connection.client == client &&
        connection.server == server)
      cut(id);
  }
}

void Network::hold(std::uint32_t client, std::uint8_t server, bool to_server, Time until) {
  Held& way = to_server ? to_server_ : to_client_;
  if (way.size() <= client) way.resize(client + 1);
  way[client][server] = std::max(way[client][server], until);
}

void Network::heal() {
  break_percent_ = 0;
  to_server_.clear();
  to_client_.clear();
}

void Network::stop(std::uint8_t server) {
  ++stops_[server];
  stopped_[server] = true;
}

void Network::go_on(std::uint8_t server) {
  if (--stops_[server] == 0 && crashes_[server] == 0) run_waiting(server);
}

void Network::crash(std::uint8_t server) {
  ++crashes_[server];
  stopped_[server] = false;
  user_.crashed(server);
  for (ConnectionId id = 0; id < used_; ++id) {
    Connection& connection = connections_[id];
    if (!connection.used || connection.server != server || !connection.served) continue;
    if (connection.open && connection.established > timeline_.now()) continue;
    connection.served = connection.waiting = false;
    connection.arrived = 0;
    connection.requests.clear();
    // A dead process is reported immediately, a dead host when something is sent to it again.
    if (connection.open && random_.percent(70)) cut(id);
    if (!connection.open && connection.coming == 0) free(id);
  }
}

void Network::come_back(std::uint8_t server) {
  if (--crashes_[server] == 0 && stops_[server] == 0) run_waiting(server);
}

/// What arrived while it was stopped.
void Network::run_waiting(std::uint8_t server) {
  stopped_[server] = false;
  for (ConnectionId id = 0; id < used_; ++id) {
    const Connection& connection = connections_[id];
    if (!connection.used || connection.server != server || connection.arrived == 0) continue;
    // Each connection in its order, one connection before or after the other.
    Time at = timeline_.now();
    for (std::uint32_t i = 0; i < connection.arrived; ++i) {
      at += random_.between(1us, 50us);
      schedule(Event::run_request, id, at);
    }
    connections_[id].last_request = std::max(connection.last_request, at);
  }
}

}  // namespace redlock::sim
