//===- SignatureJson.h - Signatures as JSON ---------------------*- C++ -*-===//
//
// Converts the description of an entry function, for the disk cache and packages.
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

/// Converts to the list `requires`, which is absent if there are no requirements.
Json requirementsToJson(const std::vector<Requirement> &requirements);
void readRequirements(JsonReader &reader, std::vector<Requirement> &requirements);
/// Converts to the list `requires_values`, which is absent if there are no requirements.
Json valueRequirementsToJson(const std::vector<ValueRequirement> &requirements);
void readValueRequirements(JsonReader &reader, std::vector<ValueRequirement> &requirements);

std::string toJson(const EntryInfo &entry);
Expected<EntryInfo> parseEntryInfo(std::string_view json);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_SIGNATUREJSON_H
