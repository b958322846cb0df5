"""Training steps of models that a rule chooses: the first ones in the alphabet that can be made small, less those that the other files have.

Language: the model types of transformers with a causal language model, which take the sizes of `language.causal` and then have at most 100,000 parameters.
Images: of each module of timm the model with the fewest parameters, at 32 by 32 pixels, if it has at most 3 million and a plain step takes at most 0.3 s.
"""
from __future__ import annotations

import contextlib
import functools
import itertools
import json
import pathlib
import time
from typing import Any, Callable, Iterator

import language
import torch
import vision

CHOSEN = pathlib.Path(__file__).with_name("alphabet.json")  # what the rule chose, by the versions of the result file
COUNTS = {"language": 13, "images": 7}
MOST_LANGUAGE, MOST_IMAGES, SECONDS, SEED = 100_000, 3_000_000, 0.3, 3
KNOWN = {"bert", "gpt2", "gemma2", "llama", "mistral", "qwen2_moe", "rwkv", "mamba", "mobilenetv3", "efficientnet", "ghostnet", "resnet", "convnext", "vision_transformer"}


def causal_model(kind: str) -> Any:
    """A causal language model by its type, and the loss of the next words."""
    import transformers
    sizes = {"vocab_size": language.VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 32,
             "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    config = transformers.AutoConfig.for_model(kind, **sizes)
    if getattr(config, "is_encoder_decoder", None) is False and hasattr(config, "is_decoder"):
        config.is_decoder = True
    model, text = transformers.AutoModelForCausalLM.from_config(config).train(), language.ids()
    return model, lambda: model(input_ids=text, labels=text).loss


def timm_at(name: str) -> Any:
    """A classifier of timm for images of 32 by 32 pixels, of this size where it takes one."""
    try:
        return vision.timm_model(name, img_size=32)
    except TypeError:
        return vision.timm_model(name)


def is_small(make: Callable[[], Any], most: int) -> bool:
    """Whether a step runs, gives a finite loss of one element, and is small."""
    try:
        with torch.device("meta"):  # without memory
            model, _ = make()
        if sum(one.numel() for one in model.parameters()) > most:
            return False
        torch.manual_seed(SEED)
        model, loss = make()
        loss().backward()
        start = time.perf_counter()
        found = loss()
        found.backward()
        return found.numel() == 1 and bool(torch.isfinite(found)) and time.perf_counter() - start <= SECONDS
    except Exception:
        return False


def smallest(module: str) -> str | None:
    """The model of a module of timm with the fewest parameters."""
    timm, sizes = vision.imported_timm(), {}
    for name in timm.list_models(module=module):
        with contextlib.suppress(Exception), torch.device("meta"):
            sizes[name] = sum(one.numel() for one in timm.create_model(name, num_classes=5).parameters())
    return min(sizes, key=lambda name: (sizes[name], name), default=None)


def language_types() -> Iterator[str]:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    for kind in sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        if kind not in KNOWN and is_small(functools.partial(causal_model, kind), MOST_LANGUAGE):
            print(kind, flush=True)
            yield kind


def image_models() -> Iterator[str]:
    for module in vision.imported_timm().list_modules():
        name = smallest(module) if module not in KNOWN else None
        if name is not None and is_small(functools.partial(timm_at, name), MOST_IMAGES):
            print(name, flush=True)
            yield name


def chosen() -> dict[str, list[str]]:
    return {"language": list(itertools.islice(language_types(), COUNTS["language"])), "images": list(itertools.islice(image_models(), COUNTS["images"]))}


def steps() -> dict[str, Callable[[], Any]]:
    """The steps that were chosen; `python3 alphabet.py` chooses again."""
    found = json.loads(CHOSEN.read_text(encoding="utf-8"))
    return {**{f"transformers: {kind}": functools.partial(causal_model, kind) for kind in found["language"]},
            **{f"timm: {name}": functools.partial(timm_at, name) for name in found["images"]}}


if __name__ == "__main__":
    torch.set_num_threads(1)
    CHOSEN.write_text(json.dumps(chosen(), indent=1) + "\n", encoding="utf-8")
    print(CHOSEN.read_text(encoding="utf-8"))
