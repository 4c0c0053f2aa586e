// Frames: little-endian, see web/src/protocol.ts for the other end.
//
//   uint32 kind = 2, links n, contacts m, flags (1: paused, 2: contacts left out for their number)
//   float64 time
//   float32 n x (px py pz qw qx qy qz)
//   float32 m x (px py pz fx fy fz state)         state: 0 open, 1 stick, 2 slide
//   uint8   n x state                             0 awake, 1 asleep, 2 quarantined; padded to 4
//   uint32  number of the client's subscription, count s
//   float64 s values (unaligned)
//   float32 n x (px py pz qw qx qy qz)            of the other world, while two are compared
#pragma once

#include <span>

#include "karakuri/session/session.h"
#include "server/describe.h"

namespace karakuri::server_detail {

std::string encode_frame(const Session& session, std::span<const LinkId> links, bool paused, bool contacts);
std::string encode_poses(const Session& session, std::span<const LinkId> links);
std::string encode_signals(const Session& session, std::uint32_t subscription,
                           std::span<const Signal> signals);

}  // namespace karakuri::server_detail
