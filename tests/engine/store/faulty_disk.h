#pragma once
// FaultyDisk: stands between SQLite and the real files and, after a number of writing calls, makes
// each one fail as a full or dying disk would. Reading goes on.

#include <cstring>

#include <catch2/catch.hpp>
#include <sqlite3.h>

namespace hearth {

class FaultyDisk {
  public:
    FaultyDisk() {
        real_ = ::sqlite3_vfs_find(nullptr);
        vfs_ = *real_;
        vfs_.zName = "faulty";
        vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
        vfs_.xOpen = open;
        current_ = this;
        REQUIRE(::sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
    }
    ~FaultyDisk() {
        ::sqlite3_vfs_unregister(&vfs_);
        ::sqlite3_vfs_register(real_, 1);
        current_ = nullptr;
    }
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;

    /// The next `n` writing calls succeed, those after them answer `code`.
    void fail_after(int n, int code) {
        left_ = n;
        code_ = code;
        n_failed_ = 0;
    }
    void heal() { left_ = -1; }
    int n_failed() const { return n_failed_; }

  private:
    struct File {
        sqlite3_file base;
    };
    static sqlite3_file* real_file(sqlite3_file* file) {
        return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
    }
    static const sqlite3_io_methods& real(sqlite3_file* file) { return *real_file(file)->pMethods; }

    /// SQLITE_OK, or the code with which a writing call fails now.
    static int writing() {
        FaultyDisk& disk = *current_;
        if (disk.left_ < 0) return SQLITE_OK;
        if (disk.left_ > 0) {
            --disk.left_;
            return SQLITE_OK;
        }
        ++disk.n_failed_;
        return disk.code_;
    }

    static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
        file->pMethods = nullptr;
        if ((flags & SQLITE_OPEN_CREATE) != 0)
            if (const int code = writing(); code != SQLITE_OK) return SQLITE_CANTOPEN;
        const int result =
            current_->real_->xOpen(current_->real_, name, real_file(file), flags, out);
        if (result == SQLITE_OK) file->pMethods = methods();
        return result;
    }
    static int write(sqlite3_file* f, const void* bytes, int n, sqlite3_int64 at) {
        const int code = writing();
        return code != SQLITE_OK ? code : real(f).xWrite(real_file(f), bytes, n, at);
    }
    static int truncate(sqlite3_file* f, sqlite3_int64 n_bytes) {
        const int code = writing();
        return code != SQLITE_OK ? code : real(f).xTruncate(real_file(f), n_bytes);
    }
    /// Counts, but waits for no real disk: no power is cut in these tests.
    static int sync(sqlite3_file*, int) {
        return writing() != SQLITE_OK ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    }
    static const sqlite3_io_methods* methods() {
        static const sqlite3_io_methods table = [] {
            sqlite3_io_methods m{};
            m.iVersion = 2;
            m.xClose = [](sqlite3_file* f) { return real(f).xClose(real_file(f)); };
            m.xRead = [](sqlite3_file* f, void* b, int n, sqlite3_int64 at) {
                return real(f).xRead(real_file(f), b, n, at);
            };
            m.xWrite = write;
            m.xTruncate = truncate;
            m.xSync = sync;
            m.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) {
                return real(f).xFileSize(real_file(f), n);
            };
            m.xLock = [](sqlite3_file* f, int l) { return real(f).xLock(real_file(f), l); };
            m.xUnlock = [](sqlite3_file* f, int l) { return real(f).xUnlock(real_file(f), l); };
            m.xCheckReservedLock = [](sqlite3_file* f, int* r) {
                return real(f).xCheckReservedLock(real_file(f), r);
            };
            m.xFileControl = [](sqlite3_file* f, int op, void* arg) {
                return real(f).xFileControl(real_file(f), op, arg);
            };
            m.xSectorSize = [](sqlite3_file* f) { return real(f).xSectorSize(real_file(f)); };
            m.xDeviceCharacteristics = [](sqlite3_file* f) {
                return real(f).xDeviceCharacteristics(real_file(f));
            };
            m.xShmMap = [](sqlite3_file* f, int region, int n, int extend, void volatile** out) {
                return real(f).xShmMap(real_file(f), region, n, extend, out);
            };
            m.xShmLock = [](sqlite3_file* f, int offset, int n, int flags) {
                return real(f).xShmLock(real_file(f), offset, n, flags);
            };
            m.xShmBarrier = [](sqlite3_file* f) { real(f).xShmBarrier(real_file(f)); };
            m.xShmUnmap = [](sqlite3_file* f, int remove) {
                return real(f).xShmUnmap(real_file(f), remove);
            };
            return m;
        }();
        return &table;
    }

    inline static FaultyDisk* current_ = nullptr;
    sqlite3_vfs* real_ = nullptr;
    sqlite3_vfs vfs_{};
    int left_ = -1, code_ = SQLITE_OK, n_failed_ = 0;
};

}  // namespace hearth
