#include "engine/store/network_drive.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

namespace hearth::store {
namespace {

constexpr unsigned long kFuse = 0x65735546;

struct Kind {
    unsigned long type;  ///< statfs(2), f_type
    const char* name;
};
constexpr Kind kNetwork[] = {{0x6969, "nfs"},        {0x517B, "smb"},     {0xFF534D42, "cifs"},
                             {0xFE534D42, "smb2"},   {0x5346414F, "afs"}, {0x00C36400, "ceph"},
                             {0x73757245, "coda"},   {0x564C, "ncp"},     {0x01021997, "9p"},
                             {0x0BD00BD0, "lustre"}, {0x01161970, "gfs2"}};

/// FUSE file systems whose files are elsewhere; others (ntfs-3g, encryption) are local.
constexpr std::string_view kRemoteFuse[] = {"sshfs", "rclone", "s3fs",      "davfs",  "curlftpfs",
                                            "smb",   "gvfsd",  "glusterfs", "goofys", "gcsfuse"};

}  // namespace

std::string network_drive_name(unsigned long type, const std::string& mounted_as) {
    if (type == kFuse) {
        for (const std::string_view remote : kRemoteFuse)
            if (mounted_as.find(remote) != std::string::npos) return mounted_as;
        return {};
    }
    for (const Kind& kind : kNetwork)
        if (kind.type == type) return kind.name;
    return {};
}

std::string mounted_as(const std::string& mountinfo, unsigned major, unsigned minor) {
    // "36 35 98:0 /root /mount options shared:1 - fuse.sshfs source options"
    const std::string device = fmt::format("{}:{}", major, minor);
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string id, parent, found, word;
        words >> id >> parent >> found;
        if (found != device) continue;
        while (words >> word)
            if (word == "-") break;
        if (words >> word) return word;
    }
    return {};
}

std::string network_drive(const std::string& path) {
    struct statfs drive {};
    struct stat info {};
    if (::statfs(path.c_str(), &drive) != 0 || ::stat(path.c_str(), &info) != 0) return {};
    // f_type is signed, and narrower than its constants on some machines.
    const unsigned long type = static_cast<unsigned long>(drive.f_type) & 0xFFFFFFFFul;
    std::string mount;
    if (type == kFuse) {
        std::ifstream file("/proc/self/mountinfo");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        mount = mounted_as(text, major(info.st_dev), minor(info.st_dev));
    }
    return network_drive_name(type, mount);
}

}  // namespace hearth::store
