#pragma once
// Does a file lie on another computer? SQLite's write-ahead log is not safe there.

#include <string>

namespace hearth::store {

/// The kind of network drive that holds `path` ("nfs", "cifs", "fuse.sshfs"), "" for local disks
/// and where it cannot be told.
std::string network_drive(const std::string& path);

/// The same from its parts: statfs's type, and the name of the mount's file system for those that
/// are programs of their own (FUSE). Pure.
std::string network_drive_name(unsigned long type, const std::string& mounted_as);

/// The file system's name of the mount with this device number, in the text of
/// /proc/self/mountinfo; "" when it is not there. Pure.
std::string mounted_as(const std::string& mountinfo, unsigned major, unsigned minor);

}  // namespace hearth::store
