// Command lines that show a verb.
#pragma once

#include <array>
#include <utility>

namespace assay::cli {

// One command line each, for the end of the verb's help.
inline constexpr std::array<std::pair<const char*, const char*>, 25> kExamples{{
    {"verify", "assay verify examples/digits/digits.onnx examples/digits/digits_holds.vnnlib --proof holds.assay --timeout 60"},
    {"check",
     "assay check MODEL.onnx PROPERTY.vnnlib holds.assay --statement full\n"
     "         assay check --list certificates.csv --junit report.xml"},
    {"robust", "assay robust MODEL.onnx images.npz --eps 2/255,4/255 --clip 0,1 --run FOLDER && assay check FOLDER"},
    {"batch", "assay batch instances.csv --run FOLDER --jobs 2 && assay check FOLDER --jobs 2"},
    {"report",
     "assay report FOLDER -o report.html\n"
     "         assay report MODEL.onnx PROPERTY.vnnlib proof.assay -o proof.html"},
    {"gather", "assay gather FOLDER parts/*"},
    {"split", "assay split MODEL.onnx PROPERTY.vnnlib --into 8 -o cubes && ls cubes/*.cube | xargs -P2 -n1 assay solve --threads 1"},
    {"solve", "assay solve cubes/001.cube --model MODEL.onnx --property PROPERTY.vnnlib"},
    {"merge", "assay merge cubes -o holds.assay && assay-check MODEL.onnx PROPERTY.vnnlib holds.assay"},
    {"trim", "assay trim MODEL.onnx PROPERTY.vnnlib holds.assay -o trimmed.assay && assay-check MODEL.onnx PROPERTY.vnnlib trimmed.assay"},
    {"bounds", "assay bounds examples/digits/digits.onnx examples/digits/digits_holds.vnnlib --nodes outputs"},
    {"inspect",
     "assay inspect examples/digits/digits.onnx --property examples/digits/digits_holds.vnnlib -o digits.html\n"
     "         assay inspect run.safetensors --show reverse,parameters"},
    {"statement",
     "assay statement MODEL.onnx PROPERTY.vnnlib > claim.assay-statement\n"
     "         assay-check claim.assay-statement holds.assay"},
    {"lint", "assay lint examples/digits/digits.onnx"},
    {"eval",
     "echo '{\"inputs\": {\"x\": [0.5, {\"lo\": -1, \"hi\": 1}]}, \"cotangents\": {\"y\": [1]}}' > values.json\n"
     "         assay eval MODEL.onnx values.json"},
    {"adjoint", "assay adjoint --op max_pool"},
    {"run", "assay run examples/digits/digits.onnx --dtype exact"},
    {"record", "assay record examples/digits/digits.onnx run.safetensors --backend compiled"},
    {"audit", "assay audit run.safetensors --jobs 2 --sarif findings.sarif"},
    {"gradcheck", "assay gradcheck examples/digits/digits.onnx --range -1 1"},
    {"probe", "assay probe --op softmax --backend compiled"},
    {"supports", "assay supports --onnx-operators"},
    {"capabilities", "assay capabilities --onnx-operators"},
    {"ops", "assay ops LayerNormalization"},
    {"explain", "assay explain onnx.unknown_op"},
}};

}  // namespace assay::cli
