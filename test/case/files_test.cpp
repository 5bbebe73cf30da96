// Files: which files are read, and how files are replaced.
#include "case/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>

#include "case/commands.h"
#include "case/npy.h"
#include "case/past_run.h"
#include "case/read.h"
#include "case/report.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kCase = std::string(MLUOP_OMP_SOURCE_DIR) + "/test/cases/ball_query/by_hand.prototxt";

class CaseFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  std::string at(const std::string& name) const { return path_ + '/' + name; }
  // Names of the files of the folder.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const std::string path_ = ::testing::TempDir() + "/mluop_case_files_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

// Runs every command that reads a file on every kind of file that has no end or no writer.
TEST_F(CaseFiles, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", at("device"));
  fs::create_directory(at("folder"));
  const std::pair<const char*, const char*> kinds[] = {
      {"pipe", "is a pipe, not a regular file"},
      {"device", "is a device, not a regular file"},
      {"folder", "is a folder, not a regular file"},
      {"missing", "No such file or directory"},
  };
  const std::function<void(const std::string&)> readers[] = {
      [](const std::string& file) { show_command({.file = file}); },
      [](const std::string& file) { diff_command({.found = file, .expected = kCase, .dtype = "int8"}); },
      [](const std::string& file) { diff_command({.found = kCase, .expected = file, .dtype = "int8"}); },
      [](const std::string& file) { reduce_command({.file = file, .output = "/nowhere", .options = {}}); },
      [](const std::string& file) { export_command({.file = file, .folder = "/nowhere"}); },
      [](const std::string& file) { throw Problem(run_file(file, {}).front().message); },
      [](const std::string& file) {
        if (fs::exists(file)) PastRun(file, {});
        read_file(file, {});
      },
  };
  for (const auto& [name, message] : kinds) {
    for (size_t i = 0; i < std::size(readers); ++i) {
      SCOPED_TRACE(std::string(name) + ' ' + std::to_string(i));
      try {
        readers[i](at(name));
        ADD_FAILURE() << "not refused";
      } catch (const Problem& problem) {
        EXPECT_THAT(problem.what(), AllOf(HasSubstr("cannot read " + at(name)), HasSubstr(message)));
      }
    }
  }
  const auto expect_refusal = [](const std::string& file, const char* message) {
    try {
      read_file(file, {});
      ADD_FAILURE() << file << " is not refused";
    } catch (const Problem& problem) {
      EXPECT_THAT(problem.what(), HasSubstr(message));
    }
  };
  expect_refusal("/proc/version", "has more bytes than its size, 0, states");
  std::ofstream(at("sparse")) << "x";
  fs::resize_file(at("sparse"), uintmax_t{1} << 31);
  expect_refusal(at("sparse"), "has 2147483648 bytes, expected at most 2147483647");
}

// What a run of cases in a folder finds.
TEST_F(CaseFiles, APipeInAFolderIsAnInvalidCase) {
  ASSERT_EQ(mkfifo(at("a.prototxt").c_str(), 0600), 0);
  fs::copy_file(kCase, at("b.prototxt"));
  RunCommand command;
  command.paths = {at("")};
  EXPECT_EQ(run_command(command), kInvalid);
}

TEST_F(CaseFiles, AFileIsReplacedOnceItIsComplete) {
  const std::pair<const char*, std::function<void(const std::string&)>> situations[] = {
      {"new", [](const std::string&) {}},
      {"old", [](const std::string& file) { std::ofstream(file) << "old"; }},
      {"link",
       [&](const std::string& file) {
         std::ofstream(at("target")) << "old";
         fs::create_symlink("target", file);
       }},
      {"link to nothing", [](const std::string& file) { fs::create_symlink("target", file); }},
  };
  for (const auto& [name, prepare] : situations) {
    SCOPED_TRACE(name);
    SetUp();
    const std::string file = at("file");
    prepare(file);
    const bool exists = fs::exists(file), is_link = fs::is_symlink(file);
    {
      OutputFile out(file);
      out.write("new");
      EXPECT_EQ(fs::exists(file), exists);
      EXPECT_EQ(exists ? read_file(file, {}) : "old", "old");
    }
    EXPECT_EQ(names().size(), (exists || is_link ? 1U : 0U) + (exists && is_link ? 1U : 0U));
    write_file(file, "new");
    EXPECT_EQ(read_file(file, {}), "new");
    EXPECT_EQ(fs::is_symlink(file), is_link);
    EXPECT_EQ(names().size(), is_link ? 2U : 1U);
  }
}

TEST_F(CaseFiles, PermissionsAreKept) {
  for (const mode_t mask : {022, 077}) {
    fs::remove(at("file"));
    const mode_t former = umask(mask);
    write_file(at("file"), "new");
    umask(former);
    const auto permissions = [&] { return static_cast<mode_t>(fs::status(at("file")).permissions()); };
    EXPECT_EQ(permissions(), 0666 & ~mask);
    chmod(at("file").c_str(), 0640);
    write_file(at("file"), "newer");
    EXPECT_EQ(permissions(), 0640U);
  }
}

TEST_F(CaseFiles, APipeIsWrittenInPlace) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  auto text = std::async(std::launch::async, [&] {
    std::string line;
    std::getline(std::ifstream(at("pipe")), line);
    return line;
  });
  write_file(at("pipe"), "new\n");
  EXPECT_EQ(text.get(), "new");
  EXPECT_EQ(names(), std::vector<std::string>{"pipe"});
  for (const char* file : {"/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    EXPECT_FALSE(is_replaceable(file)) << file;
  }
}

// Runs in a child process: a lock is held by a process, not by a thread.
int status_of(const std::function<void()>& run) {
  const pid_t process = fork();
  if (process == 0) {
    try {
      run();
    } catch (const Problem& problem) {
      _exit(std::string(problem.what()).find("another process writes it") != std::string::npos ? 2 : 3);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(CaseFiles, OneProcessWritesAReport) {
  const std::string file = at("x.json");
  for (const bool resumes : {false, true}) {
    const Outcome outcome{.file = "a"};
    const std::vector<Outcome> kept(resumes ? 1 : 0, outcome);
    const auto begin = [&] { JsonReport(file, {}, kept).finish(); };
    {
      JsonReport report(file, {}, kept);
      EXPECT_EQ(status_of(begin), 2);
      report.add(outcome);
      EXPECT_EQ(status_of(begin), 2);
      report.finish();
    }
    EXPECT_EQ(status_of(begin), 0);
    EXPECT_EQ(names(), std::vector<std::string>{"x.json"});
  }
}

// A name that occurs twice in JSON or in the header of a .npy.
TEST_F(CaseFiles, NamesThatRepeat) {
  export_command({.file = kCase, .folder = at("case")});
  const std::string description = read_file(at("case/case.json"), {});
  const std::function<void()> readers[] = {
      [&] {
        write_file(at("case/case.json"), "{\"operator\": 1, " + description.substr(1));
        read_case(at("case/case.json"));
      },
      [&] {
        write_file(at("x.json"), R"({"settings": 1, "cases": [{"a": 1, "a": 2}]})");
        PastRun(at("x.json"), {});
      },
      [&] {
        const std::string header = "{'descr': '<f4', 'descr': '<i4', 'fortran_order': False, 'shape': (0,)}\n";
        write_file(at("x.npy"), std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) +
                                    std::string(1, '\0') + header);
        read_npy(at("x.npy"));
      },
  };
  for (const auto& reader : readers) {
    try {
      reader();
      ADD_FAILURE() << "not refused";
    } catch (const Problem& problem) {
      EXPECT_THAT(problem.what(), HasSubstr(" occurs twice"));
    }
  }
}

// `new` writes only cases that the library accepts: each size of each operator.
TEST_F(CaseFiles, NewCasesPass) {
  size_t written = 0, refused = 0;
  for (const Operator& op : operators()) {
    for (const SizeRule& size : op.sizes) {
      for (const int64_t value : {0, 1, 2, 3, 40}) {
        SCOPED_TRACE(op.name + ' ' + size.name + '=' + std::to_string(value));
        const std::string file = at("x.pb");
        fs::remove(file);
        try {
          new_command({.op = op.name, .sizes = {{size.name, value}}, .dtype = "", .output = file});
        } catch (const Problem& problem) {
          ++refused;
          EXPECT_FALSE(std::string(problem.what()).empty());
          EXPECT_FALSE(fs::exists(file));
          continue;
        }
        ++written;
        const Outcome outcome = run_file(file, {}).front();
        EXPECT_EQ(outcome.status, Status::kPassed) << outcome.message;
      }
    }
  }
  std::cout << written << " cases pass, " << refused << " are refused\n";
  EXPECT_GT(written, refused);
}

}  // namespace
}  // namespace mluop::cases
