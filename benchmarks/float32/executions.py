"""Executions of ONNX Runtime on the CPU."""
import onnx
import onnxruntime as ort

LEVELS = {"disabled": ort.GraphOptimizationLevel.ORT_DISABLE_ALL, "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL}
# (threads, optimisation level, every value is an output): outputs that are asked for are kept apart by fusions, so the last two ask for the ends only.
CONFIGURATIONS = [(1, "disabled", True), (2, "disabled", True), (1, "all", True), (2, "all", True), (1, "all", False), (2, "all", False)]


Unsupported = ort.capi.onnxruntime_pybind11_state.Fail


class Executions:
    """The sessions of one model, one for each configuration."""

    def __init__(self, model):
        initialisers = {tensor.name for tensor in model.graph.initializer}
        self.inputs = [value.name for value in model.graph.input if value.name not in initialisers]
        self.sessions = {}
        every = onnx.ModelProto()
        every.CopyFrom(model)
        known = {value.name for value in every.graph.output}
        for node in every.graph.node:
            for name in node.output:
                if name and name not in known and node.op_type != "Constant":
                    every.graph.output.append(onnx.ValueInfoProto(name=name))
                    known.add(name)
        texts = {True: every.SerializeToString(), False: model.SerializeToString()}
        for configuration in CONFIGURATIONS:
            threads, level, all_values = configuration
            options = ort.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
            options.graph_optimization_level = LEVELS[level]
            options.log_severity_level = 4
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            self.sessions[configuration] = ort.InferenceSession(texts[all_values], options, providers=["CPUExecutionProvider"])

    def run(self, configuration, feed):
        session = self.sessions[configuration]
        names = [value.name for value in session.get_outputs()]
        return dict(zip(names, session.run(names, feed)))
