#include "case/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

// A file descriptor that is closed by the destructor.
class FileDescriptor {
 public:
  FileDescriptor(const std::string& file, int flags) : value_(open(file.c_str(), flags | O_CLOEXEC, 0666)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (value_ >= 0) close(value_);
  }
  operator int() const { return value_; }

 private:
  int value_;
};

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

// Contents: a container of bytes.
template <class Contents>
Contents read_regular(const std::string& file, const Place& place, int64_t max_bytes) {
  const auto refuse = [&](const std::string& reason) { fail(place, "cannot read " + file + ": " + reason); };
  // Does not wait for the writer of a pipe.
  const FileDescriptor in(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status = {};
  if (in < 0 || fstat(in, &status) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse(std::string("it is ") + kind_of(status.st_mode) + ", not a regular file");
  const std::string size = std::to_string(status.st_size);
  if (status.st_size > max_bytes)
    refuse("it has " + size + " bytes, expected at most " + std::to_string(max_bytes));
  Tensor bytes{.dtype = MLUOP_DTYPE_UINT8, .dims = {status.st_size}, .place = place};
  Contents contents(byte_count(bytes), {});
  for (size_t begin = 0; begin < contents.size();) {
    const ssize_t count = read(in, contents.data() + begin, contents.size() - begin);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::strerror(errno));
    if (count == 0) refuse("it ends after " + std::to_string(begin) + " of " + size + " bytes");
    begin += static_cast<size_t>(count);
  }
  // Files of /proc have the size 0.
  char more = 0;
  if (contents.empty() && read(in, &more, 1) > 0) refuse("it has more bytes than its size, 0, states");
  return contents;
}

// The file that a path names or will name. Nothing if it must be written in place.
std::optional<std::string> replaceable(fs::path path) {
  constexpr int kMaxLinks = 40;
  std::error_code error;
  for (int links = 0; links < kMaxLinks; ++links) {
    const fs::file_status status = fs::symlink_status(path, error);
    if (status.type() == fs::file_type::not_found || fs::is_regular_file(status)) return path.string();
    if (!fs::is_symlink(status)) return std::nullopt;
    const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
    // Links of /proc lead to open files, regardless of the folder that contains them.
    if (fs::canonical(folder, error).string().starts_with("/proc")) return std::nullopt;
    path = folder / fs::read_symlink(path, error);
    if (error) return std::nullopt;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_to_write(const std::string& file) { fail({}, "cannot write " + file); }

// Returns false if another process has locked the file. On file systems without locks, locks nothing.
bool lock(int descriptor) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(descriptor, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN);
}

bool is_same_file(int descriptor, const std::string& file) {
  struct stat opened = {}, named = {};
  return fstat(descriptor, &opened) == 0 && stat(file.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

std::string read_file(const std::string& file, const Place& place) {
  return read_regular<std::string>(file, place, INT_MAX);
}

Bytes read_bytes(const std::string& file, const Place& place) {
  return read_regular<Bytes>(file, place, INT64_MAX);
}

OutputFile::OutputFile(std::string file) : file_(std::move(file)) {
  constexpr int kInPlace = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  constexpr int kAttempts = 100;
  if (const std::optional<std::string> target = replaceable(file_)) {
    target_ = *target;
    struct stat replaced = {};
    const bool exists = stat(target_.c_str(), &replaced) == 0;
    if (exists && access(target_.c_str(), W_OK) != 0) refuse_to_write(file_);
    std::random_device random;
    for (int attempt = 0; attempt < kAttempts && descriptor_ < 0; ++attempt) {
      part_ = (fs::path(target_).parent_path() / (".mluop_omp." + std::to_string(random()) + ".part")).string();
      descriptor_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && errno != EEXIST) break;
    }
    if (descriptor_ >= 0 && exists) {
      // Only root can keep the owner.
      static_cast<void>(!fchown(descriptor_, replaced.st_uid, replaced.st_gid));
      static_cast<void>(!fchmod(descriptor_, replaced.st_mode & 07777));
    }
    if (descriptor_ < 0) part_.clear();
    if (descriptor_ < 0 && !exists) refuse_to_write(file_);
  }
  if (descriptor_ < 0) descriptor_ = open(file_.c_str(), kInPlace, 0666);
  if (descriptor_ < 0) refuse_to_write(file_);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!part_.empty()) unlink(part_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refuse_to_write(file_);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void OutputFile::commit() {
  if (part_.empty()) return;
  std::error_code error;
  fs::rename(part_, target_, error);
  // For example, if the file is a mount point.
  if (error && !fs::copy_file(part_, target_, fs::copy_options::overwrite_existing, error)) refuse_to_write(file_);
  unlink(part_.c_str());
  part_.clear();
}

void OutputFile::commit_exclusively() {
  if (part_.empty()) return;
  const auto refuse = [&] { fail({}, "cannot write " + file_ + ": another process writes it"); };
  for (;;) {
    const FileDescriptor former(target_, O_WRONLY | O_CREAT);
    if (former < 0) refuse_to_write(file_);
    if (!lock(former)) refuse();
    // Another process may have replaced it in between.
    if (!is_same_file(former, target_)) continue;
    if (!lock(descriptor_)) refuse();
    return commit();
  }
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) refuse_to_write(file_);
}

void write_file(const std::string& file, std::string_view contents) {
  OutputFile out(file);
  out.write(contents);
  out.close();
  out.commit();
}

void require_writable(const std::string& file) {
  if (!is_replaceable(file)) return;
  if (!fs::exists(file)) OutputFile{file};
  if (fs::exists(file) && access(file.c_str(), W_OK) != 0) refuse_to_write(file);
}

bool is_replaceable(const std::string& file) { return replaceable(file).has_value(); }

}  // namespace mluop::cases
