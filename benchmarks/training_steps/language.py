"""Training steps of language and speech models: small configurations with random weights, in training mode with the libraries' own dropout."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

VOCABULARY, WORDS = 61, 9


def ids(batch: int = 2, words: int = WORDS) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (batch, words))


def padded(words: int = WORDS) -> tuple[torch.Tensor, torch.Tensor]:
    """Two texts, of which the second ends with three places of padding, and the mask that says so."""
    text, mask = ids(2, words), torch.ones(2, words, dtype=torch.long)
    text[1, -3:], mask[1, -3:] = 0, 0
    return text, mask


def causal(kind: str, **config: Any) -> Any:
    """A causal language model of transformers, and its own loss of the next words."""
    import transformers
    implementation = config.pop("experts", None)
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 32,
             "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    made = getattr(transformers, f"{kind}Config")(**(sizes | config))
    if implementation:
        made._experts_implementation = implementation
    model = getattr(transformers, f"{kind}ForCausalLM")(made).train()
    text = ids()
    return model, lambda: model(input_ids=text, labels=text).loss


def gpt2(attention: str) -> Any:
    import transformers
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2)
    config._attn_implementation = attention
    model, text = transformers.GPT2LMHeadModel(config).train(), ids()
    return model, lambda: model(input_ids=text, labels=text).loss


def bert() -> Any:
    import transformers
    config = transformers.BertConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=16)
    model, (text, mask) = transformers.BertForMaskedLM(config).train(), padded()
    labels = text.masked_fill(torch.rand(text.shape) > 0.4, -100)
    return model, lambda: model(input_ids=text, attention_mask=mask, labels=labels).loss


def deberta() -> Any:
    import transformers
    config = transformers.DebertaV2Config(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=16,
                                          relative_attention=True, position_buckets=4, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True,
                                          position_biased_input=False)
    model, (text, mask) = transformers.DebertaV2ForSequenceClassification(config).train(), padded()
    return model, lambda: model(input_ids=text, attention_mask=mask, labels=torch.tensor([0, 1])).loss


def t5() -> Any:
    import transformers
    config = transformers.T5Config(vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, decoder_start_token_id=0)
    model, (text, mask) = transformers.T5ForConditionalGeneration(config).train(), padded()
    labels = ids(2, 6)
    return model, lambda: model(input_ids=text, attention_mask=mask, labels=labels).loss


def whisper() -> Any:
    import transformers
    config = transformers.WhisperConfig(vocab_size=VOCABULARY, num_mel_bins=8, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
                                        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_source_positions=10, max_target_positions=12,
                                        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    model, sound, labels = transformers.WhisperForConditionalGeneration(config).train(), torch.randn(2, 8, 20), ids(2, 6)
    return model, lambda: model(input_features=sound, labels=labels).loss


def mamba() -> Any:
    import transformers
    config = transformers.MambaConfig(vocab_size=VOCABULARY, hidden_size=16, state_size=4, num_hidden_layers=2, time_step_rank=2, use_mambapy=False)
    model, text = transformers.MambaForCausalLM(config).train(), ids()
    return model, lambda: model(input_ids=text, labels=text).loss


def rwkv() -> Any:
    import transformers
    config = transformers.RwkvConfig(vocab_size=VOCABULARY, context_length=16, hidden_size=16, num_hidden_layers=2, attention_hidden_size=16, intermediate_size=24)
    model, text = transformers.RwkvForCausalLM(config).train(), ids()
    return model, lambda: model(input_ids=text, labels=text).loss


def wav2vec2() -> Any:
    import transformers
    config = transformers.Wav2Vec2Config(vocab_size=12, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, conv_dim=(8, 8), conv_stride=(5, 2),
                                         conv_kernel=(10, 3), num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, mask_time_prob=0.0, layerdrop=0.0)
    model, sound, labels = transformers.Wav2Vec2ForCTC(config).train(), torch.randn(2, 200), torch.randint(1, 12, (2, 4))
    return model, lambda: model(input_values=sound, labels=labels).loss


def qwen2_moe(experts: str) -> Any:
    return causal("Qwen2Moe", num_key_value_heads=2, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=12, experts=experts)


def x_decoder(**further: Any) -> Any:
    """A decoder of x-transformers, that predicts the next word."""
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper
    outer = {key: further.pop(key) for key in ("use_abs_pos_emb", "scaled_sinu_pos_emb") if key in further}
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=VOCABULARY, max_seq_len=16, attn_layers=Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **further), **outer))
    text = ids()
    return model.train(), lambda: model(text)


def x_encoder() -> Any:
    """An encoder of x-transformers with a mask of padding, that classifies words."""
    from x_transformers import Encoder, TransformerWrapper
    model, (text, mask) = TransformerWrapper(num_tokens=VOCABULARY, max_seq_len=16, attn_layers=Encoder(dim=16, depth=2, heads=2, attn_dim_head=8)), padded()
    return model.train(), lambda: F.cross_entropy(model(text, mask=mask.bool()).flatten(0, 1), text.flatten())


def x_translator() -> Any:
    from x_transformers import XTransformer
    model = XTransformer(dim=16, enc_num_tokens=VOCABULARY, enc_depth=1, enc_heads=2, enc_max_seq_len=16, dec_num_tokens=VOCABULARY, dec_depth=1, dec_heads=2, dec_max_seq_len=16)
    (text, mask), target = padded(), ids(2, 6)
    return model.train(), lambda: model(text, target, mask=mask.bool())


STEPS = {
    "transformers: GPT-2, sdpa": lambda: gpt2("sdpa"), "transformers: GPT-2, eager": lambda: gpt2("eager"), "transformers: Bert": bert, "transformers: Whisper": whisper,
    "transformers: DeBERTa": deberta, "transformers: Gemma-2": lambda: causal("Gemma2", num_key_value_heads=1, head_dim=8, sliding_window=4),
    "transformers: Llama": lambda: causal("Llama", num_key_value_heads=1), "transformers: Mistral": lambda: causal("Mistral", num_key_value_heads=1, sliding_window=4),
    "transformers: Qwen2-MoE, eager experts": lambda: qwen2_moe("eager"), "transformers: Qwen2-MoE, default experts": lambda: qwen2_moe(""), "transformers: T5": t5,
    "transformers: Mamba": mamba, "transformers: Rwkv": rwkv, "transformers: Wav2Vec2 with CTC": wav2vec2,
    "x-transformers: decoder": x_decoder, "x-transformers: encoder, padded": x_encoder, "x-transformers: translator": x_translator,
    "x-transformers: rotary, RMS norm, SwiGLU": lambda: x_decoder(rotary_pos_emb=True, use_rmsnorm=True, ff_swish=True, ff_glu=True, use_abs_pos_emb=False),
    "x-transformers: ALiBi": lambda: x_decoder(alibi_pos_bias=True, alibi_num_heads=2, use_abs_pos_emb=False),
    "x-transformers: sparse top-k": lambda: x_decoder(attn_sparse_topk=3), "x-transformers: flash": lambda: x_decoder(attn_flash=True),
    "x-transformers: relative bias, normed queries": lambda: x_decoder(rel_pos_bias=True, attn_qk_norm=True),
}
