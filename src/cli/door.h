// How a browser learns an address that holds the token: every user of a machine sees what stands in command
// lines, so what stands there is a file that only this user can read, and that leads on to the address.
#pragma once

#include <filesystem>
#include <string>

namespace karakuri::cli {

/// A new folder that only this user can enter; it is gone with this.
class PrivateFolder {
 public:
  /// An empty path: none could be made.
  static PrivateFolder make();
  PrivateFolder() = default;
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder() { remove(); }

  const std::filesystem::path& path() const { return path_; }
  /// May be called from any thread, and more than once.
  void remove() const;

 private:
  std::filesystem::path path_;
};

/// Writes a file into `folder` that leads a browser on to `url`. @return Its own address; empty where it
/// cannot be written.
std::string make_door(const PrivateFolder& folder, const std::string& url);

}  // namespace karakuri::cli
