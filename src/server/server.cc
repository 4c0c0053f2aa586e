// Listening, the thread, and what the two sides hand to each other.
#include "karakuri/server/server.h"

#include <algorithm>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "server/http.h"
#include "server/impl.h"

namespace karakuri {

using namespace server_detail;

namespace {

constexpr std::size_t kLittle = 1u << 20;         // waits, and a message may be as large as it is [bytes]
constexpr std::size_t kMostInboxes = 1000;        // of connections that came, and most of them went
constexpr double kBusySeconds = 0.25;             // of work until it is told
constexpr std::chrono::milliseconds kWatch{100};  // between two looks at it

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
  impl->watch_work();
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

/// Where all places are taken, the one who has waited longest without showing the token gives way.
void Server::Impl::accept() {
  acceptor.async_accept([this](Error error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    // one too many is closed at once: the queue of the system must not fill up with them
    if (!error) socket.set_option(tcp::no_delay(true), error);
    if (!error && connections >= options.max_connections && !strangers.empty()) strangers.front()->give_way();
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

bool Server::Impl::tell(ClientEvent event) {
  const std::lock_guard lock(mutex);
  Inbox& inbox = inboxes[event.client];
  const bool unseen = !inbox.events.empty() && inbox.events.front().kind == ClientEventKind::kOpened;
  if (event.kind == ClientEventKind::kClosed && unseen && inboxes.size() > kMostInboxes) {
    inboxes.erase(event.client);
    return false;
  }
  inbox.bytes += event.text.size() + kMessageBytes;
  inbox.events.push_back(std::move(event));
  return !(inbox.full = inbox.bytes > options.max_inbox);
}

std::map<ClientId, Inbox>::iterator Server::Impl::next_heard() {
  const auto heard = [&](const auto& inbox) { return !unheard.contains(inbox.first); };
  const auto after = inboxes.upper_bound(last_taken);
  if (const auto found = std::find_if(after, inboxes.end(), heard); found != inboxes.end()) return found;
  const auto found = std::find_if(inboxes.begin(), after, heard);
  return found == after ? inboxes.end() : found;
}

void Server::hear(ClientId client, bool given) {
  const std::lock_guard lock(impl_->mutex);
  if (given)
    impl_->unheard.erase(client);
  else
    impl_->unheard.insert(client);
}

std::optional<ClientEvent> Server::Impl::take() {
  const std::lock_guard lock(mutex);
  const auto next = next_heard();
  if (next == inboxes.end()) return std::nullopt;
  Inbox& inbox = next->second;
  ClientEvent event = std::move(inbox.events.front());
  inbox.events.pop_front();
  inbox.bytes -= event.text.size() + kMessageBytes;
  last_taken = event.client;
  if (inbox.full && inbox.bytes <= options.max_inbox / 2) {
    inbox.full = false;
    if (const auto found = sockets.find(event.client); found != sockets.end())
      asio::post(io, [socket = found->second] { socket->read(); });
  }
  if (inbox.events.empty()) inboxes.erase(next);
  return event;
}

std::optional<ClientEvent> Server::take_event() { return impl_->take(); }

std::vector<ClientEvent> Server::take_events() {
  std::size_t count = 0;  // what comes meanwhile is for the next time
  {
    const std::lock_guard lock(impl_->mutex);
    for (const auto& [id, inbox] : impl_->inboxes) count += inbox.events.size();
  }
  std::vector<ClientEvent> all;
  for (; count > 0; --count)
    if (std::optional<ClientEvent> event = impl_->take()) all.push_back(std::move(*event));
  return all;
}

void Outbox::keep(Message message, std::size_t room) {
  const std::size_t cost = message.cost();
  overflow |= bytes > kLittle && bytes + cost > room;
  if (overflow) return;
  bytes += cost;
  kept.push_back(std::move(message));
}

void Outbox::replace(Message message) {
  std::erase_if(kept, [&](const Message& m) { return m.kind == message.kind; });
  kept.push_back(std::move(message));
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
  impl_->post(client,
              [&](Outbox& box) { box.keep({false, nullptr, std::move(text)}, impl_->options.max_backlog); });
}

void Server::send_shared(ClientId client, Bytes bytes, bool binary) {
  impl_->post(client,
              [&](Outbox& box) { box.keep({binary, std::move(bytes), {}}, impl_->options.max_backlog); });
}

void Server::send_latest(ClientId client, Latest kind, Bytes bytes, bool binary) {
  impl_->post(client, [&](Outbox& box) { box.replace({binary, std::move(bytes), {}, kind}); });
}

std::size_t Server::room(ClientId client) const {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->sockets.find(client);
  if (found == impl_->sockets.end()) return 0;
  const std::size_t bytes = found->second->outbox.bytes, most = impl_->options.max_backlog;
  if (bytes <= kLittle) return std::numeric_limits<std::size_t>::max();
  return most - std::min(most, bytes);
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

// ---- long work

void Server::doing(const char* what) {
  const std::lock_guard lock(impl_->mutex);
  impl_->work = what;
  impl_->work_begin = std::chrono::steady_clock::now();
}

void Server::Impl::watch_work() {
  timer.expires_after(kWatch);
  timer.async_wait([this](Error error) {
    if (error) return;
    double seconds = 0;
    const char* what = nullptr;
    {
      const std::lock_guard lock(mutex);
      what = work;
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - work_begin).count();
    }
    if (what && seconds > kBusySeconds) tell_busy(seconds, what);
    watch_work();
  });
}

void Server::Impl::tell_busy(double seconds, const char* what) {
  const auto text = std::make_shared<const std::string>(
      fmt::format(R"({{"type":"busy","doing":"{}","seconds":{:.1f}}})", what, seconds));
  std::vector<std::shared_ptr<Socket>> all;
  {
    const std::lock_guard lock(mutex);
    for (const auto& [id, socket] : sockets) {
      socket->outbox.status = Outbox::Message{false, text, {}};
      all.push_back(socket);
    }
  }
  for (const auto& socket : all) socket->pump();
}

const std::string& Server::url() const { return impl_->url; }
const std::string& Server::token() const { return impl_->token; }
std::uint16_t Server::port() const { return impl_->port; }

}  // namespace karakuri
