//===- Interrupt.h - Interruption of runs by Ctrl-C -------------*- C++ -*-===//
//
// The first SIGINT or SIGTERM only sets a flag, which training checks between two steps. The second
// one ends the process immediately.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_INTERRUPT_H
#define PE_TOOLS_PE_INTERRUPT_H

namespace pe::cli {

/// Installs the signal handlers. A signal that was ignored when the process started remains
/// ignored.
void catchInterrupts();

/// Returns true if a signal has arrived.
bool isInterrupted();

/// Returns the exit status of an interrupted process: 128 plus the signal number, 130 for Ctrl-C.
int interruptStatus();

} // namespace pe::cli

#endif // PE_TOOLS_PE_INTERRUPT_H
