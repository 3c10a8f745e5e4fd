// The `sluice` command: what devices there are, why one cannot be used, which backend is wished for, whether a device
// computes what it should, and what is in a file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>

#include "sluice/backends.hpp"
#include "sluice/error.hpp"
#include "tools/sluice/commands.hpp"
#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 fine, 1 something was found or failed (see each command), 2 the command line makes no sense.\n"
    "Examples:\n"
    "  sluice doctor                  why is my GPU not used?\n"
    "  sluice devices --require-gpu   in a script: go on only where there is a GPU\n";

constexpr const char* kDevicesFooter =
    "Exit codes: 0; with --require-gpu 1 if only the CPU can be used.\n"
    "JSON: {\"chosen\", \"devices\": [{\"backend\", \"id\", \"name\", \"kind\", \"memory_bytes\", \"architecture\",\n"
    "\"driver\", \"card\", \"functional\", \"reason\"}]}; what is not known is null.\n"
    "Examples:\n"
    "  sluice devices\n"
    "  sluice devices --json | jq -r '.devices[] | select(.functional) | .name'\n";

constexpr const char* kDoctorFooter =
    "For each backend: found (a plug-in file is there), loaded (it was opened), available (its driver sees a device),\n"
    "functional (a tiny kernel gave the right numbers). Vendors' libraries are tried in a process of their own.\n"
    "Exit codes: 0 everything that is there works, and what is not there does not matter; 1 hardware is there but\n"
    "cannot be used, a plug-in file is there but cannot be loaded, or a preference cannot be followed. A vendor's\n"
    "library that does not work changes nothing: Sluice has kernels of its own.\n"
    "JSON: {\"ok\", \"version\", \"abi\", \"chosen\", \"chosen_reason\", \"preference\": null or {\"value\", "
    "\"source\",\n"
    "\"followed\"}, \"cards\": null or [{\"vendor\", \"address\"}],\n"
    "\"kernel_cache\": {\"folder\", \"kernels\", \"bytes\", \"reason\"}, \"backends\": [{\"name\", \"found\", "
    "\"loaded\",\n"
    "\"available\", \"functional\", \"chosen\", \"file\", \"reason\", \"remedy\", \"devices\": [...as in sluice "
    "devices,\n"
    "with \"remedy\"], \"components\": [{\"name\", \"file\", \"version\", \"found\", \"functional\", \"reason\"}]}],\n"
    "\"refused\": [{\"path\", \"reason\", \"remedy\"}], \"problems\": [{\"subject\", \"reason\", \"remedy\"}]}.\n"
    "Examples:\n"
    "  sluice doctor\n"
    "  sluice doctor --json | jq '.problems'\n";

constexpr const char* kBackendFooter =
    "The preference is looked for in $SLUICE_GPU_BACKEND, in the nearest LocalPreferences.toml going up from the\n"
    "working folder, and in $XDG_CONFIG_HOME/sluice/preferences.toml. NAME is written into LocalPreferences.toml, a\n"
    "new one in the working folder if there is none; it takes effect at the next get_device().\n"
    "Exit codes: 0; 1 if the file cannot be written; 2 if NAME is no backend.\n"
    "JSON: {\"preference\", \"source\", \"changed\": file or null, \"messages\": [...]}.\n"
    "Examples:\n"
    "  sluice backend CPU       leave the GPU alone in this folder and below\n"
    "  sluice backend --clear   choose automatically again\n";

constexpr const char* kConformanceFooter =
    "Every row of the op table and every kernel, forward and gradient, in all element types and shapes of all kinds,\n"
    "against loops and finite differences in extended precision on the CPU. Errors are in units of the last place of\n"
    "the element type; each operation has its bound. A backend is done when this says `0 failed`.\n"
    "--quick compiles at most 200 kernels: rows share kernels, and gradients of what is not elementwise are checked "
    "in\n"
    "f32 alone. The CPU compiles nothing; $SLUICE_NUM_THREADS sets its threads.\n"
    "Exit codes: 0 all passed; 1 a check failed; 2 there is no such device, or it cannot be used.\n"
    "JSON: {\"device\", \"mode\", \"passed\", \"failed\", \"kernels_compiled\", \"seconds\", \"notes\": [...],\n"
    "\"findings\": [{\"operation\", \"dtype\", \"passed\", \"failed\", \"worst\", \"bound\", \"case\", \"failures\":\n"
    "[...]}]}; worst is null where a result is special and must not be, or the other way round.\n"
    "Examples:\n"
    "  sluice conformance --device OpenCL:0\n"
    "  sluice conformance --device CPU --only softmax --json | jq '.findings'\n";

constexpr const char* kInspectFooter =
    "Formats: .safetensors (also .safetensors.index.json, for a checkpoint in several files), .npz, .npy,\n"
    "and .bson and .jld2 of Flux. Control\n"
    "characters in names are escaped. Shapes are as the library reads them: of a safetensors file in reverse order.\n"
    "Exit codes: 0; 1 if the file cannot be read, or with --finite if a tensor has NaN or infinity.\n"
    "JSON: {\"format\", \"tensors\": [{\"name\", \"type\", \"shape\", \"bytes\", \"nan\", \"infinity\"}],\n"
    "\"values\": {path: text} of what is no tensor, \"metadata\": {...}, \"elements\", \"bytes\", \"nan\", "
    "\"infinity\"}.\n"
    "Examples:\n"
    "  sluice inspect model.safetensors\n"
    "  sluice inspect model.npz --json | jq -r '.tensors[].name'\n"
    "  sluice inspect run.safetensors --finite || echo diverged\n";

constexpr const char* kConvertFooter =
    "The tensors of FROM under the same names in TO; what is no tensor is named on standard error and left out where "
    "TO\n"
    "keeps tensors only. Metadata go with them from safetensors to safetensors. TO appears whole or not at all.\n"
    "Exit codes: 0; 1 if a file cannot be read or written; 2 if TO cannot hold that, or a format is not known.\n"
    "JSON: {\"tensors\": how many were written, \"left_out\": {path: text}}.\n"
    "Examples:\n"
    "  sluice convert model.npz model.safetensors\n"
    "  sluice convert pytorch_model.safetensors.index.json whole.safetensors\n"
    "  sluice convert whole.safetensors parts.safetensors.index.json --shard-bytes 2000000000\n";

/// The name that was perhaps meant.
std::string hint_for(const std::string& name) {
  for (const std::string_view known : supported_devices()) {
    if (lower(known) == lower(name) && known != name)
      return " Names are exact: `sluice backend " + std::string(known) + "`.";
  }
  return " `sluice doctor` lists those that are there.";
}

/// What the command line asks for.
struct Request {
  DevicesOptions devices;
  BackendOptions backend;
  ConformanceOptions conformance;
  InspectOptions inspect;
  ConvertOptions convert;
  bool doctor_json = false;
};

void describe_conformance(CLI::App& app, ConformanceOptions& options) {
  CLI::App* const conformance = app.add_subcommand("conformance", "Hold every operation of a device to its accuracy");
  conformance->add_option("--device", options.device, "CPU, OpenCL:0, ...; the best one when left out");
  CLI::Option* const full = conformance->add_flag("--full", options.full, "One row of the op table per kernel");
  conformance->add_flag("--quick", options.quick, "Few kernels (the default)")->excludes(full);
  conformance->add_option("--only", options.only, "Check these kernels alone: map, reduce, softmax, ...");
  conformance->add_flag("--json", options.json, "Print JSON");
  conformance->footer(kConformanceFooter);
}

/// What is wrong with the text of a number; nothing if it is one from 1 on.
std::string whole_number(const std::string& text) {
  constexpr std::size_t kMostDigits = 18;  // of what fits 64 bits in any case
  const bool has_digits = text.size() <= kMostDigits && text.find_first_not_of("0123456789") == std::string::npos;
  return has_digits && text.find_first_not_of('0') != std::string::npos ? ""
                                                                        : "\"" + text + "\" is no number from 1 on";
}

void describe_files(CLI::App& app, InspectOptions& look, ConvertOptions& change) {
  CLI::App* const inspect = app.add_subcommand("inspect", "List what a checkpoint holds");
  inspect->add_option("FILE", look.path, "The checkpoint")->required();
  inspect->add_option("--format", look.format, "What it is read as, whatever its ending");
  inspect->add_flag("--finite", look.finite, "Exit with 1 if a tensor has NaN or infinity");
  inspect->add_flag("--json", look.json, "Print JSON");
  inspect->footer(kInspectFooter);

  CLI::App* const convert = app.add_subcommand("convert", "Write the tensors of a checkpoint in another format");
  convert->add_option("FROM", change.from, "The checkpoint")->required();
  convert->add_option("TO", change.to, "The new file; its ending names the format")->required();
  convert->add_option("--from-format", change.from_format, "What FROM is read as, whatever its ending");
  convert->add_option("--to-format", change.to_format, "What TO is written as, whatever its ending");
  convert
      ->add_option("--shard-bytes", change.shard_bytes,
                   "Bytes of tensors in each file of a .safetensors.index.json (5000000000)")
      ->check(CLI::Validator(whole_number, "", "from 1 on"));
  convert->add_flag("--json", change.json, "Print JSON");
  convert->footer(kConvertFooter);
}

void describe(CLI::App& app, Request& request) {
  app.set_version_flag("--version", "sluice " SLUICE_VERSION_STRING);
  app.require_subcommand(1);
  app.footer(kFooter);

  CLI::App* const devices = app.add_subcommand("devices", "List all devices, usable or not");
  devices->add_flag("--json", request.devices.json, "Print JSON");
  devices->add_flag("--require-gpu", request.devices.require_gpu, "Exit with 1 if only the CPU can be used");
  devices->footer(kDevicesFooter);

  CLI::App* const doctor = app.add_subcommand("doctor", "Say what works, what does not, why, and what to do");
  doctor->add_flag("--json", request.doctor_json, "Print JSON");
  doctor->footer(kDoctorFooter);

  CLI::App* const backend = app.add_subcommand("backend", "Show, set or clear the preferred backend");
  CLI::Option* const name =
      backend->add_option("NAME", request.backend.name, "CUDA, AMDGPU, Metal, OpenCL, CPU, or that of a plug-in");
  backend->add_flag("--clear", request.backend.clear, "Remove the preference from LocalPreferences.toml")
      ->excludes(name);
  backend->add_flag("--json", request.backend.json, "Print JSON");
  backend->footer(kBackendFooter);
  describe_conformance(app, request.conformance);
  describe_files(app, request.inspect, request.convert);
}

int refuse(const CLI::App& app, const CLI::ParseError& error, const char* first_word) {
  const auto chosen = app.get_subcommands();
  const std::string where = chosen.empty() ? "sluice" : "sluice " + chosen.front()->get_name();
  std::string text = error.what();
  if (chosen.empty() && first_word != nullptr && *first_word != '-') {
    text = std::string("there is no command ") + first_word +
           "; there are devices, doctor, backend, conformance, inspect and "
           "convert";
  }
  std::fprintf(stderr, "sluice: %s\n`%s --help` shows what can be asked.\n", text.c_str(), where.c_str());
  return kUsage;
}

/// The message of an error. The library's function that was called for a command has the command's name here.
std::string told(const CLI::App& app, const std::exception& error) {
  const std::string_view text = error.what();
  for (const std::string_view function : {"read_state: ", "write_state: ", "inspect: "}) {
    if (!text.starts_with(function)) continue;
    const std::string command = app.get_subcommands().front()->get_name();
    return command + ": " + std::string(text.substr(function.size()));
  }
  return std::string(text);
}

int run(int count, char** words) {
  CLI::App app{"Sluice: what devices there are, why one cannot be used, and which backend is wished for.", "sluice"};
  Request request;
  describe(app, request);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : refuse(app, error, count > 1 ? words[1] : nullptr);
  }
  try {
    if (app.got_subcommand("devices")) return show_devices(request.devices);
    if (app.got_subcommand("doctor")) return diagnose(request.doctor_json);
    if (app.got_subcommand("conformance")) return check_conformance(request.conformance);
    if (app.got_subcommand("inspect")) return inspect_file(request.inspect);
    if (app.got_subcommand("convert")) return convert_file(request.convert);
    return use_backend(request.backend);
  } catch (const ArgumentError& error) {
    const std::string hint = app.got_subcommand("backend") ? hint_for(request.backend.name.value_or("")) : "";
    std::fprintf(stderr, "sluice: %s%s\n", told(app, error).c_str(), hint.c_str());
    return kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice: %s\n", told(app, error).c_str());
    return kFinding;
  }
}

}  // namespace
}  // namespace sluice::command

int main(int count, char** words) {
  // A reader that goes away is noticed at the write.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return sluice::command::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice: %s\n", error.what());
    return sluice::command::kFinding;
  }
}
