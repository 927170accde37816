// SPDX-License-Identifier: MIT
//
// In what order events are taken and effects carried out.
#include "doctest.h"

#include <map>

#include "lock/drive.h"

namespace redlock::lock {
namespace {

/// Its events are told apart by the job's exit status, and their effects are given beforehand.
class Script : public Machine {
 public:
  Effects step(const Event& event, Instant now) override {
    const int number = std::get<JobExited>(event).status;
    taken.push_back(number);
    times.push_back(now);
    return effects[number];
  }
  [[nodiscard]] Instant deadline() const override { return kNever; }
  [[nodiscard]] bool finished() const override { return false; }

  std::map<int, Effects> effects;
  std::vector<int> taken;
  std::vector<Instant> times;
};

/// Each request is followed by the event that its fence names; a signal by none.
class Stage : public Performer {
 public:
  explicit Stage(Machine& machine) : drive(machine, *this) {}

  void step(int number) { drive.step(JobExited{number}, now); }

  void perform(const Effect& effect, Instant at) override {
    if (const auto* kill = std::get_if<Kill>(&effect)) {
      done += "kill " + std::to_string(kill->signal) + "; ";
      return;
    }
    const auto follows =
        static_cast<int>(std::get<op::Commit>(std::get<Ask>(effect).operation).fence);
    done += "ask " + std::to_string(follows) + "; ";
    if (follows == 99) drive.change_machine(*other);
    if (follows == slow) at += std::chrono::seconds(2);
    if (follows > 0) drive.step(JobExited{follows}, at);
  }
  void stepped() override { done += "| "; }

  Drive drive;
  Machine* other = nullptr;
  int slow = 0;  ///< this request takes 2 s
  Instant now{std::chrono::seconds(5)};
  std::string done;
};

Ask ask(std::uint64_t follows) {
  return {.operation = op::Commit{follows}};
}

TEST_CASE("drive: what follows from an effect is taken after all effects of its event") {
  Script script;
  script.effects[1] = {ask(2), ask(3), ask(0)};
  script.effects[2] = {ask(4)};
  Stage stage(script);
  stage.step(1);
  CHECK(script.taken == std::vector{1, 2, 3, 4});
  CHECK(stage.done == "| ask 2; ask 3; ask 0; | ask 4; | | ");
  CHECK(script.times == std::vector<Instant>(4, stage.now));
}

TEST_CASE("drive: an effect takes time, and no event is earlier than the one before it") {
  Script script;
  script.effects[1] = {ask(2), ask(3)};
  script.effects[2] = {ask(4)};
  Stage stage(script);
  stage.slow = 3;
  stage.step(1);
  using std::chrono::seconds;
  const Instant begin = stage.now;
  CHECK(script.taken == std::vector{1, 2, 3, 4});
  CHECK(script.times == std::vector{begin, begin, begin + seconds(2), begin + seconds(2)});
  CHECK(stage.drive.latest() == begin + seconds(2));
  stage.step(5);
  CHECK(script.times.back() == begin + seconds(2));
}

TEST_CASE("drive: nothing stands before a signal to the job") {
  Script script;
  script.effects[1] = {ask(0), ask(2), Kill{15}, Kill{9}};
  Stage stage(script);
  stage.step(1);
  CHECK(stage.done == "| kill 15; kill 9; ask 0; ask 2; | ");
}

TEST_CASE("drive: another machine takes what follows") {
  Script first;
  Script second;
  first.effects[1] = {ask(99)};
  Stage stage(first);
  stage.other = &second;
  stage.step(1);
  CHECK(first.taken == std::vector{1});
  CHECK(second.taken == std::vector{99});
}

}  // namespace
}  // namespace redlock::lock
