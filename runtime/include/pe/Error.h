//===- Error.h - Error reporting --------------------------------*- C++ -*-===//
//
// pe never throws across its interfaces and never ends the process: a function that can fail
// returns Expected<T>, or Status if it has no value to return. The message of an Error is one
// lower-case sentence that states what was expected, what was found and what to change. An Error
// also has the location in the user's file if it is known.
//
//   Expected<int> half(int x) {
//     if (x % 2)
//       return makeError("expected an even number, found ", x);
//     return x / 2;
//   }
//   if (auto h = half(3); !h)
//     report(h.error().render("pe run"));
//
//===----------------------------------------------------------------------===//

#ifndef PE_ERROR_H
#define PE_ERROR_H

#include <cassert>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pe {

/// The party that can fix an error.
enum class ErrorKind {
  Input = 1,   ///< the caller; the message says what to change
  Compile = 2, ///< the author of the source, or the installation of the compiler
  Device = 3,  ///< the driver or the machine
  Memory = 4,
  Internal = 5 ///< pe itself: a bug
};

/// The description of a failure.
class [[nodiscard]] Error {
public:
  explicit Error(std::string message) : message(std::move(message)) {}

  const std::string &getMessage() const { return message; }
  /// The location "FILE:LINE:COL" in the user's source, or empty.
  const std::string &getLocation() const { return location; }
  /// Further lines (notes, source excerpts), printed verbatim after the first one.
  const std::vector<std::string> &getNotes() const { return notes; }

  ErrorKind getKind() const { return kind; }

  /// Sets the kind, which is Input by default.
  Error of(ErrorKind which) && {
    kind = which;
    return std::move(*this);
  }
  /// Sets the location.
  Error at(std::string where) && {
    location = std::move(where);
    return std::move(*this);
  }
  /// Appends a line to the notes.
  Error note(std::string line) && {
    notes.push_back(std::move(line));
    return std::move(*this);
  }
  /// Prefixes the message with a context: "CONTEXT: message".
  Error within(const std::string &context) && {
    message = context + ": " + message;
    return std::move(*this);
  }

  /// Formats the error as "FILE:LINE:COL: error: ..." or, if it has no location, as
  /// "WHO: error: ...", followed by the notes, one per line. No final newline.
  std::string render(const std::string &who) const {
    std::string text = (location.empty() ? who : location) + ": error: " + message;
    for (const std::string &line : notes)
      text += "\n" + line;
    return text;
  }

private:
  std::string message;
  std::string location;
  std::vector<std::string> notes;
  ErrorKind kind = ErrorKind::Input;
};

/// Returns an Error whose message is the concatenation of the parts.
template <typename... Parts> Error makeError(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return Error(out.str());
}

/// A T, or the Error that explains why there is no value.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state(std::in_place_index<1>, std::move(error)) {}
  template <typename U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> &&
             !std::is_same_v<std::remove_cvref_t<U>, Expected>)
  Expected(U &&value) : state(std::in_place_index<0>, std::forward<U>(value)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  const Error &error() const & {
    assert(state.index() == 1 && "no error in an Expected that holds a value");
    return *std::get_if<1>(&state);
  }
  Error takeError() { return std::move(*std::get_if<1>(&state)); }

private:
  T &value() {
    assert(state.index() == 0 && "value taken from an Expected that holds an error");
    return *std::get_if<0>(&state);
  }
  const T &value() const { return const_cast<Expected *>(this)->value(); }

  std::variant<T, Error> state;
};

/// Success or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}
  static Status success() { return {}; }

  explicit operator bool() const { return failure.index() == 0; }
  const Error &error() const & {
    assert(failure.index() == 1 && "no error in a successful Status");
    return *std::get_if<1>(&failure);
  }
  Error takeError() { return std::move(*std::get_if<1>(&failure)); }

private:
  std::variant<std::monostate, Error> failure;
};

} // namespace pe

#endif // PE_ERROR_H
