// Inside the server: everything but the outboxes and the events lives on its thread.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include "karakuri/server/server.h"
#include "server/bundle.h"

namespace karakuri {

namespace server_detail {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using tcp = asio::ip::tcp;
using Error = boost::system::error_code;

using Request = http::request<http::empty_body>;

/// A connection that ends at once. What Beast does at the end of a broken WebSocket instead, reading until
/// the other side has ended it too, leaves the time to the other side.
class Stream : public beast::tcp_stream {
 public:
  using beast::tcp_stream::tcp_stream;
};
void end_now(Stream& stream, Error& error);
inline void teardown(beast::role_type, Stream& stream, Error& error) { end_now(stream, error); }
template <class Handler>
void async_teardown(beast::role_type, Stream& stream, Handler&& handler) {
  Error error;
  end_now(stream, error);
  asio::post(stream.get_executor(), beast::bind_front_handler(std::forward<Handler>(handler), error));
}

/// One of the connections that are counted.
class Slot {
 public:
  explicit Slot(int& count) : count_(&count) { ++*count_; }
  Slot(Slot&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  Slot& operator=(Slot&&) = delete;
  ~Slot() { free(); }
  void free() {
    if (int* count = std::exchange(count_, nullptr)) --*count;
  }

 private:
  int* count_;
};

constexpr std::size_t kMessageBytes = 64;  // of one without what it says

/// What waits for one client. Guarded by Server::Impl::mutex.
struct Outbox {
  struct Message {
    bool binary = false;
    Bytes shared;
    std::string own;
    Latest kind = Latest::kNothing;
    /// What it counts; what is kept for all clients anyway is not this one's.
    std::size_t cost() const {
      return kind != Latest::kNothing ? 0 : kMessageBytes + own.size() + (shared ? shared->size() : 0);
    }
  };
  std::deque<Message> kept;
  std::optional<Message> status, frame;  // the last ones alone
  std::size_t bytes = 0;                 // of `kept` and of what is on its way
  bool overflow = false;

  /// A message alone may be larger than the room.
  void keep(Message message, std::size_t room);
  void replace(Message message);
};

/// What one client did and nobody has taken yet. Guarded by Server::Impl::mutex. It outlives the connection.
struct Inbox {
  std::deque<ClientEvent> events;
  std::size_t bytes = 0;
  bool full = false;  // the connection is not read until there is room
};

/// A client's WebSocket.
class Socket : public std::enable_shared_from_this<Socket> {
 public:
  Socket(Server::Impl& server, ClientId id, Stream stream, Slot slot);
  void accept(const Request& request);
  /// Sends what waits, if nothing is on its way.
  void pump();
  void read();
  void close();

  Outbox outbox;

 private:
  void fail();
  void written();

  Server::Impl& server_;
  const ClientId id_;
  Slot slot_;
  websocket::stream<Stream> stream_;
  beast::flat_buffer input_;
  Outbox::Message sending_;
  bool writing_ = false, sending_kept_ = false, open_ = false, told_ = false;
};

class Http;

}  // namespace server_detail

struct Server::Impl {
  Impl(const ServerOptions& given, server_detail::Bundle files) : options(given), bundle(std::move(files)) {}
  ~Impl();

  /// Empty when it listens.
  std::vector<Diagnostic> listen();
  void accept();
  /// False: there is no room for more of this client now; its Socket::read() is called when there is.
  bool tell(ClientEvent event);
  std::optional<ClientEvent> take();
  /// Whose turn it is; the end where nobody has anything to say. Under the mutex.
  std::map<ClientId, server_detail::Inbox>::iterator next_heard();
  void watch_work();
  void tell_busy(double seconds, const char* what);
  bool is_token(std::string_view given) const;
  template <class Change>
  void post(ClientId client, const Change& change);

  ServerOptions options;
  server_detail::Bundle bundle;
  std::string token, url;
  std::uint16_t port = 0;
  bool loopback_only = true;

  // these outlive the connections, which io keeps
  int connections = 0;
  std::list<server_detail::Http*> strangers;  // have not shown the token yet; the oldest first
  server_detail::asio::io_context io{1};
  server_detail::tcp::acceptor acceptor{io};
  server_detail::asio::steady_timer timer{io};
  ClientId last_client = 0;
  std::thread thread;

  std::mutex mutex;
  std::map<ClientId, std::shared_ptr<server_detail::Socket>> sockets;
  std::map<ClientId, server_detail::Inbox> inboxes;  // none is empty
  std::set<ClientId> unheard;                        // whose events wait, see Server::hear()
  ClientId last_taken = 0;                           // whose turn it was
  const char* work = nullptr;                        // what the caller does since:
  std::chrono::steady_clock::time_point work_begin{};
};

}  // namespace karakuri
