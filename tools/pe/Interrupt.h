//===- Interrupt.h - Ending a run by Ctrl-C ---------------------*- C++ -*-===//
//
// The first SIGINT or SIGTERM only sets a flag, which training reads between two steps; the second
// ends the process at once.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_INTERRUPT_H
#define PE_TOOLS_PE_INTERRUPT_H

namespace pe::cli {

/// Catches the signals from now on. One that the process was started to ignore stays ignored.
void catchInterrupts();

/// Whether one has arrived.
bool isInterrupted();

/// The exit status of a process that one has stopped: 128 and its number, 130 for Ctrl-C.
int interruptStatus();

} // namespace pe::cli

#endif // PE_TOOLS_PE_INTERRUPT_H
