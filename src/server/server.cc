// Listening, the thread, and what the two sides hand to each other.
#include "karakuri/server/server.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "server/http.h"
#include "server/impl.h"

namespace karakuri {

using namespace server_detail;

namespace {

constexpr std::size_t kMostEvents = 10'000, kMostEventBytes = 16u << 20;

/// 128 bits from the system's source.
std::string make_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

}  // namespace

// ---- starting and ending

Result<Server> Server::start(const ServerOptions& options) {
  Result<Bundle> bundle = read_bundle(options.bundle);
  if (!bundle.ok()) return bundle.errors();
  auto impl = std::make_unique<Impl>(options, std::move(*bundle));
  if (auto errors = impl->listen(); !errors.empty()) return errors;
  impl->accept();
  impl->thread = std::thread([server = impl.get()] { server->io.run(); });
  return Server(std::move(impl));
}

std::vector<Diagnostic> Server::Impl::listen() {
  Error error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error)
    return {
        {Severity::kError, options.address, "it is not an IP address", "give one, as 127.0.0.1 or 0.0.0.0"}};
  loopback_only = address.is_loopback();
  for (int i = 0; i < std::max(1, options.ports); ++i) {
    const int wanted = options.port == 0 ? 0 : options.port + i;
    if (wanted > 65535) break;
    acceptor = tcp::acceptor(io);
    const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(wanted));
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) break;
    if (error != asio::error::address_in_use) break;
  }
  if (error || !acceptor.is_open())
    return {{Severity::kError, fmt::format("{}:{}", options.address, options.port),
             fmt::format("cannot listen there: {}", error.message()), "choose another --port or --listen"}};
  port = acceptor.local_endpoint().port();
  token = options.token.empty() ? make_token() : options.token;
  const std::string shown =
      address.is_unspecified() ? (address.is_v6() ? "::1" : "127.0.0.1") : options.address;
  url = fmt::format("http://{}:{}/?token={}", address.is_v6() ? "[" + shown + "]" : shown, port, token);
  return {};
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

Server::~Server() = default;

Server::Impl::~Impl() {
  io.stop();
  if (thread.joinable()) thread.join();
  sockets.clear();
}

void Server::Impl::accept() {
  acceptor.async_accept([this](Error error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    // one too many is closed at once: the queue of the system must not fill up with them
    if (!error) socket.set_option(tcp::no_delay(true), error);
    if (!error && connections < options.max_connections)
      std::make_shared<Http>(*this, std::move(socket), Slot(connections))->read();
    accept();
  });
}

/// Takes as long for any wrong token, so that it cannot be guessed piece by piece.
bool Server::Impl::is_token(std::string_view given) const {
  if (given.size() != token.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < token.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i]);
  return difference == 0;
}

// ---- the two sides

void Server::Impl::tell(ClientEvent event) {
  const std::lock_guard lock(mutex);
  const std::size_t bytes = event.text.size();
  if (event.kind == ClientEventKind::kMessage &&
      (events.size() >= kMostEvents || event_bytes + bytes > kMostEventBytes))
    return;
  event_bytes += bytes;
  events.push_back(std::move(event));
}

std::vector<ClientEvent> Server::take_events() {
  const std::lock_guard lock(impl_->mutex);
  impl_->event_bytes = 0;
  return std::exchange(impl_->events, {});
}

template <class Change>
void Server::Impl::post(ClientId client, const Change& change) {
  std::shared_ptr<Socket> socket;
  {
    const std::lock_guard lock(mutex);
    const auto found = sockets.find(client);
    if (found == sockets.end()) return;
    socket = found->second;
    change(socket->outbox);
  }
  asio::post(io, [socket] { socket->pump(); });
}

void Server::send_text(ClientId client, std::string text) {
  impl_->post(client, [&](Outbox& box) {
    box.bytes += text.size();
    box.overflow |= box.bytes > impl_->options.max_backlog || box.kept.size() >= kMostEvents;
    if (!box.overflow) box.kept.push_back({false, nullptr, std::move(text)});
  });
}

void Server::send_shared(ClientId client, Bytes bytes, bool binary) {
  impl_->post(client, [&](Outbox& box) {
    box.overflow |= box.kept.size() >= kMostEvents;
    if (!box.overflow) box.kept.push_back({binary, std::move(bytes), {}});
  });
}

void Server::send_status(ClientId client, Bytes text) {
  impl_->post(client, [&](Outbox& box) { box.status = Outbox::Message{false, std::move(text), {}}; });
}

void Server::send_frame(ClientId client, Bytes shared, std::string own) {
  impl_->post(client,
              [&](Outbox& box) { box.frame = Outbox::Message{true, std::move(shared), std::move(own)}; });
}

bool Server::wants_frame(ClientId client) const {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->sockets.find(client);
  return found != impl_->sockets.end() && !found->second->outbox.frame;
}

const std::string& Server::url() const { return impl_->url; }
const std::string& Server::token() const { return impl_->token; }
std::uint16_t Server::port() const { return impl_->port; }

}  // namespace karakuri
