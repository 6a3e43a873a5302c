//===- SignatureJson.h - Signatures as JSON ---------------------*- C++ -*-===//
//
// Arguments and results of an entry function, in the disk cache and in packages.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_SIGNATUREJSON_H
#define PE_RUNTIME_PLAN_SIGNATUREJSON_H

#include "pe/Signature.h"
#include "runtime/plan/JsonReader.h"

#include <string_view>

namespace pe::plan {

Json parameterToJson(const ParameterInfo &info);
Status readParameter(const Json &json, const std::string &where, ParameterInfo &info);

/// The list `requires`, which is absent where there is nothing to fulfil.
Json requirementsToJson(const std::vector<Requirement> &requirements);
void readRequirements(JsonReader &reader, std::vector<Requirement> &requirements);
/// The list `requires_values`, likewise.
Json valueRequirementsToJson(const std::vector<ValueRequirement> &requirements);
void readValueRequirements(JsonReader &reader, std::vector<ValueRequirement> &requirements);

std::string toJson(const EntryInfo &entry);
Expected<EntryInfo> parseEntryInfo(std::string_view json);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_SIGNATUREJSON_H
