// expect: kFieldsCanBeSeen<(Secret|T)>|Secret
#include "sluice/model.hpp"

class Secret {
 public:
  explicit Secret(sluice::Tensor x) : weight_(std::move(x)) {}

 private:
  sluice::Tensor weight_;
};

struct Net {
  sluice::Tensor bias;
  Secret secret;
};

sluice::Device f(const Net& model) { return sluice::device_of(model); }
