// `sluice doctor`: the diagnosis as text or JSON; main.cpp describes the JSON.
#include "sluice/backend.h"
#include "tools/sluice/commands.hpp"
#include "tools/sluice/diagnosis.hpp"
#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

// ---- JSON.

Json json_of(const BackendFinding& backend);

Json json_of(const DeviceFinding& device) {
  const DeviceReport& facts = device.facts;
  return {{"id", facts.id},
          {"name", text_or_null(facts.name)},
          {"kind", text_or_null(facts.kind)},
          {"memory_bytes", facts.memory_bytes == 0 ? Json(nullptr) : Json(facts.memory_bytes)},
          {"architecture", text_or_null(facts.architecture)},
          {"driver", text_or_null(facts.driver)},
          {"card", text_or_null(facts.card)},
          {"functional", facts.functional},
          {"reason", text_or_null(facts.reason)},
          {"remedy", text_or_null(device.remedy)}};
}

Json json_of(const ComponentFinding& component) {
  return {{"name", component.facts.name},
          {"file", text_or_null(component.facts.file)},
          {"version", text_or_null(component.facts.version)},
          {"found", component.facts.reason.empty()},
          {"functional", component.functional},
          {"reason", text_or_null(component.reason)}};
}

Json json_of(const Card& card) { return {{"vendor", card.vendor}, {"address", card.address}}; }

Json json_of(const RefusalFinding& refused) {
  return {{"path", refused.facts.path}, {"reason", refused.facts.reason}, {"remedy", text_or_null(refused.remedy)}};
}

Json json_of(const Problem& problem) {
  return {{"subject", problem.subject}, {"reason", problem.reason}, {"remedy", text_or_null(problem.remedy)}};
}

template <class Finding>
Json list(const std::vector<Finding>& findings) {
  Json result = Json::array();
  for (const Finding& finding : findings) result.push_back(json_of(finding));
  return result;
}

Json json_of(const BackendFinding& backend) {
  const BackendReport& facts = backend.facts;
  return {{"name", facts.name},
          {"found", backend.found},
          {"loaded", facts.loaded},
          {"available", facts.available},
          {"functional", facts.functional},
          {"chosen", facts.chosen},
          {"file", text_or_null(facts.file)},
          {"reason", text_or_null(facts.reason)},
          {"remedy", text_or_null(backend.remedy)},
          {"devices", list(backend.devices)},
          {"components", list(backend.components)}};
}

Json json_of(const KernelCacheReport& cache) {
  return {{"folder", text_or_null(cache.folder)},
          {"kernels", cache.kernels},
          {"bytes", cache.bytes},
          {"reason", text_or_null(cache.reason)}};
}

Json json_of(const Diagnosis& diagnosis) {
  const SelectionReport& report = diagnosis.report;
  Json preference;
  if (report.preference) {
    preference = {{"value", *report.preference},
                  {"source", report.preference_source},
                  {"followed", diagnosis.is_preference_followed}};
  }
  return {{"ok", diagnosis.problems.empty()},
          {"version", SLUICE_VERSION_STRING},
          {"abi", SLUICE_BACKEND_ABI},
          {"chosen", report.chosen},
          {"chosen_reason", report.reason},
          {"preference", std::move(preference)},
          {"cards", diagnosis.cards ? list(*diagnosis.cards) : Json(nullptr)},
          {"kernel_cache", json_of(report.kernel_cache)},
          {"backends", list(diagnosis.backends)},
          {"refused", list(diagnosis.refused)},
          {"problems", list(diagnosis.problems)}};
}

// ---- Text.

void add_line(std::string& text, const std::string& label, const std::string& value) {
  if (value.empty()) return;
  text += "  " + label + std::string(label.size() < 11 ? 11 - label.size() : 1, ' ');
  for (const char c : value) {
    text += c;
    if (c == '\n') text += std::string(13, ' ');
  }
  text += '\n';
}

std::string describe(const DeviceReport& device) {
  std::string text = device.name.empty() ? "?" : device.name;
  for (const std::string& fact : {device.kind, device.architecture}) text += fact.empty() ? "" : ", " + fact;
  if (device.memory_bytes > 0) text += ", " + memory_text(device.memory_bytes);
  if (!device.driver.empty()) text += ", driver " + device.driver;
  if (!device.card.empty()) text += ", card " + device.card;
  return text + (device.functional ? ", works" : "");
}

std::string describe(const ComponentFinding& component) {
  std::string text = component.facts.version;
  if (!component.facts.file.empty()) text += (text.empty() ? "" : ", ") + component.facts.file;
  text += text.empty() ? "" : ", ";
  if (component.functional) return text + "works";
  return text + (component.facts.reason.empty() ? "not used: " : "missing: ") + component.reason;
}

void add_backend(std::string& text, const BackendFinding& backend) {
  const BackendReport& facts = backend.facts;
  text += "\n" + facts.name + "\n";
  const char* const label = facts.chosen ? "chosen" : facts.functional ? "not chosen" : "reason";
  add_line(text, label, facts.reason);
  add_line(text, "remedy", backend.remedy);
  add_line(text, "plug-in", facts.file);
  for (const DeviceFinding& device : backend.devices) {
    add_line(text, "device " + std::to_string(device.facts.id), describe(device.facts));
    if (device.facts.functional) continue;
    add_line(text, "", "cannot be used: " + device.facts.reason);
    if (device.remedy != backend.remedy) add_line(text, "", "remedy: " + device.remedy);
  }
  for (const ComponentFinding& component : backend.components) {
    add_line(text, component.facts.name, describe(component));
  }
}

std::string table_of(const Diagnosis& diagnosis) {
  Table table({"", "backend", "found", "loaded", "available", "functional"});
  for (const BackendFinding& backend : diagnosis.backends) {
    const BackendReport& facts = backend.facts;
    table.add({facts.chosen ? "*" : "", facts.name, yes_no(backend.found), yes_no(facts.loaded),
               yes_no(facts.available), yes_no(facts.functional)});
  }
  return table.text();
}

std::string describe_cards(const std::optional<std::vector<Card>>& cards) {
  if (!cards) return "unknown";
  std::string text;
  for (const Card& card : *cards) text += (text.empty() ? "" : ", ") + card.vendor + " at " + card.address;
  return text.empty() ? "none of NVIDIA, AMD or Intel on the PCI bus" : text;
}

std::string describe_preference(const Diagnosis& diagnosis) {
  const SelectionReport& report = diagnosis.report;
  if (!report.preference) return "none";
  return *report.preference + " (" + report.preference_source + ")" +
         (diagnosis.is_preference_followed ? "" : ", which cannot be followed");
}

std::string describe(const KernelCacheReport& cache) {
  if (cache.folder.empty()) return "none: " + cache.reason;
  return cache.folder + ", " + std::to_string(cache.kernels) + (cache.kernels == 1 ? " kernel" : " kernels") + ", " +
         memory_text(cache.bytes) + (cache.reason.empty() ? "" : "; not used: " + cache.reason);
}

std::string to_text(const Diagnosis& diagnosis) {
  std::string text = "sluice " SLUICE_VERSION_STRING ", plug-in ABI " + std::to_string(SLUICE_BACKEND_ABI) + "\n\n";
  text += "get_device() gives " + diagnosis.report.chosen + ": " + diagnosis.report.reason + "\n";
  text += "preference: " + describe_preference(diagnosis) + "\n";
  text += "cards: " + describe_cards(diagnosis.cards) + "\n";
  text += "kernel cache: " + describe(diagnosis.report.kernel_cache) + "\n\n";
  text += table_of(diagnosis);
  for (const BackendFinding& backend : diagnosis.backends) add_backend(text, backend);
  if (!diagnosis.refused.empty()) text += "\nnot used\n";
  for (const RefusalFinding& refused : diagnosis.refused) {
    text += "  " + refused.facts.path + "\n";
    add_line(text, "  reason", refused.facts.reason);
    add_line(text, "  remedy", refused.remedy);
  }
  if (diagnosis.problems.empty()) return text + "\nEverything that is there works.\n";
  text += "\nproblems\n";
  for (const Problem& problem : diagnosis.problems) {
    text += "  " + problem.subject + "\n";
    add_line(text, "  reason", problem.reason);
    add_line(text, "  remedy", problem.remedy);
  }
  return text;
}

}  // namespace

int diagnose(bool json) {
  const Diagnosis diagnosis = make_diagnosis();
  if (json) print(json_of(diagnosis));
  else print(to_text(diagnosis));
  return diagnosis.problems.empty() ? kFine : kFinding;
}

}  // namespace sluice::command
