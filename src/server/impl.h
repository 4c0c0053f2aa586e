// Inside the server: everything but the outboxes and the events lives on its thread.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
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
  ~Slot() {
    if (count_) --*count_;
  }

 private:
  int* count_;
};

/// What waits for one client. Guarded by Server::Impl::mutex.
struct Outbox {
  struct Message {
    bool binary = false;
    Bytes shared;
    std::string own;
  };
  std::deque<Message> kept;
  std::optional<Message> status, frame;  // the last ones alone
  std::size_t bytes = 0;                 // that `kept` holds for this client alone
  bool overflow = false;
};

/// A client's WebSocket.
class Socket : public std::enable_shared_from_this<Socket> {
 public:
  Socket(Server::Impl& server, ClientId id, Stream stream, Slot slot);
  void accept(const Request& request);
  /// Sends what waits, if nothing is on its way.
  void pump();
  void close();

  Outbox outbox;

 private:
  void read();
  void fail();

  Server::Impl& server_;
  const ClientId id_;
  Slot slot_;
  websocket::stream<Stream> stream_;
  beast::flat_buffer input_;
  Outbox::Message sending_;
  bool writing_ = false, open_ = false, told_ = false;
};

}  // namespace server_detail

struct Server::Impl {
  Impl(const ServerOptions& given, server_detail::Bundle files) : options(given), bundle(std::move(files)) {}
  ~Impl();

  /// Empty when it listens.
  std::vector<Diagnostic> listen();
  void accept();
  void tell(ClientEvent event);
  bool is_token(std::string_view given) const;
  template <class Change>
  void post(ClientId client, const Change& change);

  ServerOptions options;
  server_detail::Bundle bundle;
  std::string token, url;
  std::uint16_t port = 0;
  bool loopback_only = true;

  int connections = 0;  // outlives the connections, which io keeps
  server_detail::asio::io_context io{1};
  server_detail::tcp::acceptor acceptor{io};
  ClientId last_client = 0;
  std::thread thread;

  std::mutex mutex;
  std::map<ClientId, std::shared_ptr<server_detail::Socket>> sockets;
  std::vector<ClientEvent> events;
  std::size_t event_bytes = 0;  // of their texts
};

}  // namespace karakuri
