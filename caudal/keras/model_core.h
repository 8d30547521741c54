// What a Model shares with its copies. Internal.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caudal/keras/layer.h"
#include "caudal/keras/model.h"

namespace caudal::inline v0::keras {

class Training;
}  // namespace caudal::inline v0::keras

namespace caudal::inline v0::train {
class Saver;
}

namespace caudal::inline v0::keras {

// A graph of layer calls, from inputs to outputs, as a layer. Sequential models and wrapped layers become one when
// their input shapes are known.
class CAUDAL_API ModelCore final : public Layer {
 public:
  enum class Kind { kFunctional, kSequential, kWrapped };
  using NodeRef = std::shared_ptr<KerasTensor::Node>;

  ModelCore(Kind kind, const std::string& name);
  ~ModelCore() override;

  Kind kind() const { return kind_; }
  bool has_graph() const { return !outputs_.empty(); }
  const std::vector<KerasTensor>& inputs() const { return inputs_; }
  const std::vector<KerasTensor>& outputs() const { return outputs_; }
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;

  void set_graph(std::vector<KerasTensor> inputs, std::vector<KerasTensor> outputs);
  // Sequential: one more layer at the end. Wrapped: the layer.
  void add(const LayerRef& layer);
  // Sequential: where data come in, before any layer.
  void set_input(const KerasTensor& input);
  // Makes the graph for such inputs if there is none yet.
  void ensure_graph(const Shapes& shapes, const std::vector<DType>& dtypes);

  // Layers in Keras's order (by depth); a sequential model's as they were added, its input left out.
  std::vector<LayerRef> layers() const override;
  // All layers of the graph, inputs too.
  std::vector<LayerRef> all_layers() const;
  // Calls from the outputs' back to the inputs', by distance from the outputs, greatest first.
  const std::vector<NodeRef>& nodes_in_order() const { return order_; }
  const std::map<int, std::vector<NodeRef>>& nodes_by_depth() const { return by_depth_; }

  Config get_config() override;
  void read_config(const Config& config) override;
  Config serialize() override;

  std::unique_ptr<Training>& training() { return training_; }
  const std::unique_ptr<Training>& training() const { return training_; }
  // Makes the optimizer's variables before the first step, so that they can be restored.
  void prepare_optimizer();
  // Savers by what they save.
  std::map<std::string, std::shared_ptr<train::Saver>> savers;
  // Settings that a file gave and compile() has not been called with yet.
  Config compile_config;
  bool stop_training = false;
  bool interrupted = false;      // the running fit() ends because FitOptions::stop_when said so
  std::int64_t first_epoch = 0;  // of the running fit(); a callback that restores a run moves it

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override;
  Outputs compute_mask(const Outputs& inputs, const Outputs& outputs, const Outputs& masks) override;

 private:
  void extend(const LayerRef& layer);
  void map_graph();
  Config layers_config();
  void read_sequential(const Config& config);
  void read_functional(const Config& config);

  Kind kind_;
  std::vector<LayerRef> stack_;  // sequential: the layers; wrapped: the layer
  std::vector<KerasTensor> inputs_, outputs_;
  std::vector<NodeRef> order_;
  std::map<int, std::vector<NodeRef>> by_depth_;
  std::vector<LayerRef> layers_;
  Outputs last_masks_;
  std::unique_ptr<Training> training_;
};

}  // namespace caudal::inline v0::keras
