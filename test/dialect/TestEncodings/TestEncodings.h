//===- TestEncodings.h - Encodings of another dialect -----------*- C++ -*-===//
#ifndef PE_TEST_DIALECT_TESTENCODINGS_TESTENCODINGS_H
#define PE_TEST_DIALECT_TESTENCODINGS_TESTENCODINGS_H

#include "dialect/PE/PE.h"

#include "test/dialect/TestEncodings/TestEncodingsDialect.h.inc"

#define GET_OP_CLASSES
#include "test/dialect/TestEncodings/TestEncodings.h.inc"

#endif // PE_TEST_DIALECT_TESTENCODINGS_TESTENCODINGS_H
