// HTTP and WebSocket for the live page, on a thread of its own.
//
// Files come from memory, read once from one folder: no request reaches the disk. The page and the socket ask
// for a token that is new in each run; Host and Origin are checked, so that neither another site's page nor a
// name that was made to point here gets in. A client that reads slowly loses frames and, when what must not
// be lost piles up, its connection; whoever publishes never waits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/core/diagnostic.h"

namespace karakuri {

struct ServerOptions {
  std::string address = "127.0.0.1";  // an IP address to listen at
  std::uint16_t port = 8137;          // the first that is tried; 0: any
  int ports = 50;                     // how many are tried
  std::filesystem::path bundle;       // the folder of the page's files
  std::string token;                  // empty: a new one of 128 random bits
  bool in_notebooks = false;          // other pages of this machine may frame it
  int max_connections = 64;
  std::size_t max_message = 64 * 1024;  // from a client [bytes]
  // What waits for one client, shared with others or not, and what it has said that nobody has taken yet
  // [bytes]. A single message may be larger.
  std::size_t max_backlog = 14u << 20, max_inbox = 1u << 20;
  double request_seconds = 10;  // for a whole request, and for the handshake
  double idle_seconds = 60;     // without an answer, not even to a ping
};

using ClientId = std::uint64_t;

enum class ClientEventKind : std::uint8_t { kOpened, kMessage, kClosed };
struct ClientEvent {
  ClientEventKind kind = ClientEventKind::kMessage;
  ClientId client = 0;
  std::string text;     // or bytes, where it is
  bool binary = false;  // a message that is no text
};

using Bytes = std::shared_ptr<const std::string>;

/// Of these the last one alone is worth sending.
enum class Latest : std::uint8_t { kNothing, kScene, kGeometry, kProperties, kSettings, kUi };

class Server {
 public:
  /// Or why not: no such folder, no such address, no free port.
  static Result<Server> start(const ServerOptions& options);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  /// Closes all connections and ends the thread.
  ~Server();

  /// With the token: what a browser is given.
  const std::string& url() const;
  const std::string& token() const;
  std::uint16_t port() const;

  /// The next thing that a client did: of each client in order, and the clients in turn, so that none waits
  /// for all that another has said. Who says more than is taken is not read on until there is room again.
  std::optional<ClientEvent> take_event();
  /// All that there is.
  std::vector<ClientEvent> take_events();
  /// Whether events of this client are given; until they are again, they wait like those that nobody takes.
  void hear(ClientId client, bool given);
  /// In order, and never lost while the client is there. What does not fit into the room that is left ends
  /// the connection.
  void send_text(ClientId client, std::string text);
  void send_shared(ClientId client, Bytes bytes, bool binary);
  /// In order too, but replaces one of its kind that still waits, and needs no room: whoever publishes keeps
  /// it for all clients.
  void send_latest(ClientId client, Latest kind, Bytes bytes, bool binary = false);
  /// How much more may wait for this client now [bytes]; 0 where it has gone.
  std::size_t room(ClientId client) const;
  /// A text that replaces one of these that still waits.
  void send_status(ClientId client, Bytes text);
  /// `shared` and `own` become one binary message. It replaces one that still waits.
  void send_frame(ClientId client, Bytes shared, std::string own);
  /// No frame waits for this client, so that making one is worth while.
  bool wants_frame(ClientId client) const;

  /// What the caller is about to do, a text that lives as long as the server; null: it has done it. Where it
  /// takes long, all clients are told in its place: as a status `busy`, with `doing` and `seconds`.
  void doing(const char* what);

  struct Impl;

 private:
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Whether a Host header names this machine by number (or as localhost), at this port. Names that a foreign
/// DNS could answer for are refused; numbers that are not loopback only where `loopback_only` is false.
bool host_allowed(std::string_view host, std::uint16_t port, bool loopback_only);
/// Whether an Origin header is the page's own: http://HOST. An empty one comes from no browser.
bool origin_allowed(std::string_view origin, std::string_view host);

}  // namespace karakuri
