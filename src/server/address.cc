// Who may ask: what Host and Origin headers say.
#include <charconv>

#include <boost/asio/ip/address.hpp>

#include "karakuri/server/server.h"

namespace karakuri {

namespace {

struct HostPort {
  std::string name;
  std::uint16_t port = 80;
  bool good = false;
};

/// "NAME", "NAME:PORT", "[IPv6]:PORT".
HostPort split(std::string_view host) {
  HostPort out;
  std::string_view rest;
  if (host.starts_with('[')) {
    const auto close = host.find(']');
    if (close == host.npos) return out;
    out.name = host.substr(1, close - 1);
    rest = host.substr(close + 1);
  } else {
    const auto colon = host.find(':');
    out.name = host.substr(0, colon);
    rest = colon == host.npos ? std::string_view{} : host.substr(colon);
  }
  if (rest.empty()) {
    out.good = true;
    return out;
  }
  const auto [end, problem] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), out.port);
  out.good = rest[0] == ':' && problem == std::errc() && end == rest.data() + rest.size();
  return out;
}

}  // namespace

bool host_allowed(std::string_view host, std::uint16_t port, bool loopback_only) {
  const HostPort h = split(host);
  if (!h.good || h.port != port) return false;
  if (h.name == "localhost") return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(h.name, error);
  return !error && (!loopback_only || address.is_loopback());
}

bool origin_allowed(std::string_view origin, std::string_view host) {
  static constexpr std::string_view kScheme = "http://";
  return origin.empty() || (origin.starts_with(kScheme) && origin.substr(kScheme.size()) == host);
}

}  // namespace karakuri
