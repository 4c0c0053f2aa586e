// Frames: little-endian, see web/src/protocol.ts for the other end.
//
//   uint32 kind = 2, flags (1: paused, 2: contacts left out for their number)
//   uint32 links n, contacts m, boxes b, islands k (n or 0)
//   float64 time
//   float32 n x (px py pz qw qx qy qz)
//   float32 m x (point, force, normal, friction, state)    state: 0 open, 1 stick, 2 slide; 11 numbers
//   float32 b x (low corner, high corner)                  around each shape that ends somewhere
//   int32   k x island                                     alike: act on each other
//   uint8   n x state                                      0 awake, 1 asleep, 2 quarantined; padded to 4
//   uint32  number of the client's subscription, count s
//   float64 s values (unaligned)
//   float32 n x (px py pz qw qx qy qz)                     of the other world, while two are compared
#pragma once

#include <span>

#include "karakuri/session/session.h"
#include "server/describe.h"

namespace karakuri::server_detail {

/// What is sent only to clients that look at it.
struct FrameParts {
  bool contacts = false, boxes = false, islands = false;
  auto operator<=>(const FrameParts&) const = default;
};

std::string encode_frame(const Session& session, std::span<const LinkId> links, bool paused,
                         const FrameParts& parts);
std::string encode_poses(const Session& session, std::span<const LinkId> links);
std::string encode_signals(const Session& session, std::uint32_t subscription,
                           std::span<const Signal> signals);

}  // namespace karakuri::server_detail
