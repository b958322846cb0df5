// The types that the versions of ai.onnx allow their operators' operands, and the operands that are lists of numbers.
#include <algorithm>
#include <map>

#include "frontends/onnx/lowering/lowering.h"
#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {
namespace {

// Operators, then each version that changed something, with its operands. An operand has the letter of a set of types, a 0 or 1 if it is
// of that rank, and one or two marks ' if its type is that of the others with as many marks. The last operand may stand for more.
// An operator that is not here takes floating-point numbers in every version.
constexpr std::string_view kOperands =
    "Abs:1=F,6=N;Add Div Mul Sub:1=F' F',6=W' W',14=N' N';AffineGrid:20=F L1;And Or Xor:1=B B;ArgMax ArgMin:1=N;Attention:23=F' F' F'' "
    "A F' F'',24=F' F' F'' A F' F'' L;BatchNormalization:1=F' F' F' F' F',14=F' F' F' F'' F'',15=F F' F' F'' F'';BitCast:26=A;"
    "BitShift:11=U' U',28=Z' Z';BitwiseAnd BitwiseOr BitwiseXor:18=Z' Z';BitwiseNot:18=Z;Cast DepthToSpace Identity Shape Size "
    "SpaceToDepth Transpose:1=A;CastLike:15=A A;CausalConvWithState:27=f f f f;Celu:12=f,28=F;CenterCropPad:18=A I1;Clip:1=F,11=F' F' "
    "F',12=N' N' N';Col2Im:18=A L1 L1;Compress:9=A B;Concat:1=F',4=A';ConcatFromSequence SequenceLength:11=A;ConstantOfShape:9=L1;Conv "
    "ConvTranspose InstanceNormalization:1=F' F' F';ConvInteger MatMulInteger:10=Q' Q'' Q' Q'';CumProd:26=W I;CumSum:11=W I;DFT:17=F "
    "I,20=F I L0;"
    "DeformConv:19=F' F' F' F' F';DequantizeLinear:10=q' f q',21=o' f o';Dropout:1=F,12=F F B;DynamicQuantizeLinear:11=f;Einsum:12=N';"
    "Equal:1=k' k',11=A' A';Erf:9=N,13=F;Expand:8=A L1;EyeLike NonZero:9=A;Flatten:1=F,9=A;GRU RNN:1=F' F' F' F' i F';Gather:1=A I;"
    "GatherElements:11=A I;GatherND:11=A L;Gemm:1=F' F' F',9=W' W' W';Greater Less:1=F' F',9=N' N';GreaterOrEqual LessOrEqual:12=N' N';"
    "GridSample:16=A F;GroupNormalization:18=F' F' F';LSTM:1=F' F' F' F' i F' F' F';LayerNormalization:17=F' F' F';"
    "LinearAttention:27=f f f f f f;MatMul PRelu:1=F' F',9=W' W';Max Min:1=F',12=N';MaxPool:1=F,12=D;MaxUnpool:9=F L L;Mean Sum:1=F';"
    "Mod:10=N' N';Neg:1=F,6=P;NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss:12=F' I F';Not:1=B;OneHot:9=N N A;Pad:1=F,11=N' L1 "
    "N',13=A' L1 A',18=A' L1 A' I1;Pow:1=F' F',12=r N;QLinearConv:10=Q' f Q' Q'' f Q'' f Q i;QLinearMatMul:10=Q' f Q' Q'' f Q'' f Q;"
    "QuantizeLinear:10=g f Q,19=g' g' Q,21=g' g' h,23=g g h;RMSNormalization:23=F F;Range:11=S' S' S';ReduceL1 ReduceL2 ReduceMean "
    "ReduceProd ReduceSumSquare:1=W,18=W L1;ReduceLogSum ReduceLogSumExp:1=W,18=W L1,28=F L1;ReduceMax ReduceMin:1=W,12=w,18=w L1,20=R "
    "L1;ReduceSum:1=W,13=W L1;Relu:1=F,14=P;Reshape:1=F,5=A L1;Resize:10=A f,11=A F f1 L1;ReverseSequence:10=A L;RoiAlign:10=F' F' L;"
    "RotaryEmbedding:23=f f f L;STFT:17=F' I'' F' I'';Scatter:9=A' I A';ScatterElements:11=A' I A';ScatterND:11=A' L A';SequenceAt "
    "SequenceErase:11=A I0;SequenceConstruct:11=A';SequenceEmpty:11=;SequenceInsert:11=A' A' I0;SplitToSequence:11=A I;Shrink Sign:9=N;"
    "Slice:1=A,10=A I1' I1' I1' I1';Split:1=F' F',2=A,13=A L1;Squeeze Unsqueeze:1=A,13=A L;SwiGLU:28=F' F';"
    "TensorScatter:24=A' A' L;Tile:1=F' F' F',6=A L1;TopK:1=F,10=F L1,11=N L1;Trilu:14=A L;Upsample:1=y,7=A,9=A f;Where:9=B A' A';"
    // of ai.onnx.ml
    "ArrayFeatureExtractor:1=A L;Binarizer FeatureVectorizer Imputer LinearClassifier LinearRegressor Normalizer OneHotEncoder "
    "SVMClassifier SVMRegressor Scaler TreeEnsembleClassifier TreeEnsembleRegressor:1=r;LabelEncoder:2=l;ZipMap:1=f;";

constexpr unsigned bit(DType type) { return 1U << static_cast<unsigned>(type); }
constexpr unsigned kFloat = bit(DType::float32), kReal = kFloat | bit(DType::float64);
constexpr unsigned kBool = bit(DType::boolean), kInt32 = bit(DType::int32), kInt64 = bit(DType::int64);
constexpr unsigned kBytes = bit(DType::int8) | bit(DType::uint8), kShorts = bit(DType::int16) | bit(DType::uint16);
constexpr unsigned kWide = kInt32 | kInt64 | bit(DType::uint32) | bit(DType::uint64);
constexpr unsigned kUnsigned = bit(DType::uint8) | bit(DType::uint16) | bit(DType::uint32) | bit(DType::uint64);
constexpr unsigned kSigned = bit(DType::int8) | bit(DType::int16) | kInt32 | kInt64;

unsigned set_of(char letter) {
  static const std::map<char, unsigned> kSets{{'A', kSigned | kUnsigned | kReal | kBool},
                                              {'B', kBool},
                                              {'D', kBytes | kReal},
                                              {'F', kReal},
                                              {'I', kInt32 | kInt64},
                                              {'L', kInt64},
                                              {'N', kSigned | kUnsigned | kReal},
                                              {'P', kSigned | kReal},
                                              {'Q', kBytes},
                                              {'R', kBytes | kWide | kReal | kBool},
                                              {'S', bit(DType::int16) | kInt32 | kInt64 | kReal},
                                              {'U', kUnsigned},
                                              {'W', kWide | kReal},
                                              {'Z', kSigned | kUnsigned},
                                              {'f', kFloat},
                                              {'g', kFloat | kInt32},
                                              {'h', kBytes | kShorts},
                                              {'i', kInt32},
                                              {'l', kInt64 | kFloat},
                                              {'k', kInt32 | kInt64 | kBool},
                                              {'o', kBytes | kShorts | kInt32},
                                              {'q', kBytes | kInt32},
                                              {'r', kInt32 | kInt64 | kReal},
                                              {'w', kBytes | kWide | kReal},
                                              {'y', kInt32 | kInt64 | kReal | kBool}};
  return kSets.at(letter);
}

std::string words_of(unsigned set) {
  std::string text;
  for (int i = 0; i < 32; ++i) {
    if ((set >> i & 1U) != 0) text += (text.empty() ? "" : ", ") + std::string(to_string(static_cast<DType>(i)));
  }
  return text;
}

// The text before the mark, which leaves `rest`.
std::string_view next_part(std::string_view& rest, char mark) {
  const std::string_view part = rest.substr(0, rest.find(mark));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

std::vector<std::string_view> parts_of(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (!text.empty()) parts.push_back(next_part(text, mark));
  return parts;
}

// Of the last version that is no later.
std::vector<std::string_view> operands_of(std::string_view op, std::int64_t opset) {
  std::string_view found = "F";
  for (std::string_view rest = kOperands; !rest.empty();) {
    std::string_view versions = next_part(rest, ';');
    if (std::ranges::count(parts_of(next_part(versions, ':'), ' '), op) == 0) continue;
    while (!versions.empty()) {
      std::string_view operands = next_part(versions, ',');
      if (std::stoll(std::string(next_part(operands, '='))) <= opset) found = operands;
    }
    break;
  }
  return parts_of(found, ' ');
}

}  // namespace

void check_operands(const NodeProto& node, std::int64_t opset, const std::vector<Operand>& operands) {
  const std::vector<std::string_view> wanted = operands_of(node.op_type, opset);
  std::map<std::ptrdiff_t, DType> bound;  // by the number of marks
  for (std::size_t i = 0; !wanted.empty() && i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    const std::string_view one = wanted[std::min(i, wanted.size() - 1)];
    const DType type = operands[i]->dtype;
    const auto refuse = [&](std::string required, std::string found) {
      refuse_malformed("onnx.operand", place_of(node), "operand " + std::to_string(i) + " " + required, std::move(found),
                       "check the model with onnx.checker, or convert the operand (Cast)");
    };
    if ((set_of(one[0]) & bit(type)) == 0) refuse("of " + words_of(set_of(one[0])), to_string(type));
    for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
      if (one.find(static_cast<char>('0' + rank)) != std::string_view::npos && operands[i]->shape.size() != rank)
        refuse("of rank " + std::to_string(rank), "shape " + to_string(operands[i]->shape));
    }
    const auto marks = std::ranges::count(one, '\'');
    if (marks > 0 && bound.emplace(marks, type).first->second != type)
      refuse(std::string("of ") + to_string(bound.at(marks)) + ", as another operand", to_string(type));
  }
}

}  // namespace assay::onnx
