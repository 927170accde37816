// SPDX-License-Identifier: MIT
#include "network.h"

#include <algorithm>

namespace redlock::sim {

using namespace std::chrono_literals;

void Network::reset(const Schedule& schedule) {
  schedule_ = &schedule;
  free_.clear();
  for (std::size_t i = 0; i < used_; ++i) {
    ++connections_[i].stamp;
    connections_[i].used = false;
  }
  used_ = 0;
  heal();
  calm_ = false;
  down_ = stopped_ = {};
}

Time Network::delay() {
  if (calm_) return random_.between(schedule_->delay_low, 1ms);
  Time delay = random_.between(schedule_->delay_low, schedule_->delay_high);
  if (schedule_->late_percent > 0 && random_.percent(schedule_->late_percent)) {
    delay += random_.between(0s, schedule_->late);
  }
  return delay;
}

/// If it was the last event of the connection, the slot is free again.
void Network::schedule(ConnectionEvent kind, ConnectionId id, Time at) {
  ++connections_[id].coming;
  timeline_.at(at, [this, kind, id, stamp = connections_[id].stamp] {
    if (connections_[id].stamp != stamp) return;
    happens_(kind, id);
    const Connection& connection = connections_[id];
    if (--connections_[id].coming == 0 && !connection.open && connection.arrived == 0) free(id);
  });
}

void Network::free(ConnectionId id) {
  connections_[id].used = false;
  ++connections_[id].stamp;
  free_.push_back(id);
}

void Network::establish(ConnectionId id) {
  Connection& connection = connections_[id];
  connection.served = connection.served && !down_[connection.server];
}

ConnectionId Network::dial(std::uint8_t client, std::uint8_t server, std::uint32_t session,
                           bool clean) {
  ConnectionId id;
  if (!free_.empty()) {
    id = free_.back();
    free_.pop_back();
  } else {
    id = static_cast<ConnectionId>(used_++);
    if (used_ > connections_.size()) connections_.emplace_back();
  }
  const Time held = std::max(to_server_[client][server], to_client_[client][server]);
  Time at = std::max(timeline_.now(), held) + delay() + delay();
  if (client == schedule_->slow_client && !calm_) {
    const ServerHost& host = schedule_->server[server];
    at += random_.between(host.connects_after, host.connects_in);
  }
  connections_[id] = {.client = client,
                      .server = server,
                      .session = session,
                      .used = true,
                      .open = true,
                      .served = true,
                      .clean = clean,
                      .established = at,
                      .stamp = connections_[id].stamp};
  schedule(down_[server] ? ConnectionEvent::refused : ConnectionEvent::connected, id, at);
  return id;
}

void Network::send(ConnectionId id, Request request) {
  Connection& connection = connections_[id];
  if (connection.breaking || !connection.served) {
    if (!connection.breaking) cut(id);  // the other end is gone: the first packet tells
    return;
  }
  const Time now = timeline_.now();
  const Time held = to_server_[connection.client][connection.server];
  const Time back = std::max(held, to_client_[connection.client][connection.server]);
  // TCP_USER_TIMEOUT, as redis/servers/server_set.cc sets it: if data stays unacknowledged for
  // longer, the connection ends.
  const Time limit = std::max<Time>(1s, schedule_->timing.ttl / 6);
  if (back > now + limit) {
    connection.breaking = true;
    schedule(ConnectionEvent::broken, id, now + limit);
    if (held > now + limit) return;
  }
  connection.last_request = std::max(connection.last_request, std::max(now, held) + delay());
  connection.requests.push_back(std::move(request));
  schedule(ConnectionEvent::request, id, connection.last_request);
  if (!calm_ && schedule_->break_percent > 0 && random_.percent(schedule_->break_percent)) cut(id);
}

bool Network::arrive(ConnectionId id) {
  Connection& connection = connections_[id];
  if (!connection.served || connection.requests.size() <= connection.arrived) return false;
  if (!stopped_[connection.server] && !connection.waiting) return true;
  ++connection.arrived;
  return false;
}

bool Network::may_run(ConnectionId id) const {
  const Connection& connection = connections_[id];
  return connection.served && !stopped_[connection.server] && !connection.waiting &&
         connection.arrived > 0;
}

Request Network::take_request(ConnectionId id) {
  Connection& connection = connections_[id];
  Request request = std::move(connection.requests.front());
  connection.requests.pop_front();
  return request;
}

void Network::respond(ConnectionId id, lock::Answer answer) {
  Connection& connection = connections_[id];
  if (!connection.open || connection.breaking) return;
  const Time held = to_client_[connection.client][connection.server];
  connection.last_response =
      std::max(connection.last_response, std::max(timeline_.now(), held) + delay());
  connection.answers.push_back(std::move(answer));
  schedule(ConnectionEvent::response, id, connection.last_response);
}

void Network::respond_later(ConnectionId id, lock::Answer answer, Time at) {
  Connection& connection = connections_[id];
  connection.waiting = true;
  connection.answer = std::move(answer);
  schedule(ConnectionEvent::acknowledged, id, at);
}

void Network::acknowledge(ConnectionId id) {
  Connection& connection = connections_[id];
  if (!connection.waiting) return;
  if (stopped_[connection.server]) {
    return schedule(ConnectionEvent::acknowledged, id, timeline_.now() + 5ms);
  }
  connection.waiting = false;
  respond(id, std::move(connections_[id].answer));
  for (std::uint32_t i = 0; i < connections_[id].arrived; ++i) {
    schedule(ConnectionEvent::run_request, id, timeline_.now());
  }
}

bool Network::take_answer(ConnectionId id, lock::Answer& answer) {
  Connection& connection = connections_[id];
  if (!connection.open || connection.over || connection.answers.empty()) return false;
  answer = std::move(connection.answers.front());
  connection.answers.pop_front();
  return true;
}

void Network::hang_up(ConnectionId id, bool orderly) {
  Connection& connection = connections_[id];
  connection.open = false;
  connection.fin = orderly && connection.clean && !connection.breaking;
  if (connection.fin) schedule(ConnectionEvent::hung_up, id, connection.last_request);
  if (connection.coming == 0 && connection.arrived == 0) free(id);
}

void Network::cut(ConnectionId id) {
  Connection& connection = connections_[id];
  if (connection.breaking) return;
  connection.breaking = true;
  const auto on_their_way = static_cast<std::uint32_t>(connection.requests.size());
  const std::size_t arrive = random_.below(on_their_way + 1);
  connection.requests.resize(std::max<std::size_t>(arrive, connection.arrived));
  const Time held = to_client_[connection.client][connection.server];
  connection.last_response =
      std::max(connection.last_response, std::max(timeline_.now(), held) + delay());
  schedule(ConnectionEvent::broken, id, connection.last_response);
}

void Network::cut(std::uint8_t client, std::uint8_t server) {
  for (ConnectionId id = 0; id < used_; ++id) {
    const Connection& connection = connections_[id];
    if (connection.used && connection.open && connection.client == client &&
        connection.server == server)
      cut(id);
  }
}

void Network::hold(std::uint8_t client, std::uint8_t server, bool to_server, Time until) {
  Time& held = to_server ? to_server_[client][server] : to_client_[client][server];
  held = std::max(held, until);
}

void Network::heal() {
  calm_ = true;
  to_server_ = to_client_ = {};
}

void Network::server_down(std::uint8_t server) {
  down_[server] = true;
  stopped_[server] = false;
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

void Network::server_continued(std::uint8_t server) {
  stopped_[server] = false;
  for (ConnectionId id = 0; id < used_; ++id) {
    const Connection& connection = connections_[id];
    if (!connection.used || connection.server != server || connection.arrived == 0) continue;
    // Each connection in its order, one connection before or after the other.
    Time at = timeline_.now();
    for (std::uint32_t i = 0; i < connection.arrived; ++i) {
      at += random_.between(1us, 50us);
      schedule(ConnectionEvent::run_request, id, at);
    }
    connections_[id].last_request = std::max(connection.last_request, at);
  }
}

}  // namespace redlock::sim
