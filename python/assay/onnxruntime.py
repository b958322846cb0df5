"""Runs of ONNX models, recorded value by value and judged by contracts; and which of several runtimes leaves them first.

    run = assay.onnxruntime.record("model.onnx", {"x": x}, optimization_level="all")
    print(run.audit().text)
    print(assay.compare("model.onnx", {"x": x}, runners=[OnnxRuntime("disabled"), OnnxRuntime("all"), Reference(), my_runtime]))
"""
from assay.testing._onnx_runs import LEVELS, AnyRunner, Arrays, Function, OnnxRuntime, Recording, Reference, Runner, random_inputs, record
from assay.testing._onnx_runs import recorded, runner_of
from assay.testing._runtime_comparison import Comparison, compare

__all__ = ["LEVELS", "AnyRunner", "Arrays", "Comparison", "Function", "OnnxRuntime", "Recording", "Reference", "Runner", "compare",
           "random_inputs", "record", "recorded", "runner_of"]
